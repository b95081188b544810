// Runs a server for `dev` and `serve`: starts the app, prints the banner, reloads and stops.
import type { Admin, Installation } from "../admin/index.ts";
import { type Activity, UNWATCHED, Watchdog, type WatchdogOptions } from "../cluster/index.ts";
import {
  type ConnectionGuardOptions,
  guardConnections,
  openProcessSockets,
  writeAllowEntry,
} from "../net/index.ts";
import { type Clock, containTimers } from "../platform/clock.ts";
import { reserveDescriptors, withReserve } from "../platform/descriptors.ts";
import { createSystemIds, type Ids } from "../platform/ids.ts";
import { createLog, type Log } from "../platform/log.ts";
import { isTerminal, STDERR } from "../platform/process.ts";
import { createSupervisorNotifier, type SupervisorNotifier } from "../platform/sd-notify.ts";
import type { Services } from "../platform/service.ts";
import { SERVICES, type Settings } from "../settings/index.ts";
import type { Handover, Predecessor } from "../takeover/index.ts";
import { type Start, writeBanner } from "./banner.ts";
import {
  type ControlOptions,
  completeTakeover,
  findPredecessor,
  openControl,
  type ServerControl,
  startAlone,
} from "./control.ts";
import { describeCrash } from "./installation.ts";
import { type Output, printOnce } from "./output.ts";
import { SettingsReload, type SettingsTarget } from "./reload.ts";
import type { SettingsFile } from "./settings.ts";
import { joinSupervisor } from "./supervised.ts";
import { VERSION } from "./version.ts";

export interface Serving extends Services, SettingsTarget {
  readonly admin: Admin;
  handover: Handover;
  server: {
    readonly url: string;
    listClients: ConnectionGuardOptions["listClients"];
  };
}

export interface Welcome {
  keys: readonly string[];
  notes: readonly string[];
  /** Token of the operator API, in `wadi dev`. */
  operator_token?: string;
  /** Set after a restore: `wadi resume` starts what waits. */
  is_paused?: boolean;
  /** File of a secret that must not be shown. */
  key_file?: string;
  /** Link that signs in to the console once, and the file that holds it in place of a terminal. */
  console_link?: string;
  console_file?: string;
  rescue?: string;
}

interface AppDeps {
  settings: Settings;
  ids: Ids;
  version: string;
  installation: Installation;
  clock: Clock;
  log: Log;
  activity: Activity;
  predecessor: Predecessor | null;
  settingsFile: SettingsReload;
  onFatal: () => void;
}

export interface ServerRun {
  settings: Settings;
  file: SettingsFile | null;
  clock: Clock;
  output: Output;
  installation: Installation;
  storage: string;
  /** Present where other processes can take over. */
  control: ControlOptions | null;
  watchdog: Pick<WatchdogOptions, "script" | "file"> | null;
  build(deps: AppDeps): Promise<Serving>;
  /**
   * Creates first keys and a link to the console; called once the server listens at `url`, so that
   * all are shown.
   */
  welcome(admin: Admin, url: string): Promise<Welcome>;
}

export async function runServer(options: ServerRun): Promise<number> {
  const { settings, file, output } = options;
  const isForPeople = isTerminal(STDERR);
  const write = openErrorStream(isForPeople);
  const log = createLog(options.clock, write, isForPeople);
  // An error in one timer stops no other.
  const clock = containTimers(options.clock, (error) =>
    log.error("server: a timer's callback failed", { error }),
  );
  const end = Promise.withResolvers<number>();
  const onFatal = () => end.resolve(1);
  endOnBugs(log, onFatal);
  const reload = new SettingsReload({ file, settings, clock, log });
  // From here on SIGHUP does not end the program; an early one is answered after the start.
  let hangUp = () => void reload.reload();
  if (process.platform !== "win32") process.on("SIGHUP", () => hangUp());
  const watchdog = options.watchdog && new Watchdog({ ...options.watchdog, isForPeople, log });
  const activity = watchdog ?? UNWATCHED;
  const predecessor = options.control && (await findPredecessor(options.control, clock));
  const app = await startApp(predecessor, { ...options, log, onFatal }, async () => {
    const app = await options.build({
      ...{ settings, ids: createSystemIds(), version: VERSION, clock, log, activity },
      ...{ predecessor, settingsFile: reload, installation: noteCrash(options, watchdog), onFatal },
    });
    // Migrations of the build may block the loop for long.
    watchdog?.start();
    await app.start();
    return app;
  });
  watchdog?.removeNote();
  let control: ServerControl | null = null;
  try {
    const { start, notes, rescue = "" } = await describeStart(app, options);
    // Installed before the banner, whose reader may send a signal at once.
    const supervisor = createSupervisorNotifier(clock);
    const running = { reload, clock, log, supervisor };
    const { stop, stopTogether, replace } = createStop(app, running, end.resolve);
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    hangUp = () => {
      if (!isForPeople || isTerminal(STDERR)) {
        supervisor.reloading();
        return void Promise.all([reload.reload(), control?.renew()]).then(() => supervisor.ready());
      }
      // The terminal was closed, which may signal twice.
      hangUp = () => {};
      stop();
    };
    reload.start(app);
    guardApp(app, running);
    const parts = { ...listControlled(app), predecessor, clock, log, onReplaced: replace };
    if (options.control) control = await openControl({ ...options.control, ...parts });
    supervisor.ready();
    joinSupervisor(clock, stopTogether);
    const banner = writeBanner(start, notes);
    if (rescue) printOnce(output, start, banner, rescue);
    else output.print(start, banner);
  } catch (error) {
    reload.stop();
    await app.stop(0);
    control?.close();
    throw error;
  }
  const code = await end.promise;
  control?.close();
  return code;
}

/** Opens the stream at the first line: its libraries would cost a start 9 ms. */
function openErrorStream(isForPeople: boolean): (line: string) => void {
  let stream: NodeJS.WriteStream | undefined;
  const write = (line: string) => {
    // The server outlives the reader of its log.
    stream ??= process.stderr.on("error", () => {});
    stream.write(line);
  };
  // A terminal that was closed meanwhile could not be opened any more.
  if (isForPeople) write("");
  // The first line takes a descriptor, also when clients have taken all others.
  return (line) => (stream ? write(line) : withReserve(() => write(line)));
}

/** Lists what other processes reach at the control socket. */
const listControlled = (app: Serving) => ({
  handover: app.handover,
  readLive: (run_id: string) => app.admin.runs.readLive(run_id),
});

function endOnBugs(log: Log, end: () => void): void {
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error) => {
      // The state after a bug is unknown, but acknowledged writes are stored.
      log.error("server: an uncaught error ends the process", { error });
      end();
    });
  }
}

async function describeStart(app: Serving, { settings, storage, welcome }: ServerRun) {
  const models = await app.admin.models.list();
  const { url } = app.server;
  const { notes, rescue, key_file = null, ...welcomed } = await welcome(app.admin, url);
  const start: Start = {
    version: VERSION,
    url,
    data: storage,
    models: models.map(({ id, state }) => ({ id, state })),
    default_model: settings.service.default_model,
    services: SERVICES.map((name) => ({ name, kind: settings[name].kind })),
    egress: { open: settings.egress.allow.map(writeAllowEntry) },
    ...welcomed,
    key_file,
  };
  return { start, notes, rescue };
}

/** Builds and starts the app; in a takeover the server before ends only after that. */
async function startApp(
  predecessor: Predecessor | null,
  deps: Pick<ServerRun, "settings" | "control"> & { log: Log; onFatal(): void },
  start: () => Promise<Serving>,
): Promise<Serving> {
  if (!predecessor) {
    return deps.control?.takesOver ? startAlone(start, deps.settings.server.data) : start();
  }
  try {
    const app = await start();
    await completeTakeover(predecessor, app.handover, deps);
    return app;
  } catch (failure) {
    await predecessor.failed((failure as Error).message);
    throw failure;
  }
}

/** The note of the process before is removed when the start has succeeded. */
function noteCrash({ installation }: ServerRun, watchdog: Watchdog | null): Installation {
  return { ...installation, readCrash: () => describeCrash(watchdog?.note ?? null) };
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Without a list of connections, only the idle timeout closes them. */
function guardApp({ server }: Serving, { reload, clock, log }: RunningServer): void {
  // Done before the limit is read, since the guard must use the lowered limit.
  reserveDescriptors();
  const sockets = openProcessSockets();
  if (!sockets) return;
  const url = new URL(server.url);
  guardConnections({
    sockets,
    clock,
    log,
    port: Number(url.port) || DEFAULT_PORTS[url.protocol]!,
    rules: () => reload.settings.server,
    listClients: () => server.listClients(),
  });
}

interface RunningServer {
  reload: SettingsReload;
  clock: Clock;
  log: Log;
  supervisor: SupervisorNotifier;
}

/** Time after the deadline; a hanging database would block the stop forever. */
const STOP_GRACE_MS = 10_000;

/**
 * `stop`: the first signal waits for running requests, the second does not. `replace` ends the
 * server for one that has taken over. A signal then changes nothing; a second one ends it at once.
 */
function createStop(
  app: Pick<Serving, "stop" | "handover">,
  { reload, clock, log, supervisor }: RunningServer,
  end: (code: number) => void,
) {
  let isEnding = false;
  const fail = (error: unknown) => {
    log.error("server: the stop failed", { error });
    end(1);
  };
  const finish = (deadlineMs: number) => {
    reload.stop();
    clock.after(deadlineMs + STOP_GRACE_MS, () => {
      log.error("server: the stop timed out and is abandoned");
      end(1);
    });
    app.stop(deadlineMs).then(() => end(0), fail);
  };
  const countStops = () => {
    let times = 0;
    return () => {
      times += 1;
      if (times > 1) return end(1);
      if (isEnding) return;
      isEnding = true;
      log.info("server: stopping when running requests have ended; a second signal stops at once");
      supervisor.stopping();
      finish(reload.settings.server.stop_timeout_ms);
    };
  };
  return {
    stop: countStops(),
    /** A supervisor may pass on what this process has got, too. */
    stopTogether: countStops(),
    /** Returns what lets the server go on, while it still waits for clients. */
    replace(pid: number): () => boolean {
      if (isEnding) return () => false;
      isEnding = true;
      log.info("takeover: another process serves; this one ends its requests", { pid });
      supervisor.replaced(pid);
      const { stop_timeout_ms } = reload.settings.server;
      const beganAt = clock.monotonic();
      const waiting = new AbortController();
      let isStopping = false;
      const stop = () => {
        if (waiting.signal.aborted) return;
        isStopping = true;
        finish(Math.max(0, stop_timeout_ms - (clock.monotonic() - beganAt)));
      };
      app.handover.retire(stop_timeout_ms, waiting.signal).then(stop, fail);
      return () => {
        if (isStopping) return false;
        waiting.abort();
        isEnding = false;
        supervisor.replaced(process.pid);
        return true;
      };
    },
  };
}
