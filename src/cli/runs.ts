// `wadi runs`: lists of runs, one run with its steps, one run live.
import { runOperations as operations, STATUSES } from "../admin/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { explainDecision } from "./approvals.ts";
import { account, type Command, limit, readLimit, readText, readWord } from "./command.ts";
import { call, operate } from "./operations.ts";
import { drawRow, type Output, printTable, quote, quoteWhole } from "./output.ts";
import { followRun, pendingOf, readSteps, type ShownRow } from "./run-follower.ts";

const COLUMNS = [
  ...["id", "account", "agent_id", "status", "trigger_kind", "rounds", "tool_calls", "cost"],
  ...["created_at", "finished_at"],
];

function explainWait(output: Output, approvals: readonly string[]): void {
  output.say("the run waits for a person: `wadi approvals show ID` tells what it would do");
  for (const id of approvals) output.say(explainDecision(id));
}

function drawRun(run: ShownRow): string {
  const { input, output, error, usage, cost, ...rest } = run as Record<string, ShownRow | null>;
  return drawRow({
    ...rest,
    metadata: quoteWhole(rest.metadata),
    ...usage,
    cost: cost!.total,
    input: quote(input!.message),
    ...("hook" in input! && { hook: quote(JSON.stringify(input.hook)) }),
    output: output && quote(output.message),
    error: error && `${error.code}: ${quote(error.message)}`,
  });
}

/** `3  2026-11-20T17:42:00.000Z  tool_result  calculator ok "42"` */
function drawStep(step: ShownRow): string {
  const kind = String(step.kind);
  const says = SUMMARIES[kind]?.(step.data as ShownRow) ?? "";
  return `${[String(step.seq).padStart(4), step.created_at, kind.padEnd(11), says].join("  ")}\n`;
}

const SUMMARIES: Record<string, (data: ShownRow) => string> = {
  assistant({ content, tool_calls, finish_reason }) {
    const names = (tool_calls as { name: string }[]).map(({ name }) => quote(name));
    const calls = names.length > 0 ? ` calls ${names.join(", ")}` : "";
    return `${finish_reason}${calls}${content === null ? "" : ` ${quote(content)}`}`;
  },
  tool_call: ({ name, decision, arguments: values }) =>
    `${quote(name)} ${decision} ${quote(JSON.stringify(values))}`,
  tool_result: ({ name, outcome, content }) => `${quote(name)} ${outcome} ${quote(content)}`,
  approval({ event, approval }) {
    return `${event} ${(approval as ShownRow).id} ${quote((approval as ShownRow).tool)}`;
  },
  system: ({ event, message }) => `${event} ${message}`,
};

export const commands: readonly Command[] = [
  {
    name: "runs list",
    flags: {
      account,
      agent: { takes: "ID", help: "agent of the runs" },
      status: { takes: "NAME", help: "status of the runs, such as failed" },
      limit,
    },
    help: "List the newest runs",
    example: "wadi runs list --account acme --status failed",
    async run(input, output) {
      const found = await call(input, operations.list, {
        account: readText(input, "account"),
        agent: readText(input, "agent"),
        status: readWord(input, "status", STATUSES),
        limit: readLimit(input),
      });
      return printTable(output, found, COLUMNS);
    },
  },
  {
    name: "runs show",
    args: ["RUN_ID"],
    help: "Show a run and its steps",
    example: "wadi runs show 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const [id] = input.args as [string];
      const steps: ShownRow[] = [];
      const run = await operate(input, async (perform) => {
        const found = await perform(operations.show, { id });
        await readSteps(perform, id, 0, (step) => steps.push(step));
        return found;
      });
      const lines = steps.map(drawStep).join("");
      output.print({ run, steps }, `${drawRun(run)}${lines && `\n${lines}`}`);
      if (run.status === "waiting_approval") explainWait(output, pendingOf(run));
      return 0;
    },
  },
  {
    name: "runs follow",
    args: ["RUN_ID"],
    flags: { json: { help: "one JSON document per line: each step, then the run" } },
    help: "Print a run's steps live until it ends",
    example: "wadi runs follow 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    /** Prints each step when it is written, then the run; with --json one document per line. */
    async run(input, output) {
      const [id] = input.args as [string];
      const run = await operate(input, (perform) =>
        followRun(perform, createSystemClock(), id, {
          onStep: (step) => output.print({ step }, drawStep(step)),
          onWaiting: (ids) => explainWait(output, ids),
        }),
      );
      output.print({ run }, `\n${drawRun(run)}`);
      return 0;
    },
  },
];
