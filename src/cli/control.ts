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
/** Maximum time until a new process serves; it may back up and migrate the database. */
const UPGRADE_MS_MAX = 30 * 60_000;

export async function findPredecessor({ file, takesOver }: ControlOptions) {
  if (!takesOver) return null;
  if (canTakeOver) return Predecessor.connect(file, VERSION);
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
  await predecessor.release();
  handover.resume();
  await predecessor.replace();
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
  const upgrades = new Map<number, () => void>();
  const incumbent = new Incumbent({
    ...options,
    version: VERSION,
    onReplaced(pid) {
      upgrades.get(pid)?.();
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
    const ready = Promise.withResolvers<"ready">();
    upgrades.set(child.pid, () => ready.resolve("ready"));
    const ended = Promise.race([ready.promise, child.exited]);
    const isInTime = await settlesWithin(
      clock,
      UPGRADE_MS_MAX,
      ended.then(() => {}),
    );
    if (!isInTime) child.kill("SIGKILL");
    const result = await ended;
    upgrades.delete(child.pid);
    if (result === "ready") return { pid: child.pid, replaced: process.pid };
    const why = incumbent.reasonOf(child.pid) ?? `it ended with exit code ${result}`;
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
  const child = Bun.spawn([program, ...SCRIPT, ...given], {
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  child.unref();
  return child;
}
