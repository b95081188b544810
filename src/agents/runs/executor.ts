// Executes one run that was claimed: restored, leashed to its time and to what breaks it off.

import { DatabaseUnusable, retryUnavailable } from "../../database/index.ts";
import { wait } from "../../platform/clock.ts";
import type { FindVersion } from "../definitions/versions.ts";
import type { AgentsDeps } from "../deps.ts";
import { createFence } from "../tools/fence.ts";
import type { OpenToolset } from "../tools/toolsets.ts";
import { remainingMs } from "./budget.ts";
import type { ActiveRun } from "./cancellation.ts";
import type { RunSlots } from "./concurrency.ts";
import type { RunContext } from "./run-context.ts";
import { createRunLog, type RunStore } from "./run-log.ts";
import { runLoop } from "./run-loop.ts";
import { beginLog, restoreState } from "./state.ts";

/** No timer of the machine is longer; what works for weeks is looked at before each round. */
const TIMER_MS_MAX = 2_147_483_647;

export interface ExecutorOptions extends Pick<RunContext, "findCaller"> {
  deps: AgentsDeps;
  store: RunStore;
  findVersion: FindVersion;
  openToolset: OpenToolset;
  places: RunSlots;
  draining: AbortSignal;
  /** A place was given away. */
  onPlace(): void;
}

/** It never throws; `failed`: a bug of ours let the run fall. */
export function createExecutor(options: ExecutorOptions) {
  const { deps, store, findVersion, openToolset, findCaller, places, draining, onPlace } = options;
  const { clock, ids, log } = deps;
  /** Gives the place away while nothing is done, and comes back for it. */
  const park = async (wait_ms: number, signal: AbortSignal) => {
    const ended = AbortSignal.any([signal, draining]);
    places.give();
    onPlace();
    await wait(clock, wait_ms, ended);
    await places.comeBack(ended);
    if (signal.aborted) return "broken";
    return draining.aborted ? "stopped" : "on";
  };
  /** A look that fails is repeated: results that were received meanwhile go down with the run. */
  const patient =
    <A extends unknown[], R>(look: (...args: A) => Promise<R>) =>
    (...args: A) =>
      retryUnavailable(clock, () => look(...args));
  return async ({ row, controller }: ActiveRun): Promise<"done" | "failed"> => {
    const { signal } = controller;
    const left_ms = remainingMs(row, row.worked_ms);
    const cancelTime =
      left_ms === null || left_ms > TIMER_MS_MAX
        ? null
        : clock.after(Math.max(0, left_ms), () => controller.abort("time"));
    try {
      const version = await patient(findVersion)(row.agent_id, row.version);
      if (!version) throw new Error("the version of a run is missing");
      const toolset = await patient(openToolset)(row.account_id, version);
      const loaded = { row, version, ...(beginLog(row) ?? (await patient(store.load)(row))) };
      const state = restoreState(loaded, createFence(ids.token(16)));
      await runLoop({
        ...{ deps, state, findTool: toolset.find },
        ...{ findCaller: patient(findCaller), findOutput: patient(store.findOutput) },
        refreshTools: toolset.refresh && patient(toolset.refresh),
        runLog: createRunLog(deps, store, state),
        control: { signal, park: (wait_ms: number) => park(wait_ms, signal) },
        isDraining: () => draining.aborted,
      });
      return "done";
    } catch (error) {
      // Its run is still ours, and executed by nobody: the next sign of life puts it back.
      log.error("a run failed on our side", { run_id: row.id, error });
      return error instanceof DatabaseUnusable ? "done" : "failed";
    } finally {
      cancelTime?.();
    }
  };
}
