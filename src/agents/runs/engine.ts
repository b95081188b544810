// The engine: claims runs that wait, executes so many at once, and drains at a stop.
import { endsWithin } from "../../platform/clock.ts";
import type { Service } from "../../platform/service.ts";
import type { Around } from "../around.ts";
import type { FindVersion } from "../definitions/versions.ts";
import type { OpenToolset } from "../tools/toolsets.ts";
import { createCallers } from "./callers.ts";
import type { RunStore } from "./journal.ts";
import { createPerformance } from "./performing.ts";
import { createPlaces } from "./places.ts";
import { createPump } from "./pump.ts";
import type { RunRow } from "./run.ts";
import type { Turn } from "./store/claim.ts";
import { createTakingUp } from "./taking-up.ts";
import { breakOff, type Executing, watchRuns } from "./watching.ts";
import type { Break } from "./work.ts";

/** What was broken off has this long to say so. */
const GRACE_MS = 1_000;

export interface EngineOptions {
  around: Around;
  store: RunStore;
  findVersion: FindVersion;
  openToolset: OpenToolset;
}

export interface Engine extends Service {
  /** No further round begins: what runs is let go between two rounds, and goes on at a start. */
  drain(): void;
  look(): { executing: number };
}

export function createEngine(options: EngineOptions): Engine {
  const { around, store } = options;
  const { clock, database, log, process } = around;
  const executing = new Map<string, Executing>();
  /** Asked to stop while a claim was under way: it may be one of those that come. */
  const cancelled = new Set<string>();
  const draining = new AbortController();
  const places = createPlaces(() => around.settings().limits.concurrent_runs);
  const undo: (() => void)[] = [];
  const quiet = Promise.withResolvers<void>();

  process.join({
    takeUp: createTakingUp({ around, store, isExecuting: (id) => executing.has(id) }),
    onLost: () => breakAll(executing, "lost"),
    onSign: () => pump.look(),
  });
  const callers = createCallers(around);
  const perform = createPerformance({
    ...{ ...options, places, findCaller: callers.find, draining: draining.signal },
    onPlace: () => pump.look(),
  });
  const isQuiet = () => executing.size === 0 && !pump.isClaiming();
  const tellQuiet = () => {
    if (draining.signal.aborted && isQuiet()) quiet.resolve();
  };
  const begin = (row: RunRow) => {
    const run: Executing = { row, controller: new AbortController() };
    if (cancelled.has(row.id)) breakOff(run, "cancel");
    executing.set(row.id, run);
    places.take();
    perform(run).finally(() => {
      // A process that has lost the run may have it again already.
      if (executing.get(row.id) === run) executing.delete(row.id);
      places.give();
      tellQuiet();
      pump.look();
    });
  };
  const claim = async (turns: readonly Turn[]) => {
    cancelled.clear();
    const rows = await store.claim(process.epoch, turns, clock.now());
    for (const row of rows) begin(row);
    return rows;
  };
  const pump = createPump(around, {
    ...{ places, claim },
    isDraining: () => draining.signal.aborted,
    onClaimed: tellQuiet,
  });
  const hearQueued = async (account_id: string | null) => {
    for (const one of await listWaiting(store, account_id)) places.tell(one);
    pump.look();
  };
  const complain = (error: unknown) => log.error("waiting runs could not be listed", { error });

  return {
    name: "engine",
    async start() {
      undo.push(
        callers.leave,
        database.listen("runs.queued", (id) => void hearQueued(id).catch(complain)),
        watchRuns({
          ...{ around, executing },
          listCancelled: () => store.listCancelled(process.epoch),
          onOther: (id) => pump.isClaiming() && cancelled.add(id),
        }),
      );
      await hearQueued(null);
    },
    drain: () => draining.abort(),
    async stop(deadline_ms) {
      draining.abort();
      for (const step of undo.splice(0)) step();
      tellQuiet();
      if (!(await endsWithin(clock, deadline_ms, quiet.promise))) {
        breakAll(executing, "stop");
        await endsWithin(clock, GRACE_MS, quiet.promise);
      }
    },
    look: () => ({ executing: executing.size }),
  };
}

function breakAll(executing: ReadonlyMap<string, Executing>, why: Break): void {
  for (const run of executing.values()) breakOff(run, why);
}

/** Accounts of which a run may wait; `account_id` of null: nobody knows of which. */
async function listWaiting(store: RunStore, account_id: string | null): Promise<string[]> {
  return account_id === null ? store.listWaiting() : [account_id];
}
