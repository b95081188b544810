// The engine: claims runs that wait, executes so many at once, and drains at a stop.
import { endsWithin } from "../../platform/clock.ts";
import type { Service } from "../../platform/service.ts";
import type { FindVersion } from "../definitions/versions.ts";
import type { AgentsDeps } from "../deps.ts";
import type { OpenToolset } from "../tools/toolsets.ts";
import { createActiveRuns } from "./active-runs.ts";
import { createCallerCache } from "./caller-cache.ts";
import { watchCancellations } from "./cancellation.ts";
import { createClaimLoop } from "./claim-loop.ts";
import { createRunSlots } from "./concurrency.ts";
import { createExecutor } from "./executor.ts";
import { createRecovery } from "./recovery.ts";
import type { RunStore } from "./run-log.ts";
import type { ClaimQuota } from "./store/claim.ts";
import { createSuspects } from "./suspects.ts";

/** What was broken off has this long to say so. */
const GRACE_MS = 1_000;

export interface RunEngineOptions {
  deps: AgentsDeps;
  store: RunStore;
  findVersion: FindVersion;
  openToolset: OpenToolset;
}

export interface RunEngine extends Service {
  /** No further round begins: what runs is let go between two rounds, and goes on at a start. */
  drain(): void;
  look(): { executing: number };
}

export function createRunEngine(options: RunEngineOptions): RunEngine {
  const { deps, store } = options;
  const { clock, database, log, process } = deps;
  const draining = new AbortController();
  const isDraining = () => draining.signal.aborted;
  const places = createRunSlots(() => deps.settings().limits.concurrent_runs);
  const undo: (() => void)[] = [];
  const quiet = Promise.withResolvers<void>();
  const callers = createCallerCache(deps);
  const perform = createExecutor({
    ...{ ...options, places, findCaller: callers.find, draining: draining.signal },
    onPlace: () => pump.look(),
  });
  const onOver = () => {
    tellQuiet();
    pump.look();
  };
  const { begin, breakAll, executing, cancelled, hasFailed } = createActiveRuns({
    ...{ deps, places, perform, onOver },
  });
  process.join({
    reclaim: createRecovery({ deps, store, isExecuting: (id) => executing.has(id), hasFailed }),
    onEpochLost: () => breakAll("lost"),
    onHeartbeat: () => {
      pump.look();
      suspects.look();
    },
  });
  const isClaiming = () => pump.isClaiming() || suspects.isClaiming();
  const tellQuiet = () => {
    if (isDraining() && executing.size === 0 && !isClaiming()) quiet.resolve();
  };
  const claim = async (turns: readonly ClaimQuota[]) => {
    if (!suspects.isClaiming()) cancelled.clear();
    const rows = await store.claim(process.epoch, turns, clock.now());
    for (const row of rows) begin(row);
    return rows;
  };
  const pump = createClaimLoop(deps, { places, claim, isDraining, onClaimed: tellQuiet });
  const suspects = createSuspects({ deps, store, begin, isDraining, onClaimed: tellQuiet });
  const hearQueued = async (account_id: string | null) => {
    for (const one of await listWaiting(store, account_id)) places.tell(one);
    pump.look();
  };
  const complain = (error: unknown) => log.error("waiting runs could not be listed", { error });

  return {
    name: "engine",
    async start() {
      undo.push(
        ...[callers.leave, suspects.leave],
        database.listen("runs.queued", (id) => void hearQueued(id).catch(complain)),
        watchCancellations({
          ...{ deps, executing },
          listCancelled: () => store.listCancelled(process.epoch),
          onOther: (id) => isClaiming() && cancelled.add(id),
        }),
      );
      await hearQueued(null);
      suspects.look();
    },
    drain: () => draining.abort(),
    async stop(deadline_ms) {
      draining.abort();
      for (const step of undo.splice(0)) step();
      tellQuiet();
      if (!(await endsWithin(clock, deadline_ms, quiet.promise))) {
        breakAll("stop");
        await endsWithin(clock, GRACE_MS, quiet.promise);
      }
    },
    look: () => ({ executing: executing.size }),
  };
}

/** Accounts of which a run may wait; `account_id` of null: nobody knows of which. */
async function listWaiting(store: RunStore, account_id: string | null): Promise<string[]> {
  return account_id === null ? store.listWaiting() : [account_id];
}
