// One run from where it stands to its end: cancel? → budgets → model → steps → tools, and again.
import type { Caller } from "../../access/index.ts";
import type { RoundAnswer } from "../../gateway/index.ts";
import { show } from "../../platform/shape.ts";
import { Approval } from "../approvals/approval.ts";
import type { SummaryNeed } from "../threads/view.ts";
import { type Asked, askModel, type Break, fail, type Leash } from "./asking.ts";
import { type Exceeded, judgeBudgets, judgeCalls, judgeTime } from "./budget.ts";
import { type Called, type CallingOptions, endCall, runCall } from "./calling.ts";
import { converse } from "./conversation.ts";
import { type Amount, addCost, addPriced, priceRound, writeAmount } from "./cost.ts";
import { type Addition, type End, type Journal, Lost } from "./journal.ts";
import { planReply, writeToolMessage } from "./planning.ts";
import { requestApproval } from "./requesting.ts";
import type { RunRow } from "./run.ts";
import type { RunState } from "./state.ts";
import type { NewStep, ToolCallData } from "./step.ts";

/** So many calls of a round run side by side. */
const CALLS_AT_ONCE = 8;
/** A model that cannot write arguments does not learn it in the fourth round. */
const INVALID_ROUNDS_MAX = 3;
/** A thread that is still too long after so many summaries is left to the model's server. */
const SUMMARIES_A_ROUND_MAX = 4;

/** What became of an execution; `broken`: the reason stands in the signal. */
export type Fate = "ended" | "waiting" | "released" | "broken";

export interface ExecutionOptions extends CallingOptions {
  state: RunState;
  journal: Journal;
  leash: Leash;
  /** true: no further round begins here. */
  isDraining(): boolean;
}

/** Goes on with a run until it ends, waits for a person, or is let go. */
export async function execute(options: ExecutionOptions): Promise<Fate> {
  const { state, journal, leash } = options;
  try {
    for (let summaries = 0; ; ) {
      const fate = await goOn(options, summaries);
      if (fate === "summarised") summaries += 1;
      else summaries = 0;
      if (fate === "broken") {
        const after = await breakOff(options, leash.signal.reason as Break);
        if (after) return after;
      } else if (fate !== "next" && fate !== "summarised") return fate;
    }
  } catch (failure) {
    if (failure instanceof Lost) return "broken";
    throw failure;
  }

  /** What a break means; null: it is looked at again from the start. */
  async function breakOff(around: ExecutionOptions, why: Break): Promise<Fate | null> {
    switch (why) {
      case "cancel":
        return end(around, CANCELLED);
      case "time":
        return exceed(around, judgeTime(state.row));
      case "key":
        return end(around, fail("permission_denied", "The key that started the run has ended."));
      case "stop":
        await journal.release();
        return "released";
      default:
        return "broken";
    }
  }
}

const CANCELLED: End = {
  status: "cancelled",
  error: { code: "cancelled", message: "The run was cancelled." },
};

type Turn = Fate | "next" | "summarised";

async function goOn(options: ExecutionOptions, summaries: number): Promise<Turn> {
  const { state, journal, leash, isDraining } = options;
  // agents.states.running_cancel: at its next step.
  if (state.row.cancel_requested) return end(options, CANCELLED);
  if (leash.signal.aborted) return "broken";
  if (state.open.length > 0) return workCalls(options);
  if (state.invalid_rounds >= INVALID_ROUNDS_MAX) {
    const message = `The model wrote invalid arguments in ${INVALID_ROUNDS_MAX} rounds in a row.`;
    return end(options, fail("invalid_arguments", message));
  }
  const exceeded = judgeBudgets(state.row, journal.countWorked());
  if (exceeded) return exceed(options, exceeded);
  if (isDraining()) {
    await journal.release();
    return "released";
  }
  const { ask, needs_summary } = converse(state, options.around, options.findTool);
  const isSummary = needs_summary !== null && summaries < SUMMARIES_A_ROUND_MAX;
  const asked = await askModel(options, ask);
  if (!isAnswer(asked)) return endAsked(options, asked);
  return isSummary ? summarise(options, needs_summary, asked) : takeReply(options, asked);
}

function isAnswer(asked: Asked): asked is RoundAnswer {
  return typeof asked === "object" && "ok" in asked;
}

async function endAsked(options: ExecutionOptions, asked: Exclude<Asked, RoundAnswer>) {
  if (asked === "broken") return "broken";
  if (asked !== "stopped") return end(options, asked);
  await options.journal.release();
  return "released";
}

/** The next progress: what a reply used, and what it cost. */
function addRound(row: RunRow, reply: RoundAnswer, cost: Amount, rounds: number): RunRow {
  const { usage } = row;
  const prompt_tokens = usage.prompt_tokens + reply.usage.prompt_tokens;
  const completion_tokens = usage.completion_tokens + reply.usage.completion_tokens;
  return {
    ...row,
    cost: { ...row.cost, ...addCost(row.cost, "model", cost) },
    priced: addPriced(row.priced, cost),
    usage: {
      ...usage,
      ...{ prompt_tokens, completion_tokens },
      total_tokens: prompt_tokens + completion_tokens,
      rounds: usage.rounds + rounds,
    },
  };
}

/** agents.does.cost.2: what is used at an unknown price is told of, once for each name. */
function tellUnpriced({ state, journal }: ExecutionOptions, name: string, cost: Amount): NewStep[] {
  if (cost !== null || state.told_unpriced.has(name)) return [];
  const message = `What ${name} cost is not known, and with it the cost of the run.`;
  return [journal.tell("price_missing", message, { name })];
}

async function summarise(
  options: ExecutionOptions,
  need: SummaryNeed,
  reply: RoundAnswer,
): Promise<Turn> {
  const { state, journal } = options;
  const { prices } = state.row.cost;
  const cost = priceRound(prices, state.row.model, reply.usage, reply.usage_estimated);
  const through_seq = state.first_seq + need.to - 1;
  const detail = { through_seq, model: reply.model, usage: reply.usage, cost: writeAmount(cost) };
  await journal.note({
    progress: addRound(state.row, reply, cost, 0),
    steps: [
      journal.tell("compacted", "Older messages were summarised for the model.", detail),
      ...tellUnpriced(options, state.row.model, cost),
    ],
    summary: { through_seq, content: reply.content ?? "" },
  });
  state.summary = { text: reply.content ?? "", until: need.to };
  return "summarised";
}

async function takeReply(options: ExecutionOptions, reply: RoundAnswer): Promise<Turn> {
  const { state, around, journal, findTool } = options;
  const { row } = state;
  const cost = priceRound(row.cost.prices, row.model, reply.usage, reply.usage_estimated);
  const told = tellUnpriced(options, row.model, cost);
  const counted = addRound(row, reply, cost, 1);
  const progress = reply.content ? { ...counted, output: { message: reply.content } } : counted;
  // The round of a step is the one that this reply ends.
  const plan = planReply({ ...state, row: progress }, reply, cost, around.ids, findTool);
  const exceeded = judgeCalls(progress, reply.tool_calls.length);
  const [assistant] = plan.steps as [NewStep];
  const [said] = plan.messages;
  const messages = said ? [said] : [];
  if (exceeded) {
    return exceed(options, exceeded, { progress, steps: [assistant, ...told], messages });
  }
  if (reply.tool_calls.length === 0) {
    const addition = { progress, steps: [assistant, ...told], messages };
    return end(options, { status: "succeeded", error: null }, addition);
  }
  const asking = plan.calls.filter(({ approval_id }) => approval_id !== null);
  const requests = asking.map((call) => requestApproval(options, progress, call));
  await journal.plan(
    {
      progress: {
        ...progress,
        pending_approvals: requests.map(({ approval }) => approval.id),
      },
      steps: [
        ...plan.steps,
        ...told,
        ...requests.map(({ approval }): NewStep => {
          const data = { event: "requested", approval: show(Approval, approval) };
          return { id: around.ids.uuid(), round: progress.usage.rounds, kind: "approval", data };
        }),
      ],
      messages: plan.messages,
    },
    requests,
  );
  return "next";
}

/** Runs what may run by itself; what needs a person then waits for one. */
async function workCalls(options: ExecutionOptions): Promise<Turn> {
  const { state, around, journal, leash } = options;
  const waiting = [...state.open].filter(({ decision }) => decision !== "needs_approval");
  if (waiting.length === 0) {
    await journal.wait();
    return "waiting";
  }
  const caller = await around.access.findCaller(state.row.started_by_key_id ?? "");
  if (!caller) {
    return end(options, fail("permission_denied", "The key that started the run has ended."));
  }
  const running = new Set<Promise<void>>();
  let ready: Called[] = [];
  while (waiting.length > 0 || running.size > 0) {
    while (running.size < CALLS_AT_ONCE && waiting.length > 0) {
      start(waiting.shift()!, caller);
    }
    await Promise.race(running);
    // What was broken off has no result: it is run again, or ends with its run.
    if (leash.signal.aborted) return "broken";
    const done = ready;
    ready = [];
    await journal.settle(addResults(options, done));
  }
  return "next";

  function start(call: ToolCallData, by: Caller): void {
    const work = runCall(options, state, call, by, leash.signal).then((called) => {
      running.delete(work);
      ready.push(called);
    });
    running.add(work);
  }
}

function addResults(options: ExecutionOptions, done: readonly Called[]): Addition {
  const { state, around, journal } = options;
  const { ids } = around;
  let { row } = state;
  const addition: Required<Pick<Addition, "steps" | "messages" | "outputs">> = {
    ...{ steps: [], messages: [], outputs: [] },
  };
  const steps: NewStep[] = [];
  for (const { result, whole, cost, url } of done) {
    const { usage } = row;
    const isNew = result.external && !row.external_content;
    row = {
      ...row,
      cost: { ...row.cost, ...addCost(row.cost, "tools", cost) },
      priced: addPriced(row.priced, cost),
      usage: { ...usage, tool_calls: usage.tool_calls + 1 },
      external_content: row.external_content || result.external,
    };
    steps.push({ id: ids.uuid(), round: usage.rounds, kind: "tool_result", data: result });
    steps.push(...tellUnpriced(options, result.name, cost));
    if (isNew) {
      const { name: tool, tool_call_id } = result;
      const message = `The run has read content from outside, with ${tool}.`;
      steps.push(journal.tell("external_content", message, { tool, tool_call_id, url }));
    }
    addition.messages = [...addition.messages, writeToolMessage(result, ids)];
    if (whole !== null) {
      const output = { tool_call_id: result.tool_call_id, content: whole };
      addition.outputs = [...addition.outputs, output];
    }
  }
  return { ...addition, steps, progress: row };
}

/** A budget is used up: agents.states.running_priced_cost_reaches_max_cost. */
function exceed(
  options: ExecutionOptions,
  { code, message }: Exceeded,
  addition: Addition = { progress: options.state.row },
): Promise<Fate> {
  const { journal } = options;
  const steps = [...(addition.steps ?? []), journal.tell("budget", message, { budget: code })];
  const error = { code, message };
  return end(options, { status: "budget_exceeded", error }, { ...addition, steps });
}

async function end(
  { state, around, journal }: ExecutionOptions,
  ending: End,
  addition: Addition = { progress: state.row },
): Promise<Fate> {
  const { ids } = around;
  const steps = [...(addition.steps ?? [])];
  const messages = [...(addition.messages ?? [])];
  // Every call has an outcome, also that which was never run.
  for (const call of state.open) {
    const { result } = endCall(call, "cancelled", "The run ended before this call was made.");
    const round = state.row.usage.rounds;
    steps.push({ id: ids.uuid(), round, kind: "tool_result", data: result });
    messages.push(writeToolMessage(result, ids));
  }
  await journal.finish({ ...addition, steps, messages }, ending);
  return "ended";
}
