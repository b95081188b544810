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
/** No timer of the machine is longer; what works for weeks is looked at before each round. */
const TIMER_MS_MAX = 2_147_483_647;

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
  /** Asked to stop while a claim was under way: it may be one of those that come. */
  const cancelled = new Set<string>();
  const draining = new AbortController();
  const places = createPlaces(() => around.settings().limits.concurrent_runs);
  const undo: (() => void)[] = [];
  let onQuiet: (() => void) | null = null;

  const process = createProcess({
    ...{ around, store },
    isExecuting: (id) => executing.has(id),
    onLost() {
      for (const run of executing.values()) breakOff(run, "lost");
    },
    onSign: () => pump.look(),
  });
  const perform = createPerformance(options, places, draining.signal, () => pump.look());
  const isQuiet = () => executing.size === 0 && !pump.isClaiming();
  const tellQuiet = () => {
    if (isQuiet()) onQuiet?.();
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
    onClaimed: () => tellQuiet(),
  });
  /** null: of any account something may wait. */
  const hearQueued = async (account_id: string | null) => {
    const accounts = account_id === null ? await store.listWaiting() : [account_id];
    for (const one of accounts) places.tell(one);
    pump.look();
  };
  const complain = (error: unknown) => log.error("waiting runs could not be listed", { error });

  return {
    name: "engine",
    async start() {
      undo.push(
        database.listen("runs.queued", (id) => void hearQueued(id).catch(complain)),
        watchRuns({
          ...{ around, executing },
          listCancelled: () => store.listCancelled(process.epoch),
          onOther: (id) => pump.isClaiming() && cancelled.add(id),
        }),
      );
      await process.start();
      await hearQueued(null);
    },
    drain: () => draining.abort(),
    async stop(deadline_ms) {
      draining.abort();
      for (const step of undo.splice(0)) step();
      const quiet = Promise.withResolvers<void>();
      onQuiet = quiet.resolve;
      if (!isQuiet() && !(await endsWithin(clock, deadline_ms, quiet.promise))) {
        for (const run of executing.values()) breakOff(run, "stop");
        await endsWithin(clock, GRACE_MS, quiet.promise);
      }
      await process.stop();
    },
    look: () => ({ executing: executing.size }),
  };
}

interface PumpOptions {
  places: Places;
  claim(turns: readonly Turn[]): Promise<readonly RunRow[]>;
  isDraining(): boolean;
  /** A claim has ended, whatever came of it. */
  onClaimed(): void;
}

interface Pump {
  /** Claims for as long as somebody waits and a place is free; one claim at a time. */
  look(): void;
  isClaiming(): boolean;
}

function createPump(
  { clock, log }: Pick<Around, "clock" | "log">,
  { places, claim, isDraining, onClaimed }: PumpOptions,
): Pump {
  let isClaiming = false;
  let isResting = false;
  const rest = () => {
    isResting = true;
    clock.after(CLAIM_AGAIN_MS, () => {
      isResting = false;
      look();
    });
  };
  const claimOnce = async (turns: readonly Turn[]) => {
    try {
      const claimed = new Map<string, number>();
      for (const { account_id } of await claim(turns)) {
        claimed.set(account_id, (claimed.get(account_id) ?? 0) + 1);
      }
      places.settle(turns, claimed);
    } catch (error) {
      log.error("runs could not be claimed", { error });
      rest();
    }
    isClaiming = false;
    onClaimed();
    look();
  };
  const look = () => {
    if (isClaiming || isResting || isDraining()) return;
    const turns = places.plan();
    if (turns.length === 0) return;
    isClaiming = true;
    void claimOnce(turns);
  };
  return { look, isClaiming: () => isClaiming };
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
      left_ms === null || left_ms > TIMER_MS_MAX
        ? null
        : clock.after(Math.max(0, left_ms), () => controller.abort("time"));
    try {
      const version = await findVersion(row);
      const loaded = { row, version, ...(beginLog(row) ?? (await store.load(row))) };
      const state = restoreState(loaded, createFence(ids.token(16)));
      await execute({
        ...{ around, findTool, findOutput: store.findOutput, state },
        journal: createJournal(around, store, state),
        leash: { signal, park: (wait_ms: number) => park(wait_ms, signal) },
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
