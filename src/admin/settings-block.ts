// Writes the settings block of a probed model server, with comments on what a person should know.
import type { ProbeReport } from "../models/index.ts";
import { writeValue } from "../settings/index.ts";

const DEFAULT_MAX_TOKENS = 1_024;
const ID_CHARACTERS_MAX = 128;
/** Maximum of the setting, which no server reaches. */
const IN_FLIGHT_MAX = 100_000;
const CAPABILITIES = ["tools", "reasoning", "vision", "structured_outputs"] as const;

export interface EmbeddingsPromise {
  model: string;
  dimensions: number;
}

export interface ModelBlock {
  id: string;
  model: string;
  /** Variable of the server's key, or "" without a key. */
  apiKeyEnv: string;
}

/** Makes an id of a model's name: "Qwen/Qwen3-32B" becomes "qwen3-32b". */
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

export function writeModelBlock(report: ProbeReport, { id, model, apiKeyEnv }: ModelBlock): string {
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

export function writeEmbeddingsBlock(
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
export function findWidthFault(
  { embeddings }: ProbeReport,
  promised: EmbeddingsPromise,
): string | null {
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
