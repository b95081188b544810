// Starts a new process for an upgrade, and waits until it serves, has failed or hangs.
import { type Clock, settlesWithin } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { openProcesses, START_MS_MAX, TakeoverRefused } from "../takeover/index.ts";
import { nameUpgrade } from "./upgrade-origin.ts";

export const TAKEOVER = "--takeover";
/** Path of the program at the start, where an upgrade finds the next version. */
const EXECUTABLE = process.execPath;
const ARGUMENTS = process.argv.slice(2);
/** A compiled program has its script inside. */
const SCRIPT = Bun.main.startsWith("/$bunfs/") ? [] : [Bun.main];
const TOKEN_LENGTH = 22;
/** Maximum time until a new process makes contact, which it does before it opens its data. */
const CONTACT_MS_MAX = 60_000;

interface UpgradeStart {
  begun: PromiseWithResolvers<void>;
  ready: PromiseWithResolvers<void>;
  /** The process that has made contact; a script may have started it. */
  pid: number | null;
  isReady: boolean;
  reason: string | null;
}

interface UpgradeOptions {
  /** Path of the control socket. */
  file: string;
  clock: Clock;
  /** Ends the process that has made contact. */
  abandon(token: string, reason: string): void;
}

/** Upgrades under way, by their tokens; each learns from the control socket how it goes. */
export class UpgradeStarts {
  readonly #options: UpgradeOptions;
  readonly #starts = new Map<string, UpgradeStart>();
  readonly #ids = createSystemIds();

  constructor(options: UpgradeOptions) {
    this.#options = options;
  }

  begin(token: string, pid: number): void {
    const start = this.#starts.get(token);
    if (!start) throw new TakeoverRefused("the upgrade that started this process has ended");
    start.pid = pid;
    start.begun.resolve();
  }

  ready(token: string): void {
    const start = this.#starts.get(token);
    if (!start) return;
    start.isReady = true;
    start.ready.resolve();
  }

  fail(token: string, reason: string): void {
    const start = this.#starts.get(token);
    if (start) start.reason = reason;
  }

  /** Returns the number of the process that serves; throws why none does. */
  async run(program: string | null): Promise<number> {
    const { file, clock, abandon } = this.#options;
    const token = this.#ids.token(TOKEN_LENGTH);
    const child = startProgram(program ?? EXECUTABLE, nameUpgrade({ token, file }));
    const start: UpgradeStart = {
      begun: Promise.withResolvers(),
      ready: Promise.withResolvers(),
      ...{ pid: null, isReady: false, reason: null },
    };
    this.#starts.set(token, start);
    const ended = child.exited.then(() => {});
    const isInTime =
      (await settlesWithin(clock, CONTACT_MS_MAX, Promise.race([start.begun.promise, ended]))) &&
      (await settlesWithin(clock, START_MS_MAX, Promise.race([start.ready.promise, ended])));
    this.#starts.delete(token);
    if (start.isReady) return start.pid!;
    // A script that waits may be above a program that hangs before it makes contact.
    if (child.exitCode === null && child.signalCode === null) openProcesses().kill(child.pid);
    abandon(token, "its upgrade has failed");
    const code = await child.exited;
    const why = isInTime
      ? (start.reason ?? `it ended with exit code ${code}`)
      : "it hung and was ended";
    throw new TakeoverRefused(
      `the new process did not start, and the old one still serves: ${why}`,
    );
  }
}

function startProgram(program: string, origin: Record<string, string>): Bun.Subprocess {
  const given = ARGUMENTS.includes(TAKEOVER) ? ARGUMENTS : [...ARGUMENTS, TAKEOVER];
  // The supervisor names this process in WATCHDOG_PID.
  const env = { ...process.env, ...origin, WATCHDOG_PID: undefined };
  try {
    const child = Bun.spawn([program, ...SCRIPT, ...given], {
      env,
      stdio: ["ignore", "inherit", "inherit"],
    });
    child.unref();
    return child;
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new TakeoverRefused(`there is no program at ${program}`);
    throw new TakeoverRefused(`${program} is no program that this machine can run (${code})`);
  }
}
