// The control socket of a server: takeovers by new processes, and upgrades that start one.
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import {
  canTakeOver,
  type Handover,
  Incumbent,
  listenForControl,
  Predecessor,
  TakeoverRefused,
} from "../takeover/index.ts";
import { VERSION } from "./version.ts";

export interface ControlOptions {
  /** Path of the socket. */
  file: string;
  /** Takes the place of the server that runs on the data. */
  takesOver: boolean;
}

/** Path of the program at the start, where an upgrade finds the next version. */
const EXECUTABLE = process.execPath;
const ARGUMENTS = process.argv.slice(2);
/** A compiled program has its script inside. */
const SCRIPT = Bun.main.startsWith("/$bunfs/") ? [] : [Bun.main];
const TAKEOVER = "--takeover";
/** Maximum time until a new process makes contact, which it does before it opens its data. */
const CONTACT_MS_MAX = 60_000;
/** Maximum time from then until it serves; it may back up and migrate the database. */
const START_MS_MAX = 30 * 60_000;

export async function findPredecessor({ file, takesOver }: ControlOptions) {
  if (!takesOver) return null;
  if (canTakeOver) return Predecessor.begin(file, VERSION);
  throw new TakeoverRefused(
    `${TAKEOVER} works on Linux only: stop the running server, then start this one`,
  );
}

/** Ends the takeover of a server that listens; returns once the one before has to end. */
export async function completeTakeover(
  predecessor: Predecessor,
  handover: Handover,
  { log, onFatal }: { log: Log; onFatal(): void },
): Promise<void> {
  await predecessor.listening();
  handover.resume();
  await predecessor.ready();
  const { pid } = predecessor;
  log.info("takeover: this process serves; the one before ends its requests", { pid });
  void predecessor.ended
    .then(() => handover.inherit())
    .then(
      () => log.info("takeover: the process before has ended", { pid }),
      (error) => {
        log.error("takeover: the process before was not replaced", { pid, error });
        onFatal();
      },
    );
}

/** Called when a process that an upgrade has started makes contact, and when it serves. */
type UpgradeSteps = Record<"contact" | "ready", () => void>;

export interface ServerControlOptions extends Pick<ControlOptions, "file"> {
  handover: Handover;
  predecessor: Predecessor | null;
  clock: Clock;
  log: Log;
  /** Returns what lets this process go on; false: too late. */
  onReplaced(pid: number): () => boolean;
}

/** Answers at the control socket; without one the server only cannot be taken over. */
export async function openControl(options: ServerControlOptions): Promise<void> {
  const { file, clock, log, onReplaced } = options;
  if (!canTakeOver) return;
  const upgrades = new Map<number, UpgradeSteps>();
  const incumbent = new Incumbent({
    ...options,
    version: VERSION,
    onBegin: (pid) => upgrades.get(pid)?.contact(),
    onReplaced(pid) {
      upgrades.get(pid)?.ready();
      const cancelEnd = onReplaced(pid);
      return () => {
        const goesOn = cancelEnd();
        // The new process has put its own socket there.
        if (goesOn) void listen();
        return goesOn;
      };
    },
  });
  const upgrade = async (program: string | null) => {
    const child = startSuccessor(program ?? EXECUTABLE);
    const contact = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<void>();
    upgrades.set(child.pid, { contact: contact.resolve, ready: ready.resolve });
    const ended = child.exited.then(() => {});
    const isInTime =
      (await settlesWithin(clock, CONTACT_MS_MAX, Promise.race([contact.promise, ended]))) &&
      (await settlesWithin(clock, START_MS_MAX, Promise.race([ready.promise, ended])));
    if (!isInTime) child.kill("SIGKILL");
    const result = await Promise.race([ready.promise, child.exited]);
    upgrades.delete(child.pid);
    if (result === undefined) return { pid: child.pid, replaced: process.pid };
    const why = isInTime
      ? (incumbent.reasonOf(child.pid) ?? `it ended with exit code ${result}`)
      : "it hung and was ended";
    throw new Error(`the new process did not start, and the old one still serves: ${why}`);
  };
  let socket: { close(): void } | null = null;
  const listen = async () => {
    try {
      socket?.close();
      socket = await listenForControl(file, async (method, params, channel) => {
        if (method !== "upgrade") return incumbent.answer(method, params, channel);
        return upgrade(typeof params.program === "string" ? params.program : null);
      });
    } catch (failure) {
      const reason = (failure as Error).message;
      log.warn("takeover: the server has no control socket and cannot be taken over", { reason });
    }
  };
  await listen();
}

function startSuccessor(program: string): Bun.Subprocess {
  const given = ARGUMENTS.includes(TAKEOVER) ? ARGUMENTS : [...ARGUMENTS, TAKEOVER];
  // The supervisor names this process there.
  const env = { ...process.env, WATCHDOG_PID: undefined };
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
