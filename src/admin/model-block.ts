// Writes what was found out of a model server as the block of a settings file, ready to be pasted.
import type { ProbeReport } from "../models/index.ts";
import { writeValue } from "../settings/index.ts";

/** The longest reply where a request does not say, unless the window is smaller. */
const DEFAULT_MAX_TOKENS = 1_024;
const ID_CHARACTERS_MAX = 128;

export interface BlockWish {
  /** What callers will send as `model`. */
  id: string;
  /** The name sent to the server. */
  model: string;
  /** The variable of its key; "": it needs none. */
  api_key_env: string;
}

/** The last word of a name, in the letters of an id: of "Qwen/Qwen3-32B" it is "qwen3-32b". */
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

/** The settings take no more, and no server has so many. */
const IN_FLIGHT_MAX = 100_000;

/** With comments for what it did not say, and what people should know. */
export function writeBlock(report: ProbeReport, { id, model, api_key_env }: BlockWish): string {
  const set = (name: string, value: unknown) => `${name} = ${writeValue(value)}`;
  const { context_window: window, reasoning_on, reasoning_off } = report;
  const own = [
    set("id", id),
    ...writeOwner(report),
    ...(window === null
      ? ["# It does not tell its window of tokens: context_window = 32768 would say so."]
      : [set("context_window", window)]),
    ...(window !== null && window <= DEFAULT_MAX_TOKENS
      ? [set("default_max_tokens", Math.max(1, Math.floor(window / 2)))]
      : []),
    set("capabilities", listCapabilities(report)),
    ...writeDoubts(report),
  ];
  const upstream = [
    set("kind", "openai"),
    set("urls", [report.url]),
    ...(model === id ? [] : [set("model", model)]),
    ...(api_key_env === "" ? [] : [set("api_key_env", api_key_env)]),
    ...(reasoning_on ? [set("reasoning_on", reasoning_on)] : []),
    ...(reasoning_off ? [set("reasoning_off", reasoning_off)] : []),
    ...(report.tool_choice_by_name ? [] : [set("tool_choice_by_name", false)]),
    // What it cannot work on at once had better wait here, where accounts take turns.
    ...(report.requests_max === null
      ? []
      : [set("max_in_flight", Math.min(report.requests_max, IN_FLIGHT_MAX))]),
  ];
  const version = report.version === null ? "" : ` ${report.version}`;
  const head = [`# ${report.kind}${version}`, ...report.notes.map((note) => `# ${note}`)];
  return [...head, "[[models]]", ...own, "", "[models.upstream]", ...upstream, ""].join("\n");
}

function writeOwner({ is_self_hosted }: ProbeReport): string[] {
  return is_self_hosted
    ? ["self_hosted = true"]
    : ["# Where somebody else runs it, an account needs a grant; else: self_hosted = true"];
}

function listCapabilities(report: ProbeReport): string[] {
  const names = ["tools", "reasoning", "vision", "structured_outputs"] as const;
  const streaming = report.streaming === false ? [] : ["streaming"];
  return [...streaming, ...names.filter((name) => report[name] === true)];
}

function writeDoubts(report: ProbeReport): string[] {
  const doubts: string[] = [];
  const names = ["tools", "reasoning", "vision", "structured_outputs"] as const;
  const unknown = names.filter((name) => report[name] === null);
  if (unknown.length > 0) {
    doubts.push(`# Not found out, add it where it holds: ${unknown.join(", ")}`);
  }
  if (report.reasoning && report.reasoning_on === null) {
    doubts.push("# It reasons, and no switch was found: see reasoning_on, reasoning_off.");
  }
  if (report.usage === "never" || report.usage === "whole replies") {
    const where = report.usage === "never" ? "never" : "only in whole replies";
    doubts.push(`# It tells usage ${where}: elsewhere it is estimated.`);
  }
  return doubts;
}
