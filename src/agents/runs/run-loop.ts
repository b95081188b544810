// Executes one run: restores it from its log, then repeats model rounds and calls. The loop stops
// when the run ends, waits for a person, or is released.
import { retryUnavailable } from "../../database/index.ts";
import type { FindVersion } from "../definitions/version-cache.ts";
import type { AgentsDeps } from "../deps.ts";
import { createFence } from "../tools/fence.ts";
import type { OpenToolset } from "../tools/toolsets.ts";
import { checkBudgets, checkTime } from "./budget.ts";
import { runCalls } from "./calls/round.ts";
import { fetchImages, listMissing, loadImages } from "./images.ts";
import { runModelRound } from "./model-round.ts";
import { openRecordedRun } from "./recorded-run.ts";
import type { RunRow } from "./run.ts";
import {
  CANCELLED,
  failure,
  type InterruptReason,
  KEY_ENDED,
  RunContext,
  type RunContextOptions,
  type RunControl,
  RunLost,
  type StepResult,
} from "./run-context.ts";
import { newThreadLog, restoreState } from "./state.ts";
import type { RunStore } from "./store/index.ts";

const INVALID_ROUNDS_MAX = 3;

export interface ExecutionOptions extends Pick<RunContextOptions, "findCaller" | "modelStates"> {
  deps: AgentsDeps;
  store: RunStore;
  findVersion: FindVersion;
  openToolset: OpenToolset;
}

export async function executeRun(
  { deps, store, findVersion, openToolset, findCaller, modelStates }: ExecutionOptions,
  row: RunRow,
  control: RunControl,
): Promise<void> {
  const retry = <T>(read: () => Promise<T>) => retryUnavailable(deps.clock, read);
  const version = await retry(() => findVersion(row.agent_id, row.version));
  if (!version) throw new Error("the version of a run is missing");
  const toolset = await retry(() => openToolset(row.account_id, version));
  const log = newThreadLog(row) ?? (await retry(() => store.load(row)));
  const images = await retry(() => loadImages(store, row, log.messages));
  const recorded = await retry(() => openRecordedRun(store, row, log.steps));
  const state = restoreState({ row, version, ...log, images }, createFence(deps.ids.token(16)));
  const options = { deps, store, state, control, toolset, recorded, findCaller, modelStates };
  await runLoop(new RunContext(options));
}

async function runLoop(context: RunContext): Promise<void> {
  try {
    let result: StepResult = "next";
    while (result === "next") result = await runStep(context);
    if (result === "interrupted") await endInterrupted(context);
  } catch (error) {
    if (!(error instanceof RunLost)) throw error;
  }
}

async function runStep(context: RunContext): Promise<StepResult> {
  const { state, control } = context;
  // agents.states.running_cancel: at its next step.
  if (state.row.cancel_requested) return context.finish(CANCELLED);
  if (control.signal.aborted) return "interrupted";
  if (listMissing(state.row, state.images).length > 0) return fetchImages(context);
  if (state.openCalls.length > 0) return runCalls(context);
  if (state.invalidRounds >= INVALID_ROUNDS_MAX) {
    const message = `The model wrote invalid arguments in ${INVALID_ROUNDS_MAX} rounds in a row.`;
    return context.finish(failure("invalid_arguments", message));
  }
  // agents.does.cost.3: a summary is part of the round that it is made for.
  const exceeded = state.isCompacted ? null : checkBudgets(state.row, context.workedMs);
  if (exceeded) return context.finishOverBudget(exceeded);
  if (control.draining().aborted) return context.release();
  return runModelRound(context);
}

async function endInterrupted(context: RunContext): Promise<unknown> {
  switch (context.control.signal.reason as InterruptReason) {
    case "cancel":
      return context.finish(CANCELLED);
    case "time":
      return context.finishOverBudget(checkTime(context.state.row));
    case "key":
      return context.finish(KEY_ENDED);
    case "stop":
      return context.release();
    case "epoch_lost":
      return;
  }
}
