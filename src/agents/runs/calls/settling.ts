// What becomes of calls that have ended: results, marks and messages in one record.
import type { NewMessage } from "../../threads/thread.ts";
import { addCall, createTelling } from "../counting.ts";
import { hasHung } from "../hung-call.ts";
import { tell } from "../journal.ts";
import type { NewStep, ToolCallData } from "../step.ts";
import type { Request } from "../store/waiting.ts";
import type { Turn, Work } from "../work.ts";
import { type Called, writeHung, writeUnseen } from "./calling.ts";
import type { OpenCall } from "./open-calls.ts";
import { writeToolMessage } from "./result.ts";
import { mayRepeat, tellUnknown } from "./unknown.ts";

/** Writes what has ended; the calls that are to be sent again by themselves. */
export async function settle(work: Work, done: readonly Called[]): Promise<ToolCallData[]> {
  const isRepeated = (called: Called) =>
    isUnknown(called) &&
    !called.is_off &&
    !hasHung(work.state, called.call.tool_call_id) &&
    mayRepeat(called.call, work.findTool(called.call.name));
  const ended = done.filter((called) => !isRepeated(called));
  if (ended.length > 0) await writeEnded(work, ended);
  return done.filter(isRepeated).map(({ call }) => call);
}

/** What a process that is gone had sent: as if it had ended here, and nobody had seen how. */
export async function settleAdrift(work: Work, adrift: readonly OpenCall[]): Promise<Turn> {
  const { state } = work;
  const repeated = await settle(
    work,
    adrift.map(({ call }) => writeUnseen(call)),
  );
  state.open = state.open.map((one) =>
    repeated.includes(one.call) ? { call: one.call, standing: "ready", decided: null } : one,
  );
  return "next";
}

/** Calls in which the process hung repeatedly. */
export async function settleHung(work: Work, hung: readonly OpenCall[]): Promise<Turn> {
  await settle(
    work,
    hung.map(({ call }) => writeHung(call)),
  );
  return "next";
}

async function writeEnded(work: Work, ended: readonly Called[]): Promise<void> {
  const { ids } = work.around;
  const { rounds: round } = work.state.row.usage;
  const tellUnpriced = createTelling(work);
  const steps: NewStep[] = [];
  const messages: NewMessage[] = [];
  const requests: Request[] = [];
  let progress = work.state.row;
  for (const called of ended) {
    const { result, cost, url } = called;
    if (isUnknown(called)) {
      const told = tellUnknown(work, progress, called);
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
      steps.push(tell(ids, round, "external_content", message, detail));
    }
  }
  // Of what may be sent again nothing is kept that would stand before its result.
  const known = ended.filter((called) => !isUnknown(called));
  await work.journal.settle(
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

function isUnknown({ result }: Called): boolean {
  return result.outcome === "outcome_unknown";
}
