// This process among those that ever had the database: its number, its sign of life, and which of
// the others are dead, whose work the houses then take up.

import type { Database } from "../database/index.ts";
import type { Cancel, Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { processStore } from "./store.ts";

/** How often a process shows that it lives, where others could take its work. */
const BEAT_EVERY_MS = 2_000;
/** Whoever has shown nothing for so long is dead; its work is taken up. */
const DEAD_AFTER_MS = 10_000;

const ENDED = "another server has taken over this data: only one may run on it; this one ends";

/** A module whose rows name the process that has claimed them. */
export interface Claimant {
  /**
   * Puts back what dead processes have claimed, at the start and before each heartbeat. `isDead`
   * judges the epoch of a row; the module itself handles 0 and its own epoch.
   */
  reclaim(isDead: (epoch: number) => boolean): Promise<void>;
  /** Drops all claims: other processes have declared this one dead. */
  onEpochLost(): void;
  /** Runs after each heartbeat, once the rows of dead processes were put back. */
  onHeartbeat(): void;
}

/** Started before all that claim, so that it stops behind them. */
export interface Process extends Service {
  /** The number under which it claims; 0: it has not begun. */
  readonly epoch: number;
  /** To be called before the start. */
  join(claimant: Claimant): void;
}

export interface ProcessOptions {
  database: Database;
  clock: Clock;
  log: Log;
  /** Another has ended this process' number, and nobody else may be on this data: it has to go. */
  onFatal(why: Error): void;
}

/** What another process has shown, and when that was first seen. */
interface Sign {
  beats: number;
  seenAt: number;
}

export function createProcess({ database, clock, log, onFatal }: ProcessOptions): Process {
  const store = database.bind(processStore);
  const claimants: Claimant[] = [];
  let signs = new Map<number, Sign>();
  /** Those whose end was written here: nobody else may know that their work lies about. */
  const buried = new Set<number>();
  let epoch = 0;
  let cancelBeat: Cancel | null = null;
  let isOver = false;

  const isSilent = (other: number) => clock.monotonic() - signs.get(other)!.seenAt >= DEAD_AFTER_MS;
  /** Which numbers are of processes that will never write again. */
  const findDead = async (): Promise<(epoch: number) => boolean> => {
    const others = (await store.list()).filter((one) => one.epoch !== epoch);
    const before = signs;
    signs = new Map();
    for (const { epoch: other, beats } of others) {
      const sign = before.get(other);
      const isSame = sign?.beats === beats;
      signs.set(other, isSame ? sign : { beats, seenAt: clock.monotonic() });
    }
    // Who holds the lock of the database knows that nobody else is there.
    const dead = others.filter((one) => isAlone(database) || isSilent(one.epoch));
    for (const { epoch: other } of dead) {
      await store.end(other, clock.now());
      buried.add(other);
    }
    const alive = new Set(others.filter((one) => !dead.includes(one)).map((one) => one.epoch));
    // Whoever has a higher number may have entered since the list was read.
    return (heldBy) => buried.has(heldBy) || (heldBy < epoch && !alive.has(heldBy));
  };
  /** Each for itself: what one of them cannot do holds up no other. */
  const tellAll = async (tell: (claimant: Claimant) => Promise<void>) => {
    const settled = await Promise.allSettled(claimants.map(tell));
    const failed = settled.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  };
  const enter = async () => {
    epoch = await store.register(clock.now());
  };
  const plan = () => {
    if (!isOver) cancelBeat = clock.after(BEAT_EVERY_MS, () => void live());
  };
  const live = async () => {
    try {
      if (isAlone(database) && !(await store.list()).some((one) => one.epoch === epoch)) {
        if (isOver) return;
        log.error(ENDED);
        return onFatal(new Error(ENDED));
      }
      if (!isAlone(database) && !(await store.beat(epoch))) {
        // Its own end is no other's doing.
        if (isOver) return;
        log.error("others took this process for dead; it begins anew under another number");
        for (const claimant of claimants) claimant.onEpochLost();
        await enter();
      }
      const isDead = await findDead();
      await tellAll(async (claimant) => {
        await claimant.reclaim(isDead);
        claimant.onHeartbeat();
      });
    } catch (error) {
      log.error("the sign of life could not be written", { error });
    }
    plan();
  };
  return {
    name: "process",
    get epoch() {
      return epoch;
    },
    join: (claimant) => void claimants.push(claimant),
    /** Enters the process, and has taken up what dead ones left. */
    async start() {
      await enter();
      const isDead = await findDead();
      await tellAll((claimant) => claimant.reclaim(isDead));
      plan();
    },
    async stop() {
      isOver = true;
      cancelBeat?.();
      await store.end(epoch, clock.now());
    },
  };
}

/** On SQLite a lock of the system says so; on PostgreSQL one that a cut connection may lose. */
function isAlone({ engine }: Database): boolean {
  return engine !== "postgres";
}
