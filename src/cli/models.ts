// `wadi models`: models of the settings, their switches, and probes of model servers.
import {
  AdminError,
  addEmbeddings,
  addModel,
  ListedModel,
  type ProbeResult,
  probeModel,
  type Turn,
} from "../admin/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { show } from "../platform/schema.ts";
import { administer } from "./admin.ts";
import { type Command, type CommandInput, hasFlag, readText, UsageError } from "./command.ts";
import { drawLines, drawRow, drawTable, type Output } from "./output.ts";
import { FILE, readNamedSettings } from "./settings.ts";

const COLUMNS = [
  ...["id", "state", "provider", "self_hosted", "visibility", "context_window"],
  ...["max_output_tokens", "capabilities", "upstream", "unit", "start_ms", "first_seen_at"],
];

export async function listModels(input: CommandInput, output: Output): Promise<number> {
  const found = await administer(input, ({ models }) => models.list());
  const rows = found.map((model) => show(ListedModel, model));
  const marked = rows.map((row) => (row.is_default ? { ...row, id: `${row.id} (default)` } : row));
  output.print(rows, drawTable(marked, COLUMNS));
  return 0;
}

/** `off`, `on`, `block` and `unblock`. */
export async function turnModel(input: CommandInput, output: Output, turn: Turn): Promise<number> {
  const model = await administer(input, ({ models }) => models.turn(input.args[0]!, turn));
  const { id, state } = model;
  // The other switch: what was taken back is not all that keeps it from serving.
  if (turn === "on" && state !== "on")
    output.say(`it stays blocked: \`wadi models unblock ${id}\``);
  if (turn === "unblock" && state !== "on") output.say(`it stays off: \`wadi models on ${id}\``);
  if (model.is_default && state !== "on") {
    output.say("it is the default model: requests that name no other are refused");
  }
  const row = show(ListedModel, model);
  output.print(row, drawRow(row));
  return 0;
}

export async function probeModelServer(input: CommandInput, output: Output): Promise<number> {
  const mayWrite = hasFlag(input, "write");
  // Where it is written to, it is result then, and may not be there yet.
  if (!mayWrite) readNamedSettings(input);
  const api_key_env = readText(input, "api-key-env");
  const result = await probeModel(
    {
      url: input.args[0]!,
      model: readText(input, "model"),
      id: readText(input, "id"),
      api_key_env,
      api_key: api_key_env === undefined ? undefined : readKey(api_key_env),
    },
    createSystemClock(),
  );
  const { report, id, block } = result;
  if (!hasFlag(input, "json")) output.say(drawReport(result));
  for (const note of report.notes) output.say(note);
  if (block === null && !mayWrite) output.say(explainNoBlock(result));
  const file = mayWrite ? write(input, result) : null;
  output.print({ ...report, id, block, file }, block ?? "");
  if (file !== null) output.say(`written to ${file}`);
  return 0;
}

/** The file that it was written to. */
function write(input: CommandInput, result: ProbeResult): string {
  const { report, id, block, unfit } = result;
  if (block === null) throw new AdminError(explainNoBlock(result));
  if (unfit !== null) throw new AdminError(`nothing was written: ${unfit}`);
  const isChosen = readText(input, "model") !== undefined;
  if (!isChosen && report.models.length > 1) {
    const names = report.models.slice(0, 8).join(", ");
    throw new AdminError(`it has several models: choose one with --model (${names})`);
  }
  const file = readText(input, "config") ?? FILE;
  if (id === null) addEmbeddings(file, block, process.env);
  else addModel(file, id, block, process.env);
  return file;
}

function explainNoBlock({ report }: ProbeResult): string {
  if (report.serves === "chat") return "it names no model that could be asked";
  return `it serves ${report.serves}, which this version does not use: there is no block for it`;
}

function readKey(name: string): string {
  // Never echo it: it may be the key itself, typed in the wrong place.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new UsageError("--api-key-env takes the name of an environment variable");
  }
  const key = process.env[name];
  if (!key) throw new AdminError(`the environment variable ${name} is not set`);
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

/** One way to turn one of a model's two switches. */
function createTurnCommand(to: Turn, help: string): Command {
  return {
    name: `models ${to}`,
    args: ["ID"],
    flags: {},
    help,
    example: `wadi models ${to} gpt-4o`,
    run: (input, output) => turnModel(input, output, to),
  };
}

export const commands: readonly Command[] = [
  {
    name: "models list",
    args: [],
    flags: {},
    help: "List the models of the settings and their state",
    example: "wadi models list",
    run: listModels,
  },
  {
    name: "models probe",
    args: ["URL"],
    flags: {
      write: { help: "add the block to the settings file" },
      model: { takes: "NAME", help: "model of the server (default the first)" },
      id: { takes: "ID", help: "id that callers send (default from the model's name)" },
      "api-key-env": { takes: "NAME", help: "environment variable with the server's key" },
    },
    help: "Print the settings block of a model server",
    example: "wadi models probe http://10.0.0.5:8000 --write",
    run: probeModelServer,
  },
  createTurnCommand("off", "Switch a model off: listed as offline, calls get 503"),
  createTurnCommand("on", "Switch a model on again"),
  createTurnCommand("block", "Block a model: not listed, calls get 503"),
  createTurnCommand("unblock", "Unblock a model"),
];
