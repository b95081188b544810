// This process among those that ever had the database: its number, its sign of life, and the runs
// of those that are dead.
import type { Cancel } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/index.ts";
import type { Around } from "../around.ts";
import type { RunStore } from "./journal.ts";
import { RECOVERIES_MAX } from "./store/claim.ts";
import { countEndingIds } from "./store/closing.ts";

/** How often a process shows that it lives, where others could take its runs. */
const BEAT_EVERY_MS = 2_000;
/** Whoever has shown nothing for so long is dead; its runs are taken up. */
const DEAD_AFTER_MS = 10_000;
/** Runs that are taken up in one transaction. */
const RUNS_A_WRITE = 250;

export interface ProcessOptions {
  around: Around;
  store: RunStore;
  /** Runs that this process executes at the moment. */
  isExecuting(run_id: string): boolean;
  /** Others hold this process for dead: what it executes is no longer its own. */
  onLost(): void;
  /** Again and again, also when nothing happens. */
  onSign(): void;
}

export interface Process {
  /** The number under which it writes; 0: it has not begun. */
  readonly epoch: number;
  /** Enters the process, and puts back what dead ones left. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** What another process has shown, and when that was first seen. */
interface Sign {
  beats: number;
  seen_at: number;
}

export function createProcess(options: ProcessOptions): Process {
  const { around, store } = options;
  const { clock, database, log } = around;
  let signs = new Map<number, Sign>();
  /** Runs that had no execution here when they were looked at last. */
  let fallen = new Set<string>();
  let epoch = 0;
  let cancelBeat: Cancel | null = null;
  let isOver = false;

  /** Processes that will never write again, of those that have runs. */
  const listDead = async (): Promise<(epoch: number) => boolean> => {
    const others = (await store.listProcesses()).filter((one) => one.epoch !== epoch);
    const before = signs;
    signs = new Map();
    for (const { epoch: other, beats } of others) {
      const sign = before.get(other);
      const isSame = sign?.beats === beats;
      signs.set(other, isSame ? sign : { beats, seen_at: clock.monotonic() });
    }
    // Who holds the lock of the database knows that nobody else is there.
    const dead = others.filter((one) => isAlone(database) || isSilent(one.epoch));
    for (const { epoch: other } of dead) await store.end(other, clock.now());
    const alive = new Set(others.filter((one) => !dead.includes(one)).map((one) => one.epoch));
    return (held_by) => held_by !== epoch && !alive.has(held_by);
  };
  const isSilent = (other: number) =>
    clock.monotonic() - signs.get(other)!.seen_at >= DEAD_AFTER_MS;
  /** Also what this process has let fall: a bug ended its execution, not the run. */
  const takeUp = async () => {
    const isDead = await listDead();
    const before = fallen;
    fallen = new Set();
    const lost = (await store.listHeld(epoch, Number.MAX_SAFE_INTEGER)).filter((run) => {
      if (run.epoch !== epoch) return isDead(run.epoch);
      if (options.isExecuting(run.id)) return false;
      // It may just have been claimed, or just have ended: only the second look says that.
      fallen.add(run.id);
      return before.has(run.id);
    });
    for (let at = 0; at < lost.length; at += RUNS_A_WRITE) {
      const group = lost.slice(at, at + RUNS_A_WRITE);
      const findings = group.map(({ id, pending_approvals, recoveries }) => {
        const ends = recoveries >= RECOVERIES_MAX;
        const length = ends ? countEndingIds(pending_approvals.length) : 1;
        return { run_id: id, fresh: Array.from({ length }, around.ids.uuid) };
      });
      const epochs = [...new Set(group.map((run) => run.epoch))];
      await store.recover(findings, epochs, clock.now());
    }
  };
  const enter = async () => {
    epoch = await store.register(clock.now());
  };
  const plan = () => {
    if (!isOver) cancelBeat = clock.after(BEAT_EVERY_MS, () => void live());
  };
  const live = async () => {
    try {
      if (!isAlone(database) && !(await store.beat(epoch))) {
        log.error("others took this process for dead; it begins anew under another number");
        options.onLost();
        await enter();
      }
      await takeUp();
      options.onSign();
    } catch (error) {
      log.error("the sign of life could not be written", { error });
    }
    plan();
  };
  return {
    get epoch() {
      return epoch;
    },
    async start() {
      await enter();
      await takeUp();
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
