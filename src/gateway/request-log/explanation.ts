// Explains an entry of the request log: one sentence for each decision, in the order of decisions.
import { ERROR_CODES, type ErrorCode } from "../../platform/errors.ts";
import { formatMoney } from "../../platform/money.ts";
import type { LogEntry } from "./entry.ts";

export interface CallerNames {
  /** The name of the key; null: it has none, or was deleted. */
  key: string | null;
  account: string | null;
}

const LEFT = "client_closed_request";

/** `currency` is that of the costs, such as `SAR`. */
export function explainEntry(entry: LogEntry, names: CallerNames, currency: string): string[] {
  const sentences = [
    explainCaller(entry, names),
    explainScope(entry),
    explainModel(entry),
    explainOutputCap(entry),
    explainPlace(entry),
    explainServer(entry),
    explainUsage(entry, currency),
    explainEnd(entry),
  ];
  return sentences.filter((sentence) => sentence !== null);
}

function explainCaller(entry: LogEntry, names: CallerNames): string {
  const { key_id, account_id, run_id, agent_id, agent_version, sent_by_operator } = entry;
  const key = names.key === null ? `key ${key_id}` : `key ${quote(names.key)} (${key_id})`;
  const account = names.account === null ? account_id : quote(names.account);
  const owned = account === null ? `${key} without an account` : `${key} of account ${account}`;
  if (sent_by_operator !== null) {
    return `${owned}, sent from the playground by the operator ${quote(sent_by_operator)}`;
  }
  return run_id === null
    ? owned
    : `${owned}, in the run ${run_id} of agent ${agent_id}, version ${agent_version}`;
}

function explainScope({ scope, code }: LogEntry): string | null {
  if (scope === null) return null;
  const needed = scope.split(" ").join(" and ");
  return code === "scope_required" ? `needs ${needed}: the key lacks a scope` : `needs ${needed}`;
}

function explainModel({ model_asked, model, attempts, code }: LogEntry): string | null {
  if (model_asked === null) return model === null ? null : `no model asked, so ${quote(model)}`;
  if (model === null || model === model_asked) return `model asked ${quote(model_asked)}`;
  const says = code === null || (attempts ?? 0) > 0 ? "served" : "which means";
  return `model asked ${quote(model_asked)}, ${says} ${quote(model)}`;
}

const OUTPUT_CAPS: Record<NonNullable<LogEntry["max_tokens_by"]>, (tokens: number) => string> = {
  request: (tokens) => `output of up to ${tokens} tokens, as asked`,
  default: (tokens) => `output of up to ${tokens} tokens, the model's default`,
  model: (tokens) => `output limited to ${tokens} tokens by the model's cap`,
  key: (tokens) => `output limited to ${tokens} tokens by the key`,
  service: (tokens) => `output limited to ${tokens} tokens by the cap of every reply`,
};

function explainOutputCap({
  max_tokens,
  max_tokens_asked,
  max_tokens_by,
}: LogEntry): string | null {
  if (max_tokens === null || max_tokens_by === null) return null;
  const told = OUTPUT_CAPS[max_tokens_by](max_tokens);
  const isCut = max_tokens_asked !== null && max_tokens_asked > max_tokens;
  return isCut ? `${told} (${max_tokens_asked} asked)` : told;
}

function explainPlace({ waited_ms, in_flight, in_flight_max }: LogEntry): string | null {
  const wait = waited_ms ? `waited ${waited_ms} ms for a place or a server's start` : null;
  if (in_flight === null || in_flight_max === null) return wait;
  const places = `${in_flight} of ${in_flight_max} places were in use with it`;
  return wait === null ? places : `${wait}, then ${places}`;
}

function explainServer(entry: LogEntry): string | null {
  const { replica, attempts, first_token_ms, code } = entry;
  const first = first_token_ms === null ? null : `first token after ${first_token_ms} ms`;
  if (attempts === 0) return "no server was asked";
  if (replica === null) return first;
  const name =
    (attempts ?? 1) > 1 ? `replica ${replica}, the last of ${attempts},` : `replica ${replica}`;
  if (code === null) return first === null ? `${name} answered` : `${name} answered, ${first}`;
  return first === null ? `${name} was asked` : `${name} began to answer, ${first}`;
}

function explainUsage(entry: LogEntry, currency: string): string | null {
  const { prompt_tokens, completion_tokens, usage_estimated, cost } = entry;
  if (prompt_tokens === null) return null;
  const used = `read ${prompt_tokens} tokens and wrote ${completion_tokens}`;
  const costs =
    cost === null ? "at an unknown cost" : `at a cost of ${formatMoney(cost)} ${currency}`;
  return `${used}${usage_estimated ? " by an estimate" : ""}, ${costs}`;
}

function explainEnd(entry: LogEntry): string {
  const { status, code, duration_ms, finish_reason, gateway_us } = entry;
  if (code === null) {
    const says = finish_reason === null ? "" : ` ${finish_reason}`;
    const own = !gateway_us ? "" : `, ${gateway_us / 1_000} ms of them the gateway's own`;
    const cut = finish_reason === "length" ? ": the output's limit was reached" : "";
    return `ended ${status}${says} after ${duration_ms} ms${own}${cut}`;
  }
  if (code === LEFT) return `${status} ${code}: the caller left after ${duration_ms} ms`;
  const why = explainCode(entry, code);
  if (status < 400) return `failed inside the stream after ${duration_ms} ms with ${why}`;
  return `${status < 500 ? "refused" : "failed"} ${status} ${why}`;
}

/** `invalid_request (messages): The request is not valid. `messages` is required.` */
function explainCode({ param, reason }: LogEntry, code: string): string {
  const sentence = Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode].message : "";
  const where = param === null ? code : `${code} (${param})`;
  // A sentence of its own may begin with that of the code; what a server did is no sentence.
  const isSame = reason?.startsWith(sentence.replace(/\.$/, ""));
  const details = reason === null || reason.endsWith(".") ? reason : `[${reason}]`;
  const told = [isSame ? "" : sentence, details ?? ""].filter((part) => part !== "");
  return told.length === 0 ? where : `${where}: ${told.join(" ")}`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
