// A response while it is made: its items, its status, and the fields that are given back.
import type { CompletionOk, TokenUsage } from "../../models/index.ts";
import type { Ids } from "../../platform/ids.ts";
import type { ReplyMessage } from "../chat/reply.ts";
import { type FunctionTool, isFunctionTool, type ResponsesRequest } from "./request.ts";
import type {
  OutputCall,
  OutputItem,
  OutputMessage,
  OutputText,
  ResponseObject,
} from "./resource.ts";

export interface ResponseIdentity {
  id: string;
  created_at: number;
  model: string;
}

type Ending = Pick<CompletionOk, "finishReason" | "usage">;

/** Why a response is incomplete; others are complete. */
const INCOMPLETE: ReadonlyMap<string, string> = new Map([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

/** A response that has begun. */
export function beginResponse(sent: ResponsesRequest, identity: ResponseIdentity): ResponseObject {
  const { instructions = null, tools, text, reasoning, metadata } = sent;
  return {
    ...{ id: identity.id, object: "response", created_at: identity.created_at },
    ...{ completed_at: null, status: "in_progress", error: null, incomplete_details: null },
    ...{ model: identity.model, output: [], usage: null, instructions },
    tools: (tools ?? []).filter(isFunctionTool).map(showTool),
    tool_choice: showChoice(sent.tool_choice ?? "auto"),
    parallel_tool_calls: sent.parallel_tool_calls ?? true,
    temperature: sent.temperature ?? 1,
    top_p: sent.top_p ?? 1,
    presence_penalty: sent.presence_penalty ?? 0,
    frequency_penalty: sent.frequency_penalty ?? 0,
    max_output_tokens: sent.max_output_tokens ?? null,
    text: { format: text?.format ?? { type: "text" } },
    reasoning: reasoning ? { effort: reasoning.effort ?? null, summary: null } : null,
    metadata: metadata ?? {},
    safety_identifier: sent.safety_identifier ?? null,
    prompt_cache_key: sent.prompt_cache_key ?? null,
    ...{ store: false, background: false, truncation: "disabled", service_tier: "default" },
    ...{ top_logprobs: 0, max_tool_calls: null, previous_response_id: null },
  };
}

function showChoice(choice: NonNullable<ResponsesRequest["tool_choice"]>) {
  const isSome = typeof choice === "object" && choice.type === "allowed_tools";
  return isSome ? { ...choice, mode: choice.mode ?? "auto" } : choice;
}

function showTool({ name, description = null, parameters = null, strict = null }: FunctionTool) {
  return { type: "function" as const, name, description, parameters, strict };
}

/** The response once the model has ended. */
export function endResponse(
  begun: ResponseObject,
  output: OutputItem[],
  { finishReason, usage }: Ending,
  now: number,
): ResponseObject {
  const reason = INCOMPLETE.get(finishReason);
  const shown = { ...begun, output, usage: showUsage(usage) };
  if (reason !== undefined) {
    return { ...shown, status: "incomplete", incomplete_details: { reason } };
  }
  return { ...shown, status: "completed", completed_at: Math.floor(now / 1000) };
}

/** The status of the last item; those before it are complete. */
export function statusOfLast({ finishReason }: Ending): "completed" | "incomplete" {
  return INCOMPLETE.has(finishReason) ? "incomplete" : "completed";
}

/** The items of a whole reply. */
export function listItems(
  { content, tool_calls = [] }: ReplyMessage,
  ending: Ending,
  ids: Ids,
): OutputItem[] {
  const calls = tool_calls.map(({ id, function: { name, arguments: text } }): OutputCall => {
    return { ...beginCall(ids, id, name), arguments: text, status: "completed" };
  });
  const part = writeText(content ?? "");
  const said: OutputMessage = { ...beginMessage(ids), content: [part], status: "completed" };
  const items: OutputItem[] = content || calls.length === 0 ? [said, ...calls] : calls;
  return items.with(-1, { ...items.at(-1)!, status: statusOfLast(ending) });
}

function showUsage({ prompt_tokens, completion_tokens, total_tokens }: TokenUsage) {
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  };
}

export function writeText(text: string): OutputText {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

export function beginMessage(ids: Ids): OutputMessage {
  const id = `msg_${ids.token(24)}`;
  return { type: "message", id, status: "in_progress", role: "assistant", content: [] };
}

export function beginCall(ids: Ids, call_id: string, name: string): OutputCall {
  const id = `fc_${ids.token(24)}`;
  return { type: "function_call", id, call_id, name, arguments: "", status: "in_progress" };
}
