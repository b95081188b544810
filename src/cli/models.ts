// `wadi models`: models of the settings, their switches, and probes of model servers.
import {
  AdminError,
  addEmbeddings,
  addModel,
  type ListedModel,
  type ModelSwitch,
  modelOperations as operations,
  type ProbeResult,
  probeModel,
} from "../admin/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { type Command, type CommandInput, hasFlag, readText, UsageError } from "./command.ts";
import { call, callWithoutData } from "./operations.ts";
import { drawLines, type Output, printRow, printTable } from "./output.ts";
import { findServer } from "./remote.ts";
import { FILE, readNamedSettings } from "./settings.ts";

/** A narrow terminal leaves out the last ones. */
const COLUMNS = [
  ...["id", "state", "replicas", "provider", "upstream", "capabilities", "self_hosted"],
  ...["visibility", "context_window", "max_output_tokens", "unit", "start_ms", "first_seen_at"],
];

const SERVICE_COLUMNS = [
  ...["id", "model", "kind", "state", "in_flight", "in_flight_max", "waiting", "servers"],
  ...["requests", "duration_p50_ms", "duration_p95_ms"],
];
const TRAFFIC_COLUMNS = [
  ...["model", "replica", "requests", "first_token_p50_ms", "first_token_p95_ms"],
  "tokens_per_second",
];

async function runProbe(input: CommandInput, output: Output): Promise<number> {
  const mayWrite = hasFlag(input, "write");
  // With --write the file may not exist yet.
  if (!mayWrite) readNamedSettings(input);
  const api_key_env = readText(input, "api-key-env");
  const request = {
    url: input.args[0]!,
    model: readText(input, "model"),
    id: readText(input, "id"),
    api_key_env,
    api_key: api_key_env === undefined ? undefined : readKey(api_key_env),
  };
  if (mayWrite && findServer(input)) {
    throw new UsageError("--write changes a local file: drop --server");
  }
  const result = await callWithoutData(input, operations.probe, request, () =>
    probeModel(request, createSystemClock()),
  );
  const { report, id, block } = result;
  if (!hasFlag(input, "json")) output.say(drawReport(result));
  for (const note of report.notes) output.say(note);
  if (block === null && !mayWrite) output.say(explainNoBlock(result));
  const file = mayWrite ? writeFile(input, result) : null;
  output.print({ ...report, id, block, file }, block ?? "");
  if (file !== null) output.say(`written to ${file}`);
  return 0;
}

function writeFile(input: CommandInput, result: ProbeResult): string {
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
  const word = (value: boolean | null) => (value === null ? "unknown" : value ? "yes" : "no");
  const number = (count: number | null) => (count === null ? "unknown" : String(count));
  const { models, reasoning_on } = report;
  const more = models.length > 8 ? ` and ${models.length - 8} more` : "";
  const bySwitch = reasoning_on ? `, by ${nameSwitch(reasoning_on)}` : "";
  const chat: string[][] = [
    ["model", report.model ?? "none"],
    ["window", report.context_window === null ? "unknown" : `${report.context_window} tokens`],
    ["tools", word(report.tools)],
    ["vision", word(report.vision)],
    ["reasoning", word(report.reasoning) + bySwitch],
    ["structured", word(report.structured_outputs)],
    ["streaming", word(report.streaming)],
    ["usage", report.usage ?? "unknown"],
    ["counts at", report.count_route ?? "none"],
    ["one token", report.answered_ms === null ? "not answered" : `${report.answered_ms} ms`],
  ];
  return drawLines([
    ["server", `${report.kind} ${report.version ?? ""}`.trimEnd()],
    ["address", report.url],
    ["models", `${models.slice(0, 8).join(", ")}${more}` || "none"],
    ...(report.serves === "chat" ? chat : drawOther(report)),
    ["at once", number(report.requests_max)],
    ["may wait", number(report.waiting_max)],
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

/** Returns the innermost name, such as enable_thinking or reasoning_effort. */
function nameSwitch(body: Readonly<Record<string, unknown>>): string {
  const [name, value] = Object.entries(body)[0] ?? ["", null];
  const isTable = typeof value === "object" && value !== null;
  return isTable ? nameSwitch(value as Record<string, unknown>) : name;
}

function createSwitchCommand(action: ModelSwitch, help: string): Command {
  return {
    name: `models ${action}`,
    args: ["ID"],
    help,
    example: `wadi models ${action} gpt-4o`,
    async run(input, output) {
      const model = await call(input, operations[action], { id: input.args[0]! });
      const { id, state } = model;
      // The model's other switch may still be off.
      if (action === "on" && state !== "on") {
        output.say(`it stays blocked: \`wadi models unblock ${id}\``);
      }
      if (action === "unblock" && state !== "on") {
        output.say(`it stays off: \`wadi models on ${id}\``);
      }
      if (model.is_default && state !== "on") {
        output.say("it is the default model: requests that name no other are refused");
      }
      return printRow(output, model);
    },
  };
}

function createServerCommand(action: "start" | "stop", help: string): Command {
  return {
    name: `models ${action}`,
    args: ["ID"],
    help,
    example: `wadi models ${action} qwen3-32b`,
    async run(input, output) {
      const { id, unit } = await call(input, operations[action], { id: input.args[0]! });
      return printRow(output, { id, unit });
    },
  };
}

/** Writes "2/3", or "3" where only a server knows how many are healthy. */
function countHealthy({ replicas, healthy_replicas }: ListedModel): string {
  return healthy_replicas === null ? String(replicas) : `${healthy_replicas}/${replicas}`;
}

export const commands: readonly Command[] = [
  {
    name: "models list",
    help: "List the models of the settings and their state",
    example: "wadi models list",
    async run(input, output) {
      const found = await call(input, operations.list, {});
      const lines = found.map((row) => ({
        ...row,
        ...(row.is_default && { id: `${row.id} (default)` }),
        replicas: countHealthy(row),
      }));
      return printTable(output, found, COLUMNS, lines);
    },
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
    run: runProbe,
  },
  {
    name: "models traffic",
    help: "Show first tokens and tokens a second of the last minutes",
    example: "wadi models traffic",
    async run(input, output) {
      return printTable(output, await call(input, operations.traffic, {}), TRAFFIC_COLUMNS);
    },
  },
  {
    name: "models services",
    help: "Show the state and load of embeddings and search",
    example: "wadi models services",
    async run(input, output) {
      const rows = await call(input, operations.services, {});
      const lines = rows.map(({ servers, ...row }) => ({ ...row, servers: servers?.length }));
      return printTable(output, rows, SERVICE_COLUMNS, lines);
    },
  },
  createServerCommand("start", "Start the server of a model that is started on demand"),
  createServerCommand("stop", "Stop that server; its next request starts it again"),
  createSwitchCommand("off", "Switch a model off: listed as offline, calls get 503"),
  createSwitchCommand("on", "Switch a model on again"),
  createSwitchCommand("block", "Block a model: not listed, calls get 503"),
  createSwitchCommand("unblock", "Unblock a model"),
];
