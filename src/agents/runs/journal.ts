// What an execution writes of its run: progress, steps and messages, and the state behind them.

import { type Bound, retryUnavailable } from "../../platform/database/index.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Around } from "../around.ts";
import type { NewMessage } from "../threads/thread.ts";
import type { Run, RunRow } from "./run.ts";
import { applyStep, hear, type RunState } from "./state.ts";
import type { FinalStatus } from "./states.ts";
import type { NewStep, StepRow, SystemData, ToolCallData } from "./step.ts";
import { countApprovalIds } from "./store/closing.ts";
import type { runStore } from "./store/index.ts";
import type { Intent } from "./store/intent.ts";
import type { Progress, Record, WrittenStep } from "./store/record.ts";
import type { Request } from "./store/waiting.ts";

/** What one transaction adds; `progress` is where the run stands behind it. */
export interface Addition {
  progress: RunRow;
  steps?: readonly NewStep[];
  messages?: readonly NewMessage[];
  outputs?: Record["outputs"];
  effects?: Record["effects"];
  summary?: Record["summary"];
}

/** How a run ends. */
export interface End {
  status: FinalStatus;
  error: Run["error"];
}

export type RunStore = Bound<typeof runStore>;

/** The process has lost the run: another has it, and this one must do nothing more for it. */
export class Lost extends Error {}

export function createJournal(
  { clock, ids }: Pick<Around, "clock" | "ids">,
  store: RunStore,
  state: RunState,
) {
  const { epoch, worked_ms: worked_before_ms } = state.row;
  const begun_at = clock.monotonic();
  const countWorked = () => Math.round(worked_before_ms + clock.monotonic() - begun_at);

  const retry = <T>(work: (isAgain: boolean) => Promise<T>) => retryUnavailable(clock, work);
  /** What was received is kept here, and written again until it is stored. */
  const keep = <T>(written: Record, store: (written: Record) => Promise<T>) =>
    retry((is_again) => store(is_again ? { ...written, is_again } : written));
  const write = (given: Addition): Record => ({
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
    { progress, steps = [] }: Addition,
    { messages, progress: written }: Record,
    recorded: Awaited<ReturnType<RunStore["note"]>>,
  ) => {
    if (!recorded) throw new Lost();
    const { last_seq, message_seq, cancel_requested } = recorded;
    const { worked_ms } = written;
    state.row = { ...progress, worked_ms, last_seq, message_seq, cancel_requested };
    const before = last_seq - steps.length;
    for (const [index, { kind, data }] of steps.entries()) {
      applyStep(state, { seq: before + index + 1, kind, data: data as StepRow["data"] });
    }
    for (const message of messages) hear(state, message);
  };
  return {
    countWorked,
    async plan(given: Addition, requests: readonly Request[]): Promise<void> {
      const written = write(given);
      follow(given, written, await keep(written, (one) => store.plan(one, requests)));
    },
    async settle(given: Addition, requests: readonly Request[] = []): Promise<void> {
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
      if (intent.came === "lost") throw new Lost();
      if (intent.came === "written") follow(given, written, intent.recorded);
      if (intent.came === "cancelled") state.row = { ...state.row, cancel_requested: true };
      return intent;
    },
    async note(given: Addition): Promise<void> {
      const written = write(given);
      follow(given, written, await keep(written, store.note));
    },
    async finish(given: Addition, { status, error }: End): Promise<void> {
      const fresh = Array.from(
        { length: countApprovalIds(given.progress.pending_approvals.length) },
        ids.uuid,
      );
      const [event_id, ...others] = fresh;
      const ending = { status, error, event_id: event_id!, fresh: others };
      if (!(await keep(write(given), (one) => store.finish(one, ending)))) throw new Lost();
    },
    /** False: the run was asked to stop, or all was decided, before it could wait. */
    async wait(): Promise<boolean> {
      const came = await retry(() => store.wait(state.row.id, epoch, countWorked()));
      if (came === "lost") throw new Lost();
      if (came === "decided") await retry(() => takeLastDecisions(store, state));
      if (came === "cancelled") state.row = { ...state.row, cancel_requested: true };
      return came === "waits";
    },
    takeDecisions: () => retry(() => takeDecisions(store, state)),
    release: () => retry(() => store.release(epoch, state.row.id, countWorked())),
  };
}
export type Journal = ReturnType<typeof createJournal>;

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

function writeStep({ id, round, kind, data }: NewStep): WrittenStep {
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
export function tell(
  ids: Pick<Ids, "uuid">,
  round: number,
  event: SystemData["event"],
  message: string,
  detail?: unknown,
): NewStep {
  const data = detail === undefined ? { event, message } : { event, message, detail };
  return { id: ids.uuid(), kind: "system", round, data };
}
