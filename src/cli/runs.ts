// The verbs of `wadi runs`: a list, a run with its timeline, and one that is followed live.
import { ListedRun, Run, STATUSES, Step } from "../operator/index.ts";
import { show } from "../platform/shape.ts";
import { administer } from "./administration.ts";
import { sayHow } from "./approvals.ts";
import { drawRow, drawTable, type Output } from "./output.ts";
import { quote, quoteWhole } from "./quotation.ts";
import { type Given, readLimit, readText, readWord } from "./verb.ts";

const COLUMNS = [
  ...["id", "account", "agent_id", "status", "trigger_kind", "rounds", "tool_calls", "cost"],
  ...["created_at", "finished_at"],
];

export async function listRuns(given: Given, output: Output): Promise<number> {
  const wish = {
    account: readText(given, "account") ?? null,
    agent: readText(given, "agent") ?? null,
    status: readWord(given, "status", STATUSES),
    limit: readLimit(given),
  };
  const found = await administer(given, ({ runs }) => runs.list(wish));
  const rows = found.map((run) => show(ListedRun, run));
  output.print(rows, drawTable(rows, COLUMNS));
  return 0;
}

export async function showRun(given: Given, output: Output): Promise<number> {
  const found = await administer(given, ({ runs }) => runs.show(given.args[0]!));
  const run = show(Run, found.run);
  const steps = found.steps.map((step) => show(Step, step as never));
  const lines = steps.map(drawStep).join("");
  output.print({ run, steps }, `${drawRun(run)}${lines && `\n${lines}`}`);
  if (run.status === "waiting_approval") sayThatItWaits(output, found.run.pending_approvals);
  return 0;
}

/** A line for each step as it comes, then the run; as JSON one document on each line. */
export async function followRun(given: Given, output: Output): Promise<number> {
  const onStep = (row: unknown) => {
    const step = show(Step, row as never);
    output.print({ step }, drawStep(step));
  };
  const ended = await administer(given, ({ runs }) =>
    runs.follow(given.args[0]!, { onStep, onWaiting: (ids) => sayThatItWaits(output, ids) }),
  );
  const run = show(Run, ended);
  output.print({ run }, `\n${drawRun(run)}`);
  return 0;
}

/** Beside the result: how a person decides each of these. */
function sayThatItWaits(output: Output, approvals: readonly string[]): void {
  output.say("the run waits for a person: `wadi approvals show ID` tells what it would do");
  for (const id of approvals) output.say(sayHow(id));
}

type Shown = Record<string, unknown>;

function drawRun(run: Shown): string {
  const { input, output, error, usage, cost, ...rest } = run as Record<string, Shown | null>;
  return drawRow({
    ...rest,
    metadata: quoteWhole(rest.metadata),
    ...usage,
    cost: cost!.total,
    input: quote(input!.message),
    // What a sender said, without which nobody can judge what came of it.
    ...("hook" in input! && { hook: quote(JSON.stringify(input.hook)) }),
    output: output && quote(output.message),
    error: error && `${error.code}: ${quote(error.message)}`,
  });
}

/** `3  2026-11-20T17:42:00.000Z  tool_result  calculator ok "42"` */
function drawStep(step: Shown): string {
  const kind = String(step.kind);
  const says = SUMMARIES[kind]?.(step.data as Shown) ?? "";
  return `${[String(step.seq).padStart(4), step.created_at, kind.padEnd(11), says].join("  ")}\n`;
}

const SUMMARIES: Record<string, (data: Shown) => string> = {
  assistant({ content, tool_calls, finish_reason }) {
    const names = (tool_calls as { name: string }[]).map(({ name }) => quote(name));
    const calls = names.length > 0 ? ` calls ${names.join(", ")}` : "";
    return `${finish_reason}${calls}${content === null ? "" : ` ${quote(content)}`}`;
  },
  tool_call: ({ name, decision, arguments: given }) =>
    `${quote(name)} ${decision} ${quote(JSON.stringify(given))}`,
  tool_result: ({ name, outcome, content }) => `${quote(name)} ${outcome} ${quote(content)}`,
  approval({ event, approval }) {
    return `${event} ${(approval as Shown).id} ${quote((approval as Shown).tool)}`;
  },
  system: ({ event, message }) => `${event} ${message}`,
};
