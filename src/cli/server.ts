// What `dev` and `serve` have in common: start the app, say so, reload its settings, and stop it in
// good order.
import { isatty } from "node:tty";
import type { Admin } from "../admin/index.ts";
import { type Activity, openWatchdog, UNWATCHED, type WatchdogOptions } from "../cluster/index.ts";
import {
  type ConnectionGuardOptions,
  guardConnections,
  openProcessSockets,
  writeAllowEntry,
} from "../net/index.ts";
import { type Clock, containTimers } from "../platform/clock.ts";
import { createLog, type Log } from "../platform/log.ts";
import { STDERR } from "../platform/process.ts";
import type { Services } from "../platform/service.ts";
import { SERVICES, type Settings } from "../settings/index.ts";
import { VERSION } from "./about.ts";
import { type Start, writeBanner } from "./banner.ts";
import { type Output, printOnce } from "./output.ts";
import { createReloading, type Reloading, type SettingsTarget } from "./reload.ts";
import type { SettingsFile } from "./settings.ts";

/** What is needed of an app here. */
export interface Serving extends Services, SettingsTarget {
  readonly admin: Admin;
  entrance: {
    readonly url: string;
    callers: { list: ConnectionGuardOptions["listCallers"] };
  };
}

export interface Welcome {
  /** Secrets that are shown now, the first one first. */
  keys: readonly string[];
  /** Lines about them. */
  notes: readonly string[];
  /** Where a secret was written that must not be shown. */
  key_file?: string;
  /** What is to be done where they cannot be shown, and never will be again. */
  rescue?: string;
}

/** Dependencies of an app. */
interface AppDeps {
  /** A bug in one of its timers stops nothing else. */
  clock: Clock;
  log: Log;
  activity: Activity;
  onFatal: () => void;
}

export interface Listening {
  settings: Settings;
  /** Source of the settings and of reloads. */
  file: SettingsFile | null;
  clock: Clock;
  output: Output;
  /** Place of the data, for people. */
  storage: string;
  /** Script and note file of the watchdog; null runs without one. */
  watchdog: Pick<WatchdogOptions, "script" | "file"> | null;
  build(deps: AppDeps): Promise<Serving>;
  /** What a person needs to begin; runs once it listens, so that no key is made and not shown. */
  welcome(admin: Admin): Promise<Welcome>;
}

/** Serves until a signal or a failure that cannot be survived ends it; the exit code. */
export async function listen(options: Listening): Promise<number> {
  const { settings, file, output } = options;
  // The server outlives the reader of its log.
  process.stderr.on("error", () => {});
  const isTerminal = process.stderr.isTTY === true;
  const write = (line: string) => void process.stderr.write(line);
  const log = createLog(options.clock, write, isTerminal);
  // Whoever waits for a timer contains its own; what is left is told, and others go on.
  const clock = containTimers(options.clock, (error) =>
    log.error("a bug in a timer's callback", { error }),
  );
  const end = Promise.withResolvers<number>();
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error) => {
      // Nobody knows what state a bug leaves behind; what was acknowledged is stored.
      log.error("a bug ends the program", { error });
      end.resolve(1);
    });
  }
  const reloading = createReloading({ file, settings, clock, log });
  // From here on it no longer ends the program; what it asks for is done once there is a server.
  let hangUp = () => reloading.reload();
  if (process.platform !== "win32") process.on("SIGHUP", () => hangUp());
  // Stop when nothing can be stored: the supervisor starts us again.
  const watchdog =
    options.watchdog && openWatchdog({ ...options.watchdog, isForPeople: isTerminal, log });
  const activity = watchdog ?? UNWATCHED;
  const app = await options.build({ clock, log, activity, onFatal: () => end.resolve(1) });
  // Behind the build, whose migrations may hold up the loop for long.
  watchdog?.start();
  await app.start();
  watchdog?.forget();
  try {
    const models = await app.admin.models.list();
    const { keys, notes, key_file = null, rescue = "" } = await options.welcome(app.admin);
    const start: Start = {
      version: VERSION,
      url: app.entrance.url,
      data: options.storage,
      models: models.map(({ id, state }) => ({ id, state })),
      default_model: settings.service.default_model,
      services: SERVICES.map((name) => ({ name, kind: settings[name].kind })),
      egress: { open: settings.egress.allow.map(writeAllowEntry) },
      keys,
      key_file,
    };
    // Before the start is said: whoever has read it may already send a signal.
    const stop = createStop(app, { reloading, clock, log }, end.resolve);
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    hangUp = () => {
      if (!isTerminal || isatty(STDERR)) return reloading.reload();
      // The terminal was closed: nobody means the server to stay. It may well be said twice.
      hangUp = () => {};
      stop();
    };
    reloading.start(app);
    guardApp(app, { reloading, clock, log });
    const banner = writeBanner(start, notes);
    if (rescue) printOnce(output, start, banner, rescue);
    else output.print(start, banner);
  } catch (failure) {
    reloading.stop();
    await app.stop(0);
    throw failure;
  }
  return end.promise;
}

/** A URL leaves it out. */
const HTTP_PORT = 80;

/** Where the system lists no connections, only the idle timeout closes them. */
function guardApp(
  { entrance }: Serving,
  { reloading, clock, log }: { reloading: Reloading; clock: Clock; log: Log },
): void {
  const sockets = openProcessSockets();
  if (!sockets) return;
  guardConnections({
    ...{ sockets, clock, log },
    port: Number(new URL(entrance.url).port || HTTP_PORT),
    rules: () => reloading.settings.server,
    listCallers: entrance.callers.list,
  });
}

interface Stopping {
  reloading: Reloading;
  clock: Clock;
  log: Log;
}

/** Behind the deadline of what runs: a database that is frozen would hold up a stop for ever. */
const STOP_GRACE_MS = 10_000;

/** The first signal lets what runs end, the second does not wait. */
function createStop(
  app: Services,
  { reloading, clock, log }: Stopping,
  end: (code: number) => void,
): () => void {
  let isStopping = false;
  return () => {
    if (isStopping) return end(1);
    isStopping = true;
    log.info("stopping once running requests have ended; a second signal does not wait");
    reloading.stop();
    const { stop_timeout_ms } = reloading.settings.server;
    clock.after(stop_timeout_ms + STOP_GRACE_MS, () => {
      log.error("the stop is not over in time, and is not waited for");
      end(1);
    });
    app.stop(stop_timeout_ms).then(
      () => end(0),
      (error) => {
        log.error("the stop was not clean", { error });
        end(1);
      },
    );
  };
}
