// `wadi agents evaluate`: starts an evaluation, waits for its end and prints what came of it.
import {
  AdminError,
  type Evaluation,
  evaluationOperations as operations,
  type PerformOperation,
} from "../admin/index.ts";
import { createSystemClock, wait } from "../platform/clock.ts";
import {
  type Command,
  type CommandInput,
  hasFlag,
  readNumber,
  readText,
  readWord,
  UsageError,
} from "./command.ts";
import { readJsonFile, readTextFile } from "./file-input.ts";
import { call, operate } from "./operations.ts";
import { escapeHidden, layOutTable, type Output, quote, quoteWhole } from "./output.ts";
import { explainNoServer } from "./served.ts";

const POLL_INTERVAL_MS = 1_000;
const FORMATS = ["table", "junit", "json"] as const;

type ShownEvaluation = Omit<Evaluation, "created_at" | "finished_at"> & {
  finished_at: string | null;
};
type ShownResult = ShownEvaluation["results"][number];
type ShownOutcome = NonNullable<ShownResult["after"]>;

export const evaluate: Command = {
  name: "agents evaluate",
  args: ["AGENT_ID"],
  flags: {
    version: { takes: "N", help: "version to repeat on (default the current one)" },
    last: { takes: "N", help: "so many of the newest ended runs, at most 500 (default 50)" },
    runs: { takes: "FILE", help: "ids of the runs, one a line, in place of --last" },
    checks: { takes: "FILE", help: 'JSON such as {"checks": [{"end": "succeeded"}]}' },
    live: { help: "make the calls, with their effects (default: answer from the records)" },
    key: { takes: "KEY_ID", help: "key to act for (default the one that made the agent)" },
    format: { takes: "WORD", help: "table, junit or json (default table)" },
  },
  help: "Repeat ended runs on a version and check them",
  example:
    "wadi agents evaluate 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --last 50 --checks checks.json",
  isUnsuggested: true,
  async run(input, output) {
    const draw = readFormat(input);
    const request = {
      agent: input.args[0]!,
      version: readNumber(input, "version"),
      last: readNumber(input, "last"),
      runs: await readRuns(input),
      checks: await readChecks(input),
      ...(hasFlag(input, "live") && { tools: "live" as const }),
      key: readText(input, "key"),
    };
    const fault = await explainNoServer(input);
    if (fault) {
      const advice = "only a server repeats runs: start `wadi serve` first";
      throw new AdminError(`${fault}, and ${advice}`);
    }
    return operate(input, async (perform) => {
      const { id, total } = await perform(operations.start, request);
      output.say(`evaluation ${id} repeats ${total} runs`);
      return print(output, await follow(perform, id as string), draw);
    });
  },
};

export const evaluation: Command = {
  name: "agents evaluation",
  args: ["EVALUATION_ID"],
  flags: {
    cancel: { help: "start no further rerun of it" },
    format: { takes: "WORD", help: "table, junit or json (default table)" },
  },
  help: "Show or cancel an evaluation; exit code 1 unless all pass",
  example: "wadi agents evaluation 0198a6f4-0c52-7b19-8d3e-51f2a7c96e04 --format junit",
  async run(input, output) {
    const draw = readFormat(input);
    const operation = hasFlag(input, "cancel") ? operations.cancel : operations.show;
    const found = await call(input, operation, { id: input.args[0]! });
    return print(output, found as unknown as ShownEvaluation, draw);
  },
};

/** A server carries it out. */
async function follow(perform: PerformOperation, id: string): Promise<ShownEvaluation> {
  const clock = createSystemClock();
  for (;;) {
    const found = (await perform(operations.show, { id })) as unknown as ShownEvaluation;
    if (found.finished_at !== null) return found;
    await wait(clock, POLL_INTERVAL_MS);
  }
}

type DrawEvaluation = (output: Output, found: ShownEvaluation) => string;

function readFormat(input: CommandInput): DrawEvaluation {
  const format = readWord(input, "format", FORMATS) ?? "table";
  return { table: drawTable, junit: drawJUnit, json: drawLine }[format];
}

function print(output: Output, found: ShownEvaluation, draw: DrawEvaluation): number {
  output.print(found, draw(output, found));
  return found.passed === found.total ? 0 : 1;
}

const drawLine: DrawEvaluation = (_, found) => `${quoteWhole(found)}\n`;

async function readRuns(input: CommandInput): Promise<string[] | undefined> {
  const text = await readTextFile(input, "runs");
  const ids = text?.split(/[\s",[\]]+/).filter((id) => id !== "");
  if (ids?.length === 0) throw new UsageError("the file of --runs names no run");
  return ids;
}

async function readChecks(input: CommandInput): Promise<Evaluation["checks"] | undefined> {
  const file = await readJsonFile(input, "checks");
  if (file === undefined) return undefined;
  if (Array.isArray(file.checks)) return file.checks as Evaluation["checks"];
  throw new UsageError('the file of --checks is such as {"checks": [{"end": "succeeded"}]}');
}

const COLUMNS = ["run", "result", "end", "rounds", "calls", "tokens", "cost", "ms", "text"];

function drawTable(output: Output, { results, status, passed, total }: ShownEvaluation): string {
  const rows = results.map(({ before, after, same, ...result }) => {
    const change = (field: keyof ShownOutcome) => writeChange(before?.[field], after?.[field]);
    const differs = (is: boolean | undefined) => (is === false ? "differs" : is ? "same" : null);
    return {
      run: result.run_id,
      result: writeResult(result.passed),
      end: after?.error_code ? `${change("status")} (${after.error_code})` : change("status"),
      ...{ rounds: change("rounds"), calls: differs(same?.calls) },
      ...{ tokens: change("total_tokens"), cost: change("cost"), ms: change("worked_ms") },
      text: differs(same?.text),
    };
  });
  const details = results.flatMap((result) => [...listFaults(result), ...listTexts(result)]);
  const end = `${status}: ${passed} of ${total} passed\n`;
  const lines = details.map((line) => `${line}\n`).join("");
  return `${layOutTable(output, rows, COLUMNS)}${lines && `\n${lines}`}\n${end}`;
}

const writeResult = (passed: boolean | null) =>
  passed === null ? null : passed ? "passed" : "FAILED";

function writeChange(one: unknown, other: unknown): string | null {
  if (other === undefined) return null;
  const [was, is] = [one, other].map((value) => value ?? "-");
  return one === undefined || was === is ? String(is) : `${was} -> ${is}`;
}

function listFaults({ run_id, error, failures }: ShownResult): string[] {
  const faults = failures.map(({ check, message }) => `check ${check}: ${message}`);
  const all = error ? [`${error.code}: ${error.message}`, ...faults] : faults;
  return all.map((fault) => `${run_id}  ${escapeHidden(fault)}`);
}

function listTexts({ run_id, before, after, same }: ShownResult): string[] {
  if (same?.text !== false) return [];
  return [`${run_id}  ${quote(before?.text ?? "")} -> ${quote(after?.text ?? "")}`];
}

function drawJUnit(_: Output, { agent_id, version, results, total }: ShownEvaluation): string {
  const failed = results.filter(({ passed, error }) => passed === false && !error).length;
  const errors = results.filter(({ error }) => error).length;
  const skipped = results.filter(({ passed }) => passed === null).length;
  const name = `agent ${agent_id} version ${version}`;
  const counts = `tests="${total}" failures="${failed}" errors="${errors}" skipped="${skipped}"`;
  const cases = results.map((result) => drawCase(result, name)).join("");
  const suite = `<testsuite ${attribute("name", name)} ${counts}>\n${cases}</testsuite>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suite}\n</testsuites>\n`;
}

function drawCase({ run_id, passed, error, failures, after }: ShownResult, suite: string): string {
  const time = ((after?.worked_ms ?? 0) / 1000).toFixed(3);
  const head = `${attribute("classname", suite)} ${attribute("name", run_id)} time="${time}"`;
  const inner = [
    ...(passed === null ? ["<skipped/>"] : []),
    ...(error ? [`<error ${attribute("type", error.code)} ${messageOf(error)}/>`] : []),
    ...failures.map(
      (one) => `<failure ${attribute("type", `check ${one.check}`)} ${messageOf(one)}/>`,
    ),
  ];
  if (inner.length === 0) return `<testcase ${head}/>\n`;
  return `<testcase ${head}>\n${inner.map((line) => `${line}\n`).join("")}</testcase>\n`;
}

const messageOf = ({ message }: { message: string }) => attribute("message", message);

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", '"': "&quot;" };

/** Control characters have no place in XML, not even as references. */
function attribute(name: string, text: string): string {
  return `${name}="${escapeHidden(text).replace(/[&<"]/g, (mark) => ENTITIES[mark]!)}"`;
}
