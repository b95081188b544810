// The engine: claims runs that wait, executes so many at once, and drains at a stop.
import { endsWithin, wait } from "../../platform/clock.ts";
import type { Service } from "../../platform/service.ts";
import type { Around } from "../around.ts";
import { createFence } from "../tools/fence.ts";
import { leftMs } from "./budget.ts";
import { execute } from "./execution.ts";
import { createJournal, type RunStore } from "./journal.ts";
import { createPlaces, type Places } from "./places.ts";
import type { FindTool } from "./planning.ts";
import { createProcess } from "./process.ts";
import type { RunRow } from "./run.ts";
import { beginLog, restoreState } from "./state.ts";
import type { Turn } from "./store/claim.ts";
import { createVersions } from "./versions.ts";
import { breakOff, type Executing, watchRuns } from "./watching.ts";

/** A claim that failed is tried again. */
const CLAIM_AGAIN_MS = 1_000;
/** What was broken off has this long to say so. */
const GRACE_MS = 1_000;

export interface EngineOptions {
  around: Around;
  store: RunStore;
  findTool: FindTool;
}

export interface Engine extends Service {
  /** No further round begins: what runs is let go between two rounds, and goes on at a start. */
  drain(): void;
  look(): { executing: number };
}

export function createEngine(options: EngineOptions): Engine {
  const { around, store } = options;
  const { clock, database, log } = around;
  const executing = new Map<string, Executing>();
  const draining = new AbortController();
  const places = createPlaces(() => around.settings().limits.concurrent_runs);
  const undo: (() => void)[] = [];
  let onQuiet: (() => void) | null = null;

  const process = createProcess({
    around,
    store,
    isExecuting: (id) => executing.has(id),
    onLost() {
      for (const run of executing.values()) breakOff(run, "lost");
    },
  });
  const perform = createPerformance(options, places, draining.signal, () => pump());
  const begin = (row: RunRow) => {
    const run: Executing = { row, controller: new AbortController() };
    executing.set(row.id, run);
    places.take();
    perform(run).finally(() => {
      executing.delete(row.id);
      places.give();
      if (executing.size === 0) onQuiet?.();
      pump();
    });
  };
  const pump = createPump(around, places, draining.signal, async (turns) => {
    const rows = await store.claim(process.epoch, turns, clock.now());
    for (const row of rows) begin(row);
    return rows;
  });
  /** null: of any account something may wait. */
  const hearQueued = async (account_id: string | null) => {
    const accounts = account_id === null ? await store.listWaiting() : [account_id];
    for (const one of accounts) places.tell(one);
    pump();
  };
  const complain = (error: unknown) => log.error("waiting runs could not be listed", { error });

  return {
    name: "engine",
    async start() {
      const listCancelled = () => store.listCancelled(process.epoch);
      undo.push(database.listen("runs.queued", (id) => void hearQueued(id).catch(complain)));
      undo.push(watchRuns({ around, executing, listCancelled }));
      await process.start();
      await hearQueued(null);
    },
    drain: () => draining.abort(),
    async stop(deadline_ms) {
      draining.abort();
      for (const step of undo.splice(0)) step();
      const quiet = Promise.withResolvers<void>();
      onQuiet = quiet.resolve;
      if (executing.size > 0 && !(await endsWithin(clock, deadline_ms, quiet.promise))) {
        for (const run of executing.values()) breakOff(run, "stop");
        await endsWithin(clock, GRACE_MS, quiet.promise);
      }
      await process.stop();
    },
    look: () => ({ executing: executing.size }),
  };
}

/** Claims for as long as somebody waits and a place is free; one claim at a time. */
function createPump(
  { clock, log }: Around,
  places: Places,
  draining: AbortSignal,
  claim: (turns: readonly Turn[]) => Promise<readonly RunRow[]>,
) {
  let isClaiming = false;
  const pump = () => {
    if (isClaiming || draining.aborted) return;
    const turns = places.plan();
    if (turns.length === 0) return;
    isClaiming = true;
    const goOn = () => {
      isClaiming = false;
      pump();
    };
    claim(turns).then(
      (rows) => {
        const claimed = new Map<string, number>();
        for (const { account_id } of rows) {
          claimed.set(account_id, (claimed.get(account_id) ?? 0) + 1);
        }
        places.settle(turns, claimed);
        goOn();
      },
      (error) => {
        log.error("runs could not be claimed", { error });
        clock.after(CLAIM_AGAIN_MS, goOn);
      },
    );
  };
  return pump;
}

/** Executes one run that was claimed; it never throws. */
function createPerformance(
  { around, store, findTool }: EngineOptions,
  places: Places,
  draining: AbortSignal,
  pump: () => void,
) {
  const { clock, ids, log } = around;
  const findVersion = createVersions(store);
  /** Gives the place away while nothing is done, and comes back for it. */
  const park = async (wait_ms: number, signal: AbortSignal) => {
    const ended = AbortSignal.any([signal, draining]);
    places.give();
    pump();
    await wait(clock, wait_ms, ended);
    await places.comeBack(ended);
    if (signal.aborted) return "broken";
    return draining.aborted ? "stopped" : "on";
  };
  return async ({ row, controller }: Executing): Promise<void> => {
    const { signal } = controller;
    const left_ms = leftMs(row, row.worked_ms);
    const cancelTime =
      left_ms === null ? null : clock.after(Math.max(0, left_ms), () => controller.abort("time"));
    try {
      const version = await findVersion(row);
      const loaded = { row, version, ...(beginLog(row) ?? (await store.load(row))) };
      const state = restoreState(loaded, createFence(ids.token(16)));
      await execute({
        ...{ around, findTool, findOutput: store.findOutput, state },
        journal: createJournal(around, store, state),
        leash: { signal, park: (wait_ms) => park(wait_ms, signal) },
        isDraining: () => draining.aborted,
      });
    } catch (error) {
      // Its run is still ours, and executed by nobody: the next sign of life puts it back.
      log.error("a run failed on our side", { run_id: row.id, error });
    } finally {
      cancelTime?.();
    }
  };
}
