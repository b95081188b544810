// Parts that a server gives to the process that takes its place, or gets from the one before it.
import type { LimitStates } from "../access/index.ts";
import { type Database, DatabaseInUse } from "../database/index.ts";
import { type Clock, wait } from "../platform/clock.ts";
import type { JoinedServices } from "../platform/service.ts";

export interface HandoverAddress {
  host: string;
  port: number;
}

/** Rate limits and shared slots, on which one process decides at any time. */
export interface SharedLimits {
  limits: LimitStates;
  slots: Readonly<Record<string, number>>;
}

/** The parts of a server that change hands. */
export interface Handover {
  /** Number of this process among those that claim work. */
  readonly epoch: number;
  /** Id of the data, which both processes serve. */
  readonly installation: string;
  readonly addresses: readonly HandoverAddress[];
  readonly limits: {
    export(): LimitStates;
    import(states: LimitStates): void;
    claim(limiter: string, name: string): Promise<number>;
    follow(claim: ((limiter: string, name: string) => Promise<number>) | null): void;
  };
  readonly slots: {
    export(): SharedLimits["slots"];
    import(counts: SharedLimits["slots"]): void;
    take(service: string): boolean;
    release(service: string): void;
    follow(
      leader: { take(service: string): Promise<boolean>; release(service: string): void } | null,
    ): void;
  };
  /** Lets another process listen on the same addresses. */
  share(): boolean;
  /** Takes other epochs for alive although this process has the lock of the data. */
  spare(spares: (epoch: number) => boolean): void;
  /** Closes each connection by its next reply; false: keeps them open again. */
  leave(isLeaving: boolean): void;
  /** Begins no work that the other process may begin. */
  pause(): Promise<void>;
  resume(): void;
  /** Begins no more work, and sends clients to other processes, until `undrain`. */
  drain(): Promise<void>;
  undrain(): void;
  /**
   * Waits until no client is left, at most until the deadline; event streams are ended. The signal
   * ends the waiting.
   */
  retire(deadlineMs: number, signal: AbortSignal): Promise<void>;
  /** Continues alone: the process before has ended, and this one takes the lock of the data. */
  inherit(): Promise<void>;
}

/** A new process, as it introduces itself. */
export interface Newcomer {
  pid: number;
  version: string;
  /** Names the upgrade that has started it; null: a person has. */
  token: string | null;
  /** Namespace of its number; null where it is unknown. */
  namespace: string | null;
}

/** The first reply of the process that runs. */
export interface Incumbency {
  pid: number;
  version: string;
  epoch: number;
  installation: string;
  addresses: HandoverAddress[];
}

export interface HandoverParts
  extends Pick<Handover, "installation" | "limits" | "slots" | "retire"> {
  clock: Clock;
  database: Pick<Database, "lock">;
  services: Pick<JoinedServices, "pause" | "resume">;
  /** Ends what clients open again elsewhere. */
  endStreams(): void;
  process: { readonly epoch: number; spare: Handover["spare"] };
  server: { readonly addresses: HandoverAddress[]; share(): boolean; isLeaving: boolean };
  /** The process that this one takes over from, and its epoch. */
  predecessor: Pick<Incumbency, "epoch"> | null;
  /** Stops no idle model server while the other process may use it. */
  keepServers(isKept: boolean): void;
  /** Settles what the process before has left; it served alone until that time. */
  settle(until: number): Promise<void>;
}

export function createHandover(parts: HandoverParts): Handover {
  const { clock, database, services, process, server, predecessor, keepServers } = parts;
  let isAlone = predecessor === null;
  if (predecessor) {
    process.spare((epoch) => epoch === predecessor.epoch);
    keepServers(true);
    // Services that have not started are paused at once.
    void services.pause();
  }
  const builtAt = clock.now();
  let isDrained = false;
  let isPaused = predecessor !== null;
  let isLeft = false;
  const resume = () => {
    if (isDrained || isPaused) return;
    services.resume();
    keepServers(!isAlone);
  };
  return {
    installation: parts.installation,
    limits: parts.limits,
    slots: parts.slots,
    get epoch() {
      return process.epoch;
    },
    get addresses() {
      return server.addresses;
    },
    share: () => server.share(),
    spare: (spares) => process.spare(spares),
    leave(isLeaving) {
      isLeft = isLeaving;
      server.isLeaving = isLeaving || isDrained;
    },
    async pause() {
      isPaused = true;
      keepServers(true);
      await services.pause();
    },
    async drain() {
      isDrained = true;
      server.isLeaving = true;
      parts.endStreams();
      keepServers(true);
      await services.pause();
    },
    undrain() {
      isDrained = false;
      server.isLeaving = isLeft;
      resume();
    },
    resume() {
      isPaused = false;
      resume();
    },
    retire: parts.retire,
    async inherit() {
      await lockSoon(database, clock);
      isAlone = true;
      process.spare(() => false);
      keepServers(false);
      parts.slots.import({});
      await parts.settle(builtAt);
    },
  };
}

const LOCK_EVERY_MS = 50;
/** Maximum tries: the system may need a moment to end a process. */
const LOCK_TRIES_MAX = 100;

/** Takes the lock of the data from a process that has just ended. */
async function lockSoon(database: Pick<Database, "lock">, clock: Clock): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await database.lock();
    } catch (failure) {
      if (!(failure instanceof DatabaseInUse) || tries === LOCK_TRIES_MAX) throw failure;
      await wait(clock, LOCK_EVERY_MS);
    }
  }
}
