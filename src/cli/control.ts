// The control socket of a server: takeovers by new processes, and upgrades that start one.
import { existsSync } from "node:fs";
import { DatabaseInUse } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import {
  type AnswerChannel,
  canTakeOver,
  type Handover,
  Incumbent,
  listenForControl,
  Predecessor,
  TakeoverRefused,
} from "../takeover/index.ts";
import { ORIGIN } from "./upgrade-origin.ts";
import { TAKEOVER, UpgradeStarts } from "./upgrade-start.ts";
import { VERSION } from "./version.ts";

export interface ControlOptions {
  /** Path of the socket. */
  file: string;
  /** Takes the place of the server that runs on the data. */
  takesOver: boolean;
}

export async function findPredecessor({ file, takesOver }: ControlOptions, clock: Clock) {
  if (!takesOver) return null;
  if (canTakeOver) {
    return Predecessor.begin(file, { version: VERSION, token: ORIGIN?.token ?? null, clock });
  }
  throw new TakeoverRefused(
    `${TAKEOVER} works on Linux only: stop the running server, then start this one`,
  );
}

/** Starts a server that has no predecessor; explains one that runs without a control socket. */
export async function startAlone<T>(start: () => Promise<T>, data: string): Promise<T> {
  try {
    return await start();
  } catch (failure) {
    throw failure instanceof DatabaseInUse ? explainMissingSocket(data) : failure;
  }
}

export function explainMissingSocket(data: string): TakeoverRefused {
  return new TakeoverRefused(
    `the server on ${data} has no control socket: send it SIGHUP to make one ` +
      "(its log says what prevents that), or restart it with the new version",
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

export interface ServerControlOptions extends Pick<ControlOptions, "file"> {
  handover: Handover;
  predecessor: Predecessor | null;
  clock: Clock;
  log: Log;
  /** Reads what the model of a run writes, for commands on the same data. */
  readLive(run_id: string): Promise<unknown>;
  /** Returns what lets this process go on; false: too late. */
  onReplaced(pid: number): () => boolean;
}

export interface ServerControl {
  /** Puts back a socket that was removed. */
  renew(): Promise<void>;
  /** Removes the socket, unless it is that of another process by now. */
  close(): void;
}

/** Answers at the control socket; without one the server only cannot be taken over. */
export async function openControl(options: ServerControlOptions): Promise<ServerControl> {
  const { file, clock, log, onReplaced } = options;
  if (!canTakeOver) return { renew: async () => {}, close() {} };
  const upgrades = new UpgradeStarts({
    ...{ file, clock },
    abandon: (token, reason) => incumbent.abandon(token, reason),
  });
  const incumbent = new Incumbent({
    ...options,
    version: VERSION,
    onBegin({ token, pid }) {
      if (token !== null) upgrades.begin(token, pid);
    },
    onFailed({ token }, reason) {
      if (token !== null) upgrades.fail(token, reason);
    },
    onReplaced({ token, pid }) {
      if (token !== null) upgrades.ready(token);
      const cancelEnd = onReplaced(pid);
      return () => {
        const goesOn = cancelEnd();
        // The new process has put its own socket there.
        if (goesOn) void listen();
        return goesOn;
      };
    },
  });
  const answer: AnswerChannel = async (method, params, channel) => {
    if (method === "ping") return null;
    if (method === "live") return options.readLive(String(params.run_id));
    if (method === "upgrade") {
      // A command that was given up while this process hung starts nothing.
      await channel.requirePresence();
      const program = typeof params.program === "string" ? params.program : null;
      return { pid: await upgrades.run(program), replaced: process.pid };
    }
    if (method === "report") return upgrades.fail(String(params.token), String(params.reason));
    return incumbent.answer(method, params, channel);
  };
  let socket: { close(): void } | null = null;
  const listen = async () => {
    try {
      const before = socket;
      socket = await listenForControl(file, answer);
      before?.close();
    } catch (failure) {
      const reason = (failure as Error).message;
      log.warn("takeover: the server has no control socket and cannot be taken over", { reason });
    }
  };
  await listen();
  return {
    async renew() {
      if (!existsSync(file)) await listen();
    },
    close: () => socket?.close(),
  };
}
