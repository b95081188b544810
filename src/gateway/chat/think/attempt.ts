// One attempt of deep thinking: its request, and its whole reply within a limit.
import {
  type Chunk,
  type Complete,
  type Completion,
  type ModelRequest,
  type UpstreamError,
  upstreamError,
} from "../../../models/index.ts";
import { readAnswer } from "./answer.ts";

/** Maximum characters of a reply, which is kept until the winner is known. */
const CHARACTERS_MAX = 1_000_000;
const CALL_CHARACTERS = 64;
/** Default temperature; at 0 all attempts would give the same answer. */
const TEMPERATURE = 0.7;

const TOO_LONG = upstreamError(
  "upstream_error",
  "an attempt of deep thinking is longer than a million characters",
);

export interface AttemptReply {
  ok: true;
  answer: string;
  text: string;
  calls: readonly Chunk[];
  finishReason: string;
}

export class Attempt {
  readonly ended: Promise<void>;
  completion: Completion | undefined;
  /** Known once the attempt has ended; a completion that went well may be too long. */
  result: AttemptReply | UpstreamError | undefined;
  readonly #abort = new AbortController();
  #texts: string[] = [];
  #calls: Chunk[] = [];
  #characters = 0;

  constructor(complete: Complete, request: ModelRequest, index: number) {
    this.ended = this.#run(complete, buildAttemptRequest(request, index));
  }

  /** An ended attempt is left alone: aborting would close a connection that can be kept. */
  abort(): void {
    if (!this.result) this.#abort.abort();
  }

  async #run(complete: Complete, request: ModelRequest): Promise<void> {
    const onChunk = (chunk: Chunk) => this.#add(chunk);
    this.completion = await complete(request, onChunk, this.#abort.signal);
    this.result = this.#readResult(this.completion);
  }

  #add(chunk: Chunk): void {
    const isText = chunk.kind === "text";
    this.#characters += isText ? chunk.text.length : chunk.arguments.length + CALL_CHARACTERS;
    if (this.#characters > CHARACTERS_MAX) {
      this.#texts = [];
      this.#calls = [];
      this.#abort.abort();
    } else if (isText) this.#texts.push(chunk.text);
    // Models may call tools that were not offered; their calls are passed on.
    else this.#calls.push(chunk);
  }

  #readResult(completion: Completion): AttemptReply | UpstreamError {
    if (this.#characters > CHARACTERS_MAX) return TOO_LONG;
    if (!completion.ok) return completion;
    const { finishReason } = completion;
    const text = this.#texts.join("");
    const answer = readAnswer(text || this.#calls.map(writeCall).join(""));
    return { ok: true, answer, text, calls: this.#calls, finishReason };
  }
}

function buildAttemptRequest(request: ModelRequest, index: number): ModelRequest {
  const { request_id, temperature, seed } = request;
  return {
    ...request,
    // vLLM refuses an id that is already in use.
    request_id: index === 0 ? request_id : `${request_id}.${index}`,
    tools: [],
    tool_choice: null,
    temperature: temperature ?? TEMPERATURE,
    seed: seed === null ? null : shiftSeed(seed, index),
  };
}

/** Servers refuse seeds beyond 53 bits. */
function shiftSeed(seed: number, index: number): number {
  return Number.isSafeInteger(seed + index) ? seed + index : seed - index;
}

function writeCall(chunk: Chunk): string {
  return chunk.kind === "call" ? `${chunk.name ?? ""}${chunk.arguments}` : "";
}
