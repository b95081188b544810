// What an execution writes of its run: progress, steps and messages, and the state behind them.

import { type Bound, retryUnavailable } from "../../database/index.ts";
import type { Ids } from "../../platform/ids.ts";
import type { AgentsDeps } from "../deps.ts";
import type { NewMessage } from "../threads/thread.ts";
import type { Run, RunRow } from "./run.ts";
import { applyMessage, applyStep, type RunState } from "./state.ts";
import type { NewStep, StepRow, SystemData, ToolCallData } from "./step.ts";
import { countApprovalIds } from "./store/close.ts";
import type { runStore } from "./store/index.ts";
import type { Intent } from "./store/intent.ts";
import type { EncodedStep, Progress, RunRecord } from "./store/record.ts";
import type { ApprovalRequest } from "./store/wait.ts";
import type { FinalStatus } from "./transitions.ts";

/** What one transaction adds; `progress` is where the run stands behind it. */
export interface RunLogEntry {
  progress: RunRow;
  steps?: readonly NewStep[];
  messages?: readonly NewMessage[];
  outputs?: RunRecord["outputs"];
  effects?: RunRecord["effects"];
  summary?: RunRecord["summary"];
}

/** How a run ends. */
export interface FinalState {
  status: FinalStatus;
  error: Run["error"];
}

export type RunStore = Bound<typeof runStore>;

/** The process has lost the run: another has it, and this one must do nothing more for it. */
export class RunLost extends Error {}

export function createRunLog(
  { clock, ids }: Pick<AgentsDeps, "clock" | "ids">,
  store: RunStore,
  state: RunState,
) {
  const { epoch, worked_ms: worked_before_ms } = state.row;
  const begun_at = clock.monotonic();
  const countWorked = () => Math.round(worked_before_ms + clock.monotonic() - begun_at);

  const retry = <T>(work: (isAgain: boolean) => Promise<T>) => retryUnavailable(clock, work);
  /** What was received is kept here, and written again until it is stored. */
  const keep = <T>(written: RunRecord, store: (written: RunRecord) => Promise<T>) =>
    retry((is_again) => store(is_again ? { ...written, is_again } : written));
  const write = (given: RunLogEntry): RunRecord => ({
    run_id: state.row.id,
    epoch,
    at: clock.now(),
    progress: takeProgress(given.progress, countWorked()),
    steps: (given.steps ?? []).map(writeStep),
    messages: given.messages ?? [],
    outputs: given.outputs ?? [],
    effects: given.effects ?? [],
    summary: given.summary ?? null,
  });
  /** What was written is what the run is from now on. */
  const follow = (
    { progress, steps = [] }: RunLogEntry,
    { messages, progress: written }: RunRecord,
    recorded: Awaited<ReturnType<RunStore["note"]>>,
  ) => {
    if (!recorded) throw new RunLost();
    const { last_seq, message_seq, cancel_requested } = recorded;
    const { worked_ms } = written;
    state.row = { ...progress, worked_ms, last_seq, message_seq, cancel_requested };
    const before = last_seq - steps.length;
    for (const [index, { kind, data }] of steps.entries()) {
      applyStep(state, { seq: before + index + 1, kind, data: data as StepRow["data"] });
    }
    for (const message of messages) applyMessage(state, message);
  };
  return {
    countWorked,
    async plan(given: RunLogEntry, requests: readonly ApprovalRequest[]): Promise<void> {
      const written = write(given);
      follow(given, written, await keep(written, (one) => store.plan(one, requests)));
    },
    async settle(given: RunLogEntry, requests: readonly ApprovalRequest[] = []): Promise<void> {
      const written = write(given);
      follow(given, written, await keep(written, (one) => store.settle(one, requests)));
    },
    /** Before calls are sent: once this is written, nobody believes that they were not. */
    async intend(calls: readonly ToolCallData[]): Promise<Intent> {
      const { row } = state;
      const steps = calls.map((data): NewStep => {
        return { id: ids.uuid(), round: row.usage.rounds, kind: "tool_call", data };
      });
      const given = { progress: row, steps };
      const written = write(given);
      const tools = [...new Set(calls.map(({ name }) => name))];
      const intent = await keep(written, (one) => store.intend(one, row.account_id, tools));
      if (intent.came === "lost") throw new RunLost();
      if (intent.came === "written") follow(given, written, intent.recorded);
      if (intent.came === "cancelled") state.row = { ...state.row, cancel_requested: true };
      return intent;
    },
    async note(given: RunLogEntry): Promise<void> {
      const written = write(given);
      follow(given, written, await keep(written, store.note));
    },
    async finish(given: RunLogEntry, { status, error }: FinalState): Promise<void> {
      const fresh = Array.from(
        { length: countApprovalIds(given.progress.pending_approvals.length) },
        ids.uuid,
      );
      const [event_id, ...others] = fresh;
      const ending = { status, error, event_id: event_id!, fresh: others };
      if (!(await keep(write(given), (one) => store.finish(one, ending)))) throw new RunLost();
    },
    /** False: the run was asked to stop, or all was decided, before it could wait. */
    async wait(): Promise<boolean> {
      const came = await retry(() => store.wait(state.row.id, epoch, countWorked()));
      if (came === "lost") throw new RunLost();
      if (came === "decided") await retry(() => takeLastDecisions(store, state));
      if (came === "cancelled") state.row = { ...state.row, cancel_requested: true };
      return came === "waits";
    },
    takeDecisions: () => retry(() => takeDecisions(store, state)),
    release: () => retry(() => store.release(epoch, state.row.id, countWorked())),
  };
}
export type RunLog = ReturnType<typeof createRunLog>;

/** Of a run that waits for nobody any more. */
async function takeLastDecisions(store: RunStore, state: RunState): Promise<void> {
  await takeDecisions(store, state);
  if (state.open.every(({ standing }) => standing === "asks")) {
    throw new Error("a run waits for approvals that nobody knows of");
  }
}

/** What people decided while the run worked on other calls of its round. */
async function takeDecisions(store: RunStore, state: RunState): Promise<void> {
  const { id, usage } = state.row;
  for (const step of await store.listDecisions(id, usage.rounds)) applyStep(state, step);
  const asking = state.open.filter(({ standing }) => standing === "asks");
  const pending_approvals = asking.flatMap(({ call }) => call.approval_id ?? []);
  state.row = { ...state.row, pending_approvals };
}

function writeStep({ id, round, kind, data }: NewStep): EncodedStep {
  return { id, round, kind, data: JSON.stringify(data) };
}

/** Of a row, what its process may write: the rest need not travel. */
function takeProgress(row: RunRow, worked_ms: number): Progress {
  const { model, tools, total } = row.cost;
  const { usage, priced, output, external_content } = row;
  const cost = { model, tools, total };
  return { cost, usage, priced, worked_ms, output, external_content };
}

/** A step about the run itself. */
export function systemStep(
  ids: Pick<Ids, "uuid">,
  round: number,
  event: SystemData["event"],
  message: string,
  detail?: unknown,
): NewStep {
  const data = detail === undefined ? { event, message } : { event, message, detail };
  return { id: ids.uuid(), kind: "system", round, data };
}
