// `wadi runs`: lists of runs, one run with its steps, one run live.
import {
  runOperations as operations,
  type PerformOperation,
  runCountOperations,
  STATUSES,
  TRIGGER_KINDS,
} from "../admin/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { explainDecision } from "./approvals.ts";
import {
  account,
  type Command,
  type CommandInput,
  type Flag,
  hasFlag,
  limit,
  readLimit,
  readNumber,
  readText,
  readWord,
  UsageError,
} from "./command.ts";
import { drawComparison } from "./comparisons.ts";
import { LivePrinter } from "./live.ts";
import { call, operate } from "./operations.ts";
import { drawRow, type Output, printRow, printTable, quote, quoteWhole } from "./output.ts";
import { followRun, pendingOf, readSteps, type ShownRow } from "./run-follower.ts";
import { readImages, readMetadata } from "./run-input.ts";
import { explainNoServer } from "./served.ts";
import { runUsage } from "./usage.ts";

const COLUMNS = [
  ...["id", "account", "agent_id", "status", "trigger_kind", "rounds", "tool_calls", "cost"],
  ...["created_at", "finished_at"],
];

function explainWait(output: Output, approvals: readonly string[]): void {
  output.say("the run waits for a person: `wadi approvals show ID` tells what it would do");
  for (const id of approvals) output.say(explainDecision(id));
}

function drawRun(run: ShownRow): string {
  const { input, output, error, usage, cost, started_by_operator, budgets, live, ...rest } =
    run as Record<string, ShownRow | null>;
  return drawRow({
    ...rest,
    ...(started_by_operator && { started_by_operator }),
    metadata: quoteWhole(rest.metadata),
    ...usage,
    cost: cost!.total,
    budgets: JSON.stringify(budgets),
    input: quote(input!.message),
    ...("content" in input! && { images: countImages(input.content as { type: string }[]) }),
    ...("hook" in input! && { hook: quote(JSON.stringify(input.hook)) }),
    ...(live && { live: quote(live.text) }),
    output: output && quote(output.message),
    error: error && `${error.code}: ${quote(error.message)}`,
  });
}

function countImages(content: readonly { type: string }[]): number {
  return content.filter(({ type }) => type === "image_url").length;
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

type ExplainedRound = Awaited<ReturnType<typeof operations.showRound.run>>;

function drawRound({ messages: _, usage, context, parameters, ...round }: ExplainedRound): string {
  const { reason, tokens, whole_tokens, room_tokens, reduced } = context;
  const kinds = reduced.map(({ kind, message }) => `${kind} ${message + 1}`);
  const head = drawRow({
    ...round,
    ...usage,
    parameters: JSON.stringify(parameters),
    retries: round.retries.map(({ code, step_seq }) => `${code} (step ${step_seq})`),
    summaries: round.summaries.map(({ step_seq }) => `step ${step_seq}`),
    context: `${tokens} of ${whole_tokens} tokens, room ${room_tokens ?? "unlimited"}`,
    ...(reason !== null && { shortened: `${reason}: messages ${kinds.join(", ")}` }),
  });
  return `${head}\n`;
}

type SeenMessageRow = ExplainedRound["messages"][number];

function drawMessage({ role, tool, tokens, content, tool_calls }: SeenMessageRow): string {
  const calls = tool_calls.map(({ name, arguments: text }) => `\n${quote(name)} ${quote(text)}`);
  const from = tool === null ? role : `${role} ${quote(tool)}`;
  return `${from} (${tokens} tokens)\n${quoteWhole(content)}${calls.join("")}\n\n`;
}

const GOES_ON = "the run goes on once `wadi serve` is started on it";
const JSON_LINES: Flag = { help: "one JSON document per line: texts and steps, then the run" };

/**
 * Prints texts as models write them, each step when it is written, then the run; with --json one
 * document per line.
 */
async function follow(perform: PerformOperation, id: string, output: Output): Promise<ShownRow> {
  const printer = new LivePrinter(output);
  const run = await followRun(perform, createSystemClock(), id, {
    onText: (written) => printer.print(written),
    onStep(step) {
      const { content } = step.data as { content?: string | null };
      const reply = step.kind === "assistant" ? (content ?? "") : null;
      const end = printer.finish(step.round as number, reply);
      output.print({ step }, `${end}${drawStep(step)}`);
    },
    onWaiting: (ids) => explainWait(output, ids),
  });
  output.print({ run }, `\n${drawRun(run)}`);
  return run;
}

const metadata = { takes: "NAME=TEXT", multiple: true } as const;

const search: NonNullable<Command["flags"]> = {
  account,
  agent: { takes: "ID", help: "agent of the runs" },
  trigger: { takes: "KIND", help: "what started them: manual, cron or webhook" },
  since: { takes: "TIME", help: "earliest acceptance, such as 2027-01-05 or 24h" },
  text: { takes: "TEXT", help: "part of the id or of the input" },
  metadata: { ...metadata, help: "text that their metadata has; repeatable" },
};

const readSearch = (input: CommandInput) => ({
  account: readText(input, "account"),
  agent: readText(input, "agent"),
  trigger_kind: readWord(input, "trigger", TRIGGER_KINDS),
  since: readText(input, "since"),
  text: readText(input, "text"),
  metadata: readMetadata(input),
});

export const commands: readonly Command[] = [
  {
    name: "runs list",
    flags: {
      ...search,
      status: { takes: "NAME", help: "status of the runs, such as failed" },
      active: { help: "only runs that have not ended" },
      limit,
    },
    help: "List the newest runs",
    example: "wadi runs list --account acme --status failed",
    async run(input, output) {
      const found = await call(input, operations.list, {
        ...readSearch(input),
        status: readWord(input, "status", STATUSES),
        ...(hasFlag(input, "active") && { stage: "active" as const }),
        limit: readLimit(input),
      });
      return printTable(output, found, COLUMNS);
    },
  },
  {
    name: "runs count",
    flags: search,
    help: "Count runs by status: active ones, and ended ones since a time",
    example: "wadi runs count --since 24h",
    async run(input, output) {
      const { counts, is_partial } = await call(input, operations.count, readSearch(input));
      if (is_partial) output.say("older runs are not counted: give a later --since");
      return printRow(output, { counts, is_partial }, { ...(counts as ShownRow) });
    },
  },
  {
    name: "runs failures",
    flags: {
      since: { takes: "TIME", help: "earliest end, such as 2027-01-05 or 1h (default 24h)" },
    },
    help: "Count runs that failed lately, with the commonest error code",
    example: "wadi runs failures --since 1h",
    async run(input, output) {
      const since = readText(input, "since");
      return printRow(output, await call(input, runCountOperations.failures, { since }));
    },
  },
  runUsage,
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
    flags: { json: JSON_LINES },
    help: "Print a run's texts and steps live until it ends",
    example: "wadi runs follow 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const [id] = input.args as [string];
      const fault = await explainNoServer(input);
      await operate(input, async (perform) => {
        const { finished_at } = fault ? await perform(operations.show, { id }) : {};
        if (finished_at === null) output.say(`${fault}: ${GOES_ON}`);
        return follow(perform, id, output);
      });
      return 0;
    },
  },
  {
    name: "runs start",
    args: ["AGENT_ID", "TEXT"],
    flags: {
      key: { takes: "KEY_ID", help: "key to act for (default the one that made the agent)" },
      image: {
        ...{ takes: "FILE|URL", multiple: true },
        help: "PNG, JPEG, WebP or GIF that its model sees; repeatable",
      },
      metadata: { ...metadata, help: "text that is kept with it; repeatable" },
      follow: { help: "print its steps until it ends; exit code 1 unless it succeeds" },
      json: { help: "one JSON document: the run; with --follow one per line" },
    },
    help: "Start a run, which acts for a key of the agent's account",
    example: 'wadi runs start 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 "Summarise today" --follow',
    isUnsuggested: true,
    async run(input, output) {
      const [agent, message] = input.args as [string, string];
      const request = {
        ...{ agent, message, key: readText(input, "key") },
        ...{ images: await readImages(input), metadata: readMetadata(input) },
      };
      const fault = hasFlag(input, "follow") ? await explainNoServer(input) : undefined;
      return operate(input, async (perform) => {
        const run = await perform(operations.start, request);
        const id = run.id as string;
        if (!hasFlag(input, "follow")) return printRow(output, run, { id, status: run.status });
        output.say(`run ${id} started`);
        if (fault) output.say(`${fault}: ${GOES_ON}`);
        const ended = await follow(perform, id, output);
        return ended.status === "succeeded" ? 0 : 1;
      });
    },
  },
  {
    name: "runs again",
    args: ["RUN_ID"],
    flags: {
      key: { takes: "KEY_ID", help: "key to act for (default that of the run)" },
      version: { takes: "N", help: "version of the agent (default the current one)" },
      "from-round": { takes: "N", help: "take earlier rounds from the record (default none)" },
      recorded: { help: "answer calls from the record, and make none" },
    },
    help: "Start a run with the same input, or repeat it from its record",
    example: "wadi runs again 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --recorded --version 3",
    isUnsuggested: true,
    async run(input, output) {
      const request = {
        id: input.args[0]!,
        key: readText(input, "key"),
        version: readNumber(input, "version"),
        from_round: readNumber(input, "from-round"),
        ...(hasFlag(input, "recorded") && { tools: "recorded" as const }),
      };
      const run = (await call(input, operations.startAgain, request)) as ShownRow;
      return printRow(output, run, { id: run.id!, status: run.status! });
    },
  },
  {
    name: "runs compare",
    args: ["RUN_ID", "OTHER_ID"],
    help: "Show two runs side by side",
    example:
      "wadi runs compare 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 0198a6f3-118c-7d02-8a40-9c1e27b4d3f5",
    async run(input, output) {
      const [id, other] = input.args as [string, string];
      const found = await call(input, operations.compare, { id, other });
      output.print(found, drawComparison(output, found));
      return 0;
    },
  },
  {
    name: "runs round",
    args: ["RUN_ID", "ROUND"],
    help: "Show how a round came about, and what its model saw",
    example: "wadi runs round 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 2",
    async run(input, output) {
      const [id, typed] = input.args as [string, string];
      const round = Number(typed);
      if (!Number.isInteger(round)) throw new UsageError("ROUND is a whole number");
      const found = await call(input, operations.showRound, { id, round });
      const lines = [drawRound(found), ...found.messages.map(drawMessage)];
      if (!found.is_exact) output.say("settings or summaries have changed since it was sent");
      output.print(found, lines.join(""));
      return 0;
    },
  },
  {
    name: "runs cancel",
    args: ["RUN_ID"],
    help: "Cancel a run: at once, or at its next step while it runs",
    example: "wadi runs cancel 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const { is_changed, ...run } = await call(input, operations.cancel, { id: input.args[0]! });
      const { id, status, cancel_requested } = run as ShownRow;
      if (!is_changed) output.say("it had ended or been cancelled already, and stays as it is");
      else if (status !== "cancelled") output.say("it ends at its next step");
      return printRow(output, run, { id, status, cancel_requested });
    },
  },
];
