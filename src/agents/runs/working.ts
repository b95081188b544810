// The calls of a round: those that may run by themselves side by side, the others when a person has
// decided.
import type { Caller } from "../../access/index.ts";
import { type Called, runCall } from "./calling.ts";
import { addCall, createTelling } from "./counting.ts";
import { end, KEY_ENDED } from "./ending.ts";
import { type Addition, tell } from "./journal.ts";
import { writeToolMessage } from "./result.ts";
import type { NewStep, ToolCallData } from "./step.ts";
import type { Turn, Work } from "./work.ts";

/** So many calls of a round run side by side. */
const CALLS_AT_ONCE = 8;

/** What needs a person holds nothing up: it is waited for when all else is done. */
export async function workCalls(work: Work): Promise<Turn> {
  const { state, journal } = work;
  const calls = state.open.filter(({ decision }) => decision !== "needs_approval");
  // agents.states.running_tool_call_needs_approval
  if (calls.length === 0) return (await journal.wait()) ? "waiting" : "next";
  const caller = await work.findCaller(state.row.started_by_key_id);
  if (!caller) return end(work, KEY_ENDED);
  return runSideBySide(work, calls, caller);
}

async function runSideBySide(
  work: Work,
  calls: readonly ToolCallData[],
  caller: Caller,
): Promise<"next" | "broken"> {
  const { state, journal, leash } = work;
  const { signal } = leash;
  const waiting = [...calls];
  const running = new Set<Promise<void>>();
  let ready: Called[] = [];
  const start = (call: ToolCallData) => {
    const run = runCall(work, state, call, caller, signal).then((called) => {
      running.delete(run);
      // What was broken off has no result: it is run again, or ends with its run.
      if (!signal.aborted) ready.push(called);
    });
    running.add(run);
  };
  const broken = Promise.withResolvers<void>();
  const leave = () => broken.resolve();
  signal.addEventListener("abort", leave, { once: true });
  try {
    while (!signal.aborted && waiting.length + running.size + ready.length > 0) {
      while (running.size < CALLS_AT_ONCE && waiting.length > 0) start(waiting.shift()!);
      if (ready.length === 0) await Promise.race([broken.promise, ...running]);
      const done = ready;
      ready = [];
      if (done.length > 0) await journal.settle(addResults(work, done));
    }
  } finally {
    signal.removeEventListener("abort", leave);
  }
  // What came while the last was written is no less true for the break.
  if (ready.length > 0) await journal.settle(addResults(work, ready));
  return signal.aborted ? "broken" : "next";
}

function addResults(work: Work, done: readonly Called[]): Addition {
  const { ids } = work.around;
  const { rounds: round } = work.state.row.usage;
  const tellUnpriced = createTelling(work);
  const steps: NewStep[] = [];
  let progress = work.state.row;
  for (const { result, cost, url } of done) {
    const { name: tool, tool_call_id, external } = result;
    const isFirst = external && !progress.external_content;
    progress = addCall(progress, cost, external);
    steps.push({ id: ids.uuid(), round, kind: "tool_result", data: result });
    steps.push(...tellUnpriced(round, tool, cost));
    // The first sets the run's mark; of others it is told where they came from.
    if (isFirst || url !== null) {
      const message = `The run has read content from outside, with ${tool}.`;
      const detail = { tool, tool_call_id, url };
      steps.push(tell(ids, round, "external_content", message, detail));
    }
  }
  return {
    ...{ progress, steps },
    messages: done.map(({ result }) => writeToolMessage(result, ids.uuid())),
    outputs: done.flatMap(({ result: { tool_call_id }, whole }) =>
      whole === null ? [] : [{ tool_call_id, content: whole }],
    ),
  };
}
