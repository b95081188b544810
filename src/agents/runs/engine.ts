// The engine: claims runs that wait, executes so many at once, hears of cancels, drains at a stop.
import { type Cancel, endsWithin, wait } from "../../platform/clock.ts";
import type { Service } from "../../platform/service.ts";
import type { Around } from "../around.ts";
import type { VersionRow } from "../definitions/version.ts";
import { createFence } from "../tools/fence.ts";
import type { Break, Leash } from "./asking.ts";
import { leftMs } from "./budget.ts";
import { execute } from "./execution.ts";
import { createJournal, type RunStore } from "./journal.ts";
import { createPlaces } from "./places.ts";
import type { FindTool } from "./planning.ts";
import { createProcess } from "./process.ts";
import type { RunRow } from "./run.ts";
import { type RunState, restoreState } from "./state.ts";

/** Versions never change: those in use are kept. */
const VERSIONS_MAX = 1_000;
/** agents.authentication.1: a key that ended is noticed so soon, also in the middle of a round. */
const KEYS_LOOKED_AT_EVERY_MS = 5_000;
/** A claim that failed is tried again. */
const CLAIM_AGAIN_MS = 1_000;
/** What was broken off has this long to say so. */
const GRACE_MS = 1_000;

export interface EngineOptions {
  around: Around;
  store: RunStore;
  findTool: FindTool;
}

/** A run that is executed here. */
interface Executing {
  row: RunRow;
  controller: AbortController;
}

export interface Engine extends Service {
  /** No further round begins; what runs ends, or is let go between two rounds. */
  drain(): void;
  look(): { executing: number };
}

export function createEngine({ around, store, findTool }: EngineOptions): Engine {
  const { clock, database, ids, log } = around;
  const executing = new Map<string, Executing>();
  const places = createPlaces(() => around.settings().limits.concurrent_runs);
  const versions = new Map<string, VersionRow>();
  const undo: (() => void)[] = [];
  let cancelKeyLook: Cancel | null = null;
  let isStarted = false;
  let isDraining = false;
  let isClaiming = false;
  let onQuiet: (() => void) | null = null;

  const breakOff = (run: Executing, why: Break) => run.controller.abort(why);
  const process = createProcess({
    around,
    store,
    isExecuting: (id) => executing.has(id),
    onLost() {
      for (const run of executing.values()) breakOff(run, "lost");
    },
  });

  const pump = () => {
    if (!isStarted || isDraining || isClaiming) return;
    const turns = places.plan();
    if (turns.length === 0) return;
    isClaiming = true;
    store.claim(process.epoch, turns, clock.now()).then(
      (rows) => {
        isClaiming = false;
        const claimed = new Map<string, number>();
        for (const row of rows) {
          claimed.set(row.account_id, (claimed.get(row.account_id) ?? 0) + 1);
          begin(row);
        }
        places.settle(turns, claimed);
        pump();
      },
      (error) => {
        log.error("runs could not be claimed", { error });
        clock.after(CLAIM_AGAIN_MS, () => {
          isClaiming = false;
          pump();
        });
      },
    );
  };

  const findVersion = async ({ agent_id, version }: RunRow): Promise<VersionRow> => {
    const name = `${agent_id} ${version}`;
    const known = versions.get(name);
    if (known) return known;
    const found = await store.findVersion(agent_id, version);
    if (!found) throw new Error("the version of a run is missing");
    if (versions.size >= VERSIONS_MAX) versions.clear();
    versions.set(name, found);
    return found;
  };
  const load = async (row: RunRow): Promise<RunState> => {
    const [version, log] = [await findVersion(row), await store.load(row)];
    return restoreState({ row, version, ...log }, createFence(ids.token(16)));
  };
  /** Gives the place away while nothing is done, and comes back for it. */
  const park = async (wait_ms: number, signal: AbortSignal): Promise<boolean> => {
    places.give();
    pump();
    const isOver = await wait(clock, wait_ms, signal);
    await new Promise<void>((resolve) => {
      places.queue(resolve);
      // A stop claims nobody any more: whoever is to be let go needs no place for that.
      if (isDraining || signal.aborted) places.plan();
      pump();
      if (isDraining) resolve();
    });
    return isOver && !signal.aborted;
  };

  const begin = (row: RunRow) => {
    places.take();
    const run: Executing = { row, controller: new AbortController() };
    executing.set(row.id, run);
    const { signal } = run.controller;
    const leash: Leash = { signal, park: (wait_ms) => park(wait_ms, signal) };
    const left_ms = leftMs(row, row.worked_ms);
    const cancelTime =
      left_ms === null ? null : clock.after(Math.max(0, left_ms), () => breakOff(run, "time"));
    const work = async () => {
      const state = await load(row);
      const journal = createJournal(around, store, state);
      await execute({
        ...{ around, findTool, findOutput: store.findOutput, state, journal, leash },
        isDraining: () => isDraining,
      });
    };
    work()
      // Its run is still ours, and executed by nobody: the next sign of life puts it back.
      .catch((error) => log.error("a run failed on our side", { run_id: row.id, error }))
      .finally(() => {
        cancelTime?.();
        executing.delete(row.id);
        places.give();
        if (executing.size === 0) onQuiet?.();
        pump();
      });
  };

  const hearQueued = (account_id: string | null) => {
    if (account_id !== null) {
      places.tell(account_id);
      return pump();
    }
    void lookForWaiting();
  };
  const lookForWaiting = async () => {
    try {
      for (const account_id of await store.listWaiting()) places.tell(account_id);
      pump();
    } catch (error) {
      log.error("runs that wait could not be listed", { error });
    }
  };
  const hearCancel = async (run_id: string | null) => {
    const known = run_id === null ? undefined : executing.get(run_id);
    if (known) return breakOff(known, "cancel");
    if (run_id !== null || executing.size === 0) return;
    for (const id of await store.listCancelled(process.epoch)) {
      const run = executing.get(id);
      if (run) breakOff(run, "cancel");
    }
  };
  /** Of each key that something is done for: whether it is still in force. */
  const lookAtKeys = async (key_id: string | null) => {
    const keys = new Map<string, Executing[]>();
    for (const run of executing.values()) {
      const key = run.row.started_by_key_id ?? "";
      if (key_id === null || key === key_id) keys.set(key, [...(keys.get(key) ?? []), run]);
    }
    for (const [key, runs] of keys) {
      if (await around.access.findCaller(key)) continue;
      for (const run of runs) breakOff(run, "key");
    }
  };
  const complain = (error: unknown) => log.error("the engine could not look", { error });
  const planKeyLook = () => {
    cancelKeyLook = clock.after(KEYS_LOOKED_AT_EVERY_MS, () => {
      lookAtKeys(null).catch(complain).finally(planKeyLook);
    });
  };

  return {
    name: "engine",
    async start() {
      undo.push(
        database.listen("runs.queued", hearQueued),
        database.listen("run.cancel", (id) => void hearCancel(id).catch(complain)),
        database.listen("key", (id) => void lookAtKeys(id).catch(complain)),
      );
      await process.start();
      isStarted = true;
      planKeyLook();
      await lookForWaiting();
    },
    drain() {
      isDraining = true;
    },
    async stop(deadline_ms) {
      isDraining = true;
      for (const step of undo.splice(0)) step();
      cancelKeyLook?.();
      const quiet = Promise.withResolvers<void>();
      onQuiet = quiet.resolve;
      const isQuiet = executing.size === 0 || (await endsWithin(clock, deadline_ms, quiet.promise));
      if (!isQuiet) {
        for (const run of executing.values()) breakOff(run, "stop");
        await endsWithin(clock, GRACE_MS, quiet.promise);
      }
      await process.stop();
    },
    look: () => ({ executing: executing.size }),
  };
}
