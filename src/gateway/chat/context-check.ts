// The context check: whether messages and budget fit in the model's window, before anyone is asked.
import {
  type Complete,
  type CountTexts,
  type CountTokens,
  countImages,
  listTexts,
  type ModelRequest,
  type UpstreamError,
} from "../../models/index.ts";
import type { ModelSettings } from "../../settings/index.ts";

/** What chat templates add to a prompt and to each of its messages; most add far less. */
const TEMPLATE_TOKENS = 256;
const TEMPLATE_TOKENS_A_MESSAGE = 16;
/** The bundled tokenizer is not the model's: it is believed from a fifth above the window on. */
const BELIEVED_FROM = 6 / 5;

/**
 * gateway.endpoints.chat_completions.4: the recorded window binds. What surely fits passes unasked;
 * else the model counts; where it cannot, only what is far too long is refused, and the server
 * judges the rest.
 */
export function checkContext(
  { context_window: window }: Pick<ModelSettings, "context_window">,
  count: CountTokens,
  countTexts: CountTexts,
  answer: Complete,
): Complete {
  if (window === null) return answer;
  return async (ask, onChunk, signal) => {
    const room = window - ask.max_tokens;
    // There is no message without a token.
    if (room <= 0) return refuse();
    const bytes = measureTexts(ask);
    const template = TEMPLATE_TOKENS + TEMPLATE_TOKENS_A_MESSAGE * ask.messages.length;
    // What an image costs only its server knows.
    const surelyFits = bytes + template <= room && countImages(ask) === 0;
    if (surelyFits) return answer(ask, onChunk, signal);
    const prompt_tokens = await count(ask, signal);
    if (prompt_tokens !== null) {
      return prompt_tokens > room ? refuse(prompt_tokens) : answer(ask, onChunk, signal);
    }
    const tokensMax = Math.floor(window * BELIEVED_FROM) - ask.max_tokens;
    // No text has more tokens than bytes.
    const mayBeFar = bytes > tokensMax && !signal.aborted;
    const turn = { account: ask.account, signal };
    const tokens = mayBeFar ? await countTexts(listTexts(ask), tokensMax, turn) : null;
    return (tokens ?? 0) > tokensMax ? refuse() : answer(ask, onChunk, signal);
  };
}

/** The sentence by whose words LiteLLM, LangChain, pydantic-ai and others know a length refusal. */
export function explainLength(
  { context_window }: Pick<ModelSettings, "context_window">,
  { max_tokens }: Pick<ModelRequest, "max_tokens">,
  { promptTokens: prompt_tokens }: Pick<UpstreamError, "promptTokens">,
): string {
  const says = "The request exceeds the context window";
  const code = "(context_length_exceeded)";
  if (context_window === null) return `${says} of this model ${code}.`;
  const window = `this model's maximum context length is ${context_window} tokens`;
  const reply = `a reply of up to ${max_tokens} tokens`;
  if (!prompt_tokens) return `${says}: ${window}, but the messages and ${reply} need more ${code}.`;
  const parts = `(${prompt_tokens} in the messages, ${max_tokens} for the reply)`;
  return `${says}: ${window}, but it needs ${prompt_tokens + max_tokens} ${parts} ${code}.`;
}

function refuse(prompt_tokens?: number): UpstreamError {
  const why = "the request is too long for the recorded window";
  return {
    ok: false,
    code: "context_length_exceeded",
    retryable: false,
    reason: why,
    promptTokens: prompt_tokens,
  };
}

/** Bytes of everything that the model reads as text. */
function measureTexts(request: ModelRequest): number {
  let bytes = 0;
  for (const text of listTexts(request)) bytes += Buffer.byteLength(text);
  return bytes;
}
