// A conversation with a model: its messages, and the stream of each answer.
import { AdminError } from "../admin/index.ts";
import { openTextStream } from "../net/index.ts";
import { parseJson } from "../platform/json.ts";
import { findErrorMessage } from "./remote.ts";

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

export interface ChatSessionOptions {
  /** Without a slash at the end. */
  url: string;
  key: string;
  model: string | undefined;
  /** Messages with which every conversation begins. */
  start: readonly ChatMessage[];
}

export interface ChatAnswer {
  model: string;
  content: string;
  finish_reason: string | null;
}

export interface ChatListener {
  signal: AbortSignal;
  onText(text: string): void;
}

interface ChatChunk {
  model?: string;
  error?: { message?: string };
  choices?: { delta?: { content?: string | null }; finish_reason?: string | null }[];
}

export class ChatSession {
  model: string | undefined;
  readonly #options: ChatSessionOptions;
  #messages: ChatMessage[];

  constructor(options: ChatSessionOptions) {
    this.#options = options;
    this.model = options.model;
    this.#messages = [...options.start];
  }

  clear(): void {
    this.#messages = [...this.#options.start];
  }

  /** Asks with the whole conversation; a question that fails is not part of it. */
  async ask(question: string, listener: ChatListener): Promise<ChatAnswer> {
    const messages: ChatMessage[] = [...this.#messages, { role: "user", content: question }];
    const answer = await this.#stream(messages, listener);
    this.#messages = [...messages, { role: "assistant", content: answer.content }];
    return answer;
  }

  async #stream(
    messages: readonly ChatMessage[],
    { signal, onText }: ChatListener,
  ): Promise<ChatAnswer> {
    const { url, key } = this.#options;
    const reply = await openTextStream(`${url}/v1/chat/completions`, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: this.model, messages, stream: true }),
      signal,
    }).catch((failure: Error) => {
      throw new AdminError(`${url} cannot be reached: ${failure.message}`);
    });
    if (!reply.isGood) {
      const message = findErrorMessage(parseJson(await join(reply.pieces)));
      throw new AdminError(message ?? `the server answered ${reply.status}`);
    }
    const answer: ChatAnswer = { model: this.model ?? "", content: "", finish_reason: null };
    let isDone = false;
    for await (const data of readEvents(reply.pieces)) {
      if (data === "[DONE]") isDone = true;
      else take(data, answer, onText);
    }
    if (!isDone) throw new AdminError("the answer broke off");
    return answer;
  }
}

function take(data: string, answer: ChatAnswer, onText: (text: string) => void): void {
  const chunk = parseJson(data) as ChatChunk | undefined;
  if (chunk?.error) throw new AdminError(chunk.error.message ?? "the answer failed");
  const [choice] = chunk?.choices ?? [];
  const text = choice?.delta?.content;
  answer.model = chunk?.model ?? answer.model;
  answer.finish_reason = choice?.finish_reason ?? answer.finish_reason;
  if (!text) return;
  answer.content += text;
  onText(text);
}

const PREFIX = "data: ";

/** Reads the data of server-sent events as this program's server writes them: a line each. */
async function* readEvents(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith(PREFIX)) yield line.slice(PREFIX.length);
  }
}

async function join(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}
