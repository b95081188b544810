// `wadi models probe`: what a model server is, and the block of settings that serves it.
import {
  addEmbeddings,
  addModel,
  OperatorProblem,
  type ProbeResult,
  probeModel,
} from "../operator/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { drawLines, type Output } from "./output.ts";
import { FILE, readNamedSettings } from "./settings.ts";
import { type Given, hasFlag, readText, UsageProblem } from "./verb.ts";

export async function probeModelServer(given: Given, output: Output): Promise<number> {
  const mayWrite = hasFlag(given, "write");
  // Where it is written to, it is judged then, and may not be there yet.
  if (!mayWrite) readNamedSettings(given);
  const api_key_env = readText(given, "api-key-env");
  const result = await probeModel(
    {
      url: given.args[0]!,
      model: readText(given, "model"),
      id: readText(given, "id"),
      api_key_env,
      api_key: api_key_env === undefined ? undefined : readKey(api_key_env),
    },
    createSystemClock(),
  );
  const { report, id, block } = result;
  if (!hasFlag(given, "json")) output.say(drawReport(result));
  for (const note of report.notes) output.say(note);
  if (block === null && !mayWrite) output.say(explainNoBlock(result));
  const file = mayWrite ? write(given, result) : null;
  output.print({ ...report, id, block, file }, block ?? "");
  if (file !== null) output.say(`written to ${file}`);
  return 0;
}

/** The file that it was written to. */
function write(given: Given, result: ProbeResult): string {
  const { report, id, block, unfit } = result;
  if (block === null) throw new OperatorProblem(explainNoBlock(result));
  if (unfit !== null) throw new OperatorProblem(`nothing was written: ${unfit}`);
  const isChosen = readText(given, "model") !== undefined;
  if (!isChosen && report.models.length > 1) {
    const names = report.models.slice(0, 8).join(", ");
    throw new OperatorProblem(`it has several models: choose one with --model (${names})`);
  }
  const file = readText(given, "config") ?? FILE;
  if (id === null) addEmbeddings(file, block, process.env);
  else addModel(file, id, block, process.env);
  return file;
}

function explainNoBlock({ report }: ProbeResult): string {
  if (report.serves === "chat") return "it names no model that could be asked";
  return `it serves ${report.serves}, which this version does not use: there is no block for it`;
}

function readKey(name: string): string {
  // It may be the key itself, typed in the wrong place: it is not said again.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new UsageProblem("--api-key-env takes the name of an environment variable");
  }
  const key = process.env[name];
  if (!key) throw new OperatorProblem(`the environment variable ${name} is not set`);
  return key;
}

function drawReport({ report }: ProbeResult): string {
  const say = (value: boolean | null) => (value === null ? "not told" : value ? "yes" : "no");
  const many = (count: number | null) => (count === null ? "not told" : String(count));
  const { models, reasoning_on } = report;
  const more = models.length > 8 ? ` and ${models.length - 8} more` : "";
  const chat: string[][] = [
    ["model", report.model ?? "none"],
    ["window", report.context_window === null ? "not told" : `${report.context_window} tokens`],
    ["tools", say(report.tools)],
    ["vision", say(report.vision)],
    [
      "reasoning",
      `${say(report.reasoning)}${reasoning_on ? `, by ${nameSwitch(reasoning_on)}` : ""}`,
    ],
    ["structured", say(report.structured_outputs)],
    ["streaming", say(report.streaming)],
    ["usage", report.usage ?? "not told"],
    ["counts at", report.count_route ?? "none"],
    ["one token", report.answered_ms === null ? "not answered" : `${report.answered_ms} ms`],
  ];
  return drawLines([
    ["server", `${report.kind} ${report.version ?? ""}`.trimEnd()],
    ["address", report.url],
    ["models", `${models.slice(0, 8).join(", ")}${more}` || "none"],
    ...(report.serves === "chat" ? chat : drawOther(report)),
    ["at once", many(report.requests_max)],
    ["may wait", many(report.waiting_max)],
    ["health at", report.health_route ?? "none"],
  ]).trimEnd();
}

function drawOther({ serves, model, embeddings, context_window }: ProbeResult["report"]) {
  const { dimensions } = embeddings ?? { dimensions: null };
  return [
    ["serves", serves],
    ...(model === null ? [] : [["model", model]]),
    ...(context_window === null ? [] : [["window", `${context_window} tokens`]]),
    ...(dimensions === null ? [] : [["vectors", `${dimensions} numbers`]]),
  ];
}

/** The innermost name: enable_thinking, reasoning_effort. */
function nameSwitch(body: Readonly<Record<string, unknown>>): string {
  const [name, value] = Object.entries(body)[0] ?? ["", null];
  const isTable = typeof value === "object" && value !== null;
  return isTable ? nameSwitch(value as Record<string, unknown>) : name;
}
