// What becomes of calls that have ended: results, marks and messages in one record.
import type { NewMessage } from "../../threads/thread.ts";
import { hasHung } from "../hung-call.ts";
import type { RunContext, StepResult } from "../run-context.ts";
import { systemStep } from "../run-log.ts";
import type { NewStep, ToolCallData } from "../step.ts";
import type { ApprovalRequest } from "../store/wait.ts";
import { addCall, createTelling } from "../usage.ts";
import { type FinishedCall, writeHung, writeUnseen } from "./invocation.ts";
import type { OpenCall } from "./open-calls.ts";
import { writeToolMessage } from "./result.ts";
import { describeUnknown, mayRepeat } from "./unknown-outcome.ts";

/** Writes what has ended; the calls that are to be sent again by themselves. */
export async function settleCalls(
  context: RunContext,
  done: readonly FinishedCall[],
): Promise<ToolCallData[]> {
  const isRepeated = (called: FinishedCall) =>
    isUnknown(called) &&
    !called.is_off &&
    !hasHung(context.state, called.call.tool_call_id) &&
    mayRepeat(called.call, context.findTool(called.call.name));
  const ended = done.filter((called) => !isRepeated(called));
  if (ended.length > 0) await writeEnded(context, ended);
  return done.filter(isRepeated).map(({ call }) => call);
}

/** What a process that is gone had sent: as if it had ended here, and nobody had seen how. */
export async function settleAdrift(
  context: RunContext,
  adrift: readonly OpenCall[],
): Promise<StepResult> {
  const { state } = context;
  const repeated = await settleCalls(
    context,
    adrift.map(({ call }) => writeUnseen(call)),
  );
  state.open = state.open.map((one) =>
    repeated.includes(one.call) ? { call: one.call, standing: "ready", decided: null } : one,
  );
  return "next";
}

/** Calls in which the process hung repeatedly. */
export async function settleHung(
  context: RunContext,
  hung: readonly OpenCall[],
): Promise<StepResult> {
  await settleCalls(
    context,
    hung.map(({ call }) => writeHung(call)),
  );
  return "next";
}

async function writeEnded(context: RunContext, ended: readonly FinishedCall[]): Promise<void> {
  const { ids } = context.deps;
  const { rounds: round } = context.state.row.usage;
  const tellUnpriced = createTelling(context);
  const steps: NewStep[] = [];
  const messages: NewMessage[] = [];
  const requests: ApprovalRequest[] = [];
  let progress = context.state.row;
  for (const called of ended) {
    const { result, cost, url } = called;
    if (isUnknown(called)) {
      const told = describeUnknown(context, progress, called);
      progress = told.progress;
      steps.push(...told.steps);
      messages.push(...told.messages);
      requests.push(...told.requests);
      continue;
    }
    const { name: tool, tool_call_id, external } = result;
    const isFirst = external && !progress.external_content;
    // What was switched off was not called.
    if (!called.is_off) progress = addCall(progress, cost, external);
    steps.push({ id: ids.uuid(), round, kind: "tool_result", data: result });
    messages.push(writeToolMessage(result, ids.uuid()));
    steps.push(...tellUnpriced(round, tool, cost));
    // The first sets the run's mark; of others it is told where they came from.
    if (isFirst || url !== null) {
      const message = `The run has read content from outside, with ${tool}.`;
      const detail = { tool, tool_call_id, url };
      steps.push(systemStep(ids, round, "external_content", message, detail));
    }
  }
  // Of what may be sent again nothing is kept that would stand before its result.
  const known = ended.filter((called) => !isUnknown(called));
  await context.runLog.settle(
    {
      ...{ progress, steps, messages },
      outputs: known.flatMap(({ call: { tool_call_id }, whole }) =>
        whole === null ? [] : [{ tool_call_id, content: whole }],
      ),
      effects: known.flatMap(({ effect, has_external: external }) =>
        effect === null ? [] : [{ effect, external }],
      ),
    },
    requests,
  );
}

function isUnknown({ result }: FinishedCall): boolean {
  return result.outcome === "outcome_unknown";
}
