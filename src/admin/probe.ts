// Probes a model server and writes its settings block, with comments on what to know of it.
import { Type } from "@sinclair/typebox";
import { type ProbeReport, probeServer } from "../models/index.ts";
import { createTrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import { maybe } from "../platform/schema.ts";
import { writeValue } from "../settings/index.ts";
import { AdminError } from "./errors.ts";

export interface ProbeRequest {
  /** Typed address, with or without `http://` and `/v1`. */
  url: string;
  /** Model of the server (default the first). */
  model?: string | undefined;
  /** Id that callers send (default from the model's name). */
  id?: string | undefined;
  api_key_env?: string | undefined;
  api_key?: string | undefined;
}

export interface ProbeResult {
  report: ProbeReport;
  id: string | null;
  block: string | null;
  /** Reason against writing the block into a file. */
  unfit: string | null;
}

/** The reply of a probe; the report's other fields are those of the kind of server. */
export const ProbedServer = Type.Object({
  report: Type.Object(
    {
      url: Type.String({ description: "Address up to and with `/v1`." }),
      kind: Type.String({ description: "Kind of the server, such as `vllm`." }),
      serves: Type.String({ description: "`chat`, `embeddings` or another use." }),
      notes: Type.Array(Type.String(), { description: "What to know of it." }),
    },
    { additionalProperties: true, description: "What the server answered." },
  ),
  id: maybe(Type.String({ description: "Id that callers send; null: no chat model." })),
  block: maybe(Type.String({ description: "Block of wadi.toml; null: nothing to use." })),
  unfit: maybe(Type.String({ description: "Why the block must not be used as it is." })),
});

const ID = /^[A-Za-z0-9][\w./:@+-]{0,127}$/;
const API_KEY = /^[\x21-\x7e]+$/;

/** Throws when no model server answers. */
export async function probeModel(request: ProbeRequest, clock: Clock): Promise<ProbeResult> {
  const url = readAddress(request.url);
  const { model = null, api_key = null, api_key_env = "" } = request;
  if (request.id !== undefined && !ID.test(request.id)) {
    throw new AdminError("an id is 1 to 128 of A-Z, a-z, 0-9 and . _ / : @ + -");
  }
  // The key goes into a header; the message must not show it.
  if (api_key !== null && !API_KEY.test(api_key)) {
    throw new AdminError(`${api_key_env} holds no key in one line of ASCII`);
  }
  const egress = createTrustedEgress({ clock });
  try {
    const probed = await probeServer({ url, model, api_key, egress, clock });
    if (!probed.ok) throw new AdminError(`${url}: ${probed.says}`);
    const { report } = probed;
    if (report.serves === "embeddings") return await describeEmbeddings(report, request);
    if (report.model === null || report.serves !== "chat") {
      return { report, id: null, block: null, unfit: null };
    }
    const id = request.id ?? nameModel(report.model);
    const block = writeModelBlock(report, { id, model: report.model, apiKeyEnv: api_key_env });
    return { report, id, block, unfit: null };
  } finally {
    egress.close();
  }
}

async function describeEmbeddings(
  report: ProbeReport,
  request: ProbeRequest,
): Promise<ProbeResult> {
  // The gateway is loaded only when it is needed.
  const { DIMENSIONS, MODEL } = await import("../gateway/index.ts");
  if (request.id !== undefined) {
    throw new AdminError(`it serves embeddings, which callers ask as ${MODEL}: leave --id out`);
  }
  const promised = { model: MODEL, dimensions: DIMENSIONS };
  const block = writeEmbeddingsBlock(report, request.api_key_env ?? "", promised);
  return { report, id: null, block, unfit: findWidthFault(report, promised) };
}

/** Accepts a host and port alone. */
function readAddress(typed: string): string {
  const address = /^[a-z]+:\/\//i.test(typed) ? typed : `http://${typed}`;
  const url = URL.parse(address);
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (isPlain && /^https?:$/.test(url.protocol) && !/[\s<>"]/.test(address)) {
    return address.replace(/\/+$/, "");
  }
  // Never echo it: it may hold a password.
  throw new AdminError(
    "the address is one of http or https without user, query or fragment, such as " +
      "http://10.0.0.5:8000/v1",
  );
}

const DEFAULT_MAX_TOKENS = 1_024;
const ID_CHARACTERS_MAX = 128;
/** Maximum of the setting, which no server reaches. */
const IN_FLIGHT_MAX = 100_000;
const CAPABILITIES = ["tools", "reasoning", "vision", "structured_outputs"] as const;

interface EmbeddingsPromise {
  model: string;
  dimensions: number;
}

interface ModelBlock {
  id: string;
  model: string;
  /** Variable of the server's key, or "" without a key. */
  apiKeyEnv: string;
}

/** Makes an id from a model's name: "Qwen/Qwen3-32B" becomes "qwen3-32b". */
export function nameModel(model: string): string {
  const last = model.split(/[\\/]/).filter(Boolean).at(-1) ?? "";
  const plain = last.replace(/\.gguf$/i, "").replace(/:latest$/, "");
  const id = plain
    .toLowerCase()
    .replaceAll(/[^\w.:@+-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .slice(0, ID_CHARACTERS_MAX);
  return id === "" ? "model-1" : id;
}

function writeModelBlock(report: ProbeReport, { id, model, apiKeyEnv }: ModelBlock): string {
  const { context_window: window, reasoning_on, reasoning_off, requests_max } = report;
  const lines = [...writeHead(report), "[[models]]", set("id", id)];
  if (report.is_self_hosted) lines.push("self_hosted = true");
  else lines.push("# Run by another party: accounts need a grant. Your own: self_hosted = true");
  if (window === null) {
    lines.push("# It does not report its window. Set it in tokens: context_window = 32768");
  } else {
    lines.push(set("context_window", window));
    const half = Math.max(1, Math.floor(window / 2));
    if (window <= DEFAULT_MAX_TOKENS) lines.push(set("default_max_tokens", half));
  }
  const streaming = report.streaming === false ? [] : ["streaming"];
  const capabilities = CAPABILITIES.filter((name) => report[name] === true);
  lines.push(set("capabilities", [...streaming, ...capabilities]), ...listUnknowns(report));
  lines.push("", "[models.upstream]", set("kind", "openai"), set("urls", [report.url]));
  if (model !== id) lines.push(set("model", model));
  if (apiKeyEnv !== "") lines.push(set("api_key_env", apiKeyEnv));
  if (reasoning_on) lines.push(set("reasoning_on", reasoning_on));
  if (reasoning_off) lines.push(set("reasoning_off", reasoning_off));
  if (!report.tool_choice_by_name) lines.push(set("tool_choice_by_name", false));
  // Excess requests wait better here, where accounts take turns.
  if (requests_max !== null)
    lines.push(set("max_in_flight", Math.min(requests_max, IN_FLIGHT_MAX)));
  return [...lines, ""].join("\n");
}

function writeEmbeddingsBlock(
  report: ProbeReport,
  apiKeyEnv: string,
  promised: EmbeddingsPromise,
): string {
  const { model, url, embeddings } = report;
  const isTei = embeddings?.kind === "tei";
  const lines = writeHead(report, model === null ? [] : [`Its model is ${model}.`]);
  if (model !== null && !model.toLowerCase().includes(promised.model)) {
    lines.push(`# Callers expect ${promised.model}, which makes other vectors.`);
  }
  const fault = findWidthFault(report, promised);
  if (fault !== null) lines.push(`# It cannot serve: ${fault}.`);
  lines.push("[embeddings]", set("kind", isTei ? "tei" : "openai"));
  // The API of TEI lies beside /v1.
  lines.push(set("urls", [isTei ? url.replace(/\/v1$/, "") : url]));
  if (model !== null && model !== promised.model) lines.push(set("model", model));
  if (apiKeyEnv !== "") lines.push(set("api_key_env", apiKeyEnv));
  return [...lines, ""].join("\n");
}

/** Explains why every call would fail, if the size of the vectors is known to differ. */
function findWidthFault({ embeddings }: ProbeReport, promised: EmbeddingsPromise): string | null {
  const { dimensions = null } = embeddings ?? {};
  if (dimensions === null || dimensions === promised.dimensions) return null;
  return `its vectors have ${dimensions} numbers, and callers are promised ${promised.dimensions}`;
}

const set = (name: string, value: unknown) => `${name} = ${writeValue(value)}`;

function writeHead({ kind, version, notes }: ProbeReport, more: readonly string[] = []): string[] {
  const server = version === null ? kind : `${kind} ${version}`;
  return [server, ...more, ...notes].map((line) => `# ${line}`);
}

function listUnknowns(report: ProbeReport): string[] {
  const lines: string[] = [];
  const unknown = CAPABILITIES.filter((name) => report[name] === null);
  if (unknown.length > 0) {
    lines.push(`# Not found out, add it where it holds: ${unknown.join(", ")}`);
  }
  if (report.reasoning && report.reasoning_on === null) {
    lines.push("# It reasons, and no switch was found: see reasoning_on, reasoning_off.");
  }
  if (report.usage === "never" || report.usage === "whole replies") {
    const where = report.usage === "never" ? "never" : "only in whole replies";
    lines.push(`# It tells usage ${where}: elsewhere it is estimated.`);
  }
  return lines;
}
