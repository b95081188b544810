// This process among those that ever had the database: its number, its sign of life, and the runs
// of those that are dead.
import type { Cancel } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/index.ts";
import type { Around } from "../around.ts";
import type { RunStore } from "./journal.ts";
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
  const signs = new Map<number, Sign>();
  let epoch = 0;
  let cancelBeat: Cancel | null = null;
  let isOver = false;

  /** Processes that will never write again, of those that have runs. */
  const listDead = async (): Promise<(epoch: number) => boolean> => {
    const others = (await store.listProcesses()).filter((one) => one.epoch !== epoch);
    // Who holds the lock of the database knows that nobody else is there.
    const dead = isAlone(database) ? others : others.filter(isSilent);
    for (const { epoch: other } of dead) await store.end(other, clock.now());
    const alive = new Set(others.filter((one) => !dead.includes(one)).map((one) => one.epoch));
    return (held_by) => held_by !== epoch && !alive.has(held_by);
  };
  const isSilent = ({ epoch: other, beats }: { epoch: number; beats: number }): boolean => {
    const now = clock.monotonic();
    const sign = signs.get(other);
    if (sign?.beats === beats) return now - sign.seen_at >= DEAD_AFTER_MS;
    signs.set(other, { beats, seen_at: now });
    return false;
  };
  /** Also what this process has let fall: a bug ended its execution, not the run. */
  const takeUp = async () => {
    const isDead = await listDead();
    const held = await store.listHeld(epoch, Number.MAX_SAFE_INTEGER);
    const lost = held.filter((run) =>
      run.epoch === epoch ? !options.isExecuting(run.id) : isDead(run.epoch),
    );
    for (let at = 0; at < lost.length; at += RUNS_A_WRITE) {
      const group = lost.slice(at, at + RUNS_A_WRITE);
      const findings = group.map(({ id, pending_approvals }) => {
        const length = countEndingIds(pending_approvals.length);
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
      if (!(await store.beat(epoch))) {
        log.error("others took this process for dead; it begins anew under another number");
        options.onLost();
        await enter();
      }
      await takeUp();
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
