// The context check: compares messages and budget with the model's window before it is asked.
import {
  type Complete,
  type CountTexts,
  type CountTokens,
  countImages,
  listTexts,
  type ModelRequest,
  type UpstreamError,
  upstreamError,
} from "../../models/index.ts";
import type { ModelSettings } from "../../settings/index.ts";

/** Maximum tokens that chat templates add to a prompt and to each message. */
const TEMPLATE_TOKENS = 256;
const TEMPLATE_TOKENS_A_MESSAGE = 16;
/** Tolerance for the bundled tokenizer, which is not the model's. */
const TOLERANCE = 6 / 5;

/**
 * gateway.endpoints.chat_completions.4: the recorded window binds. Requests that surely fit are not
 * counted. If the model cannot count the others, only far too long ones are refused here.
 */
export function checkContext(
  { context_window: window }: Pick<ModelSettings, "context_window">,
  count: CountTokens,
  countTexts: CountTexts,
  complete: Complete,
): Complete {
  if (window === null) return complete;
  return async (request, onChunk, signal) => {
    const room = window - request.max_tokens;
    // Every message has a token.
    if (room <= 0) return refuse();
    const bytes = measureTexts(request);
    const template = TEMPLATE_TOKENS + TEMPLATE_TOKENS_A_MESSAGE * request.messages.length;
    // Only the server knows the tokens of an image.
    const surelyFits = bytes + template <= room && countImages(request) === 0;
    if (surelyFits) return complete(request, onChunk, signal);
    const promptTokens = await count(request, signal);
    if (promptTokens !== null) {
      return promptTokens > room ? refuse(promptTokens) : complete(request, onChunk, signal);
    }
    const tokensMax = Math.floor(window * TOLERANCE) - request.max_tokens;
    // A text has at most as many tokens as bytes.
    const mayBeTooLong = bytes > tokensMax && !signal.aborted;
    const queue = { account: request.account, signal };
    const tokens = mayBeTooLong ? await countTexts(listTexts(request), tokensMax, queue) : null;
    return (tokens ?? 0) > tokensMax ? refuse() : complete(request, onChunk, signal);
  };
}

/** LiteLLM, LangChain, pydantic-ai and others recognize this error by its words. */
export function explainLength(
  { context_window }: Pick<ModelSettings, "context_window">,
  { max_tokens }: Pick<ModelRequest, "max_tokens">,
  { promptTokens }: Pick<UpstreamError, "promptTokens">,
): string {
  const says = "The request exceeds the context window";
  const code = "(context_length_exceeded)";
  if (context_window === null) return `${says} of this model ${code}.`;
  const window = `this model's maximum context length is ${context_window} tokens`;
  const reply = `a reply of up to ${max_tokens} tokens`;
  if (!promptTokens) return `${says}: ${window}, but the messages and ${reply} need more ${code}.`;
  const parts = `(${promptTokens} in the messages, ${max_tokens} for the reply)`;
  return `${says}: ${window}, but it needs ${promptTokens + max_tokens} ${parts} ${code}.`;
}

function refuse(promptTokens?: number): UpstreamError {
  const reason = "the request is too long for the recorded window";
  return upstreamError("context_length_exceeded", reason, { promptTokens });
}

function measureTexts(request: ModelRequest): number {
  let bytes = 0;
  for (const text of listTexts(request)) bytes += Buffer.byteLength(text);
  return bytes;
}
