// One attempt of a think: what it is asked, and the whole of what it says, within a limit.
import type {
  Chunk,
  Complete,
  Completion,
  ModelRequest,
  OnChunk,
  UpstreamError,
} from "../../../models/index.ts";
import { readKey } from "./key.ts";
import type { Voice } from "./vote.ts";

/** All that an attempt has said is kept until it is known who wins. */
const CHARACTERS_MAX = 1_000_000;
/** What a piece of a call takes beside its text. */
const PIECE_CHARACTERS = 64;
/** Attempts that all say the same by themselves would agree on nothing. */
const TEMPERATURE = 0.7;

const TOO_LONG: UpstreamError = {
  ok: false,
  code: "upstream_error",
  retryable: false,
  reason: "an attempt at thinking is longer than a million characters",
};

/** One that has ended well. */
export interface Attempted extends Voice {
  ok: true;
  finish_reason: string;
  calls: readonly Chunk[];
}

export interface Attempt {
  /** Resolves with how its answer ended; what it throws is a bug, or a refusal from within. */
  ended: Promise<Completion>;
  /** What it has come to, once it has ended: an answer that went well may be too long. */
  result: Attempted | UpstreamError | null;
  abort(): void;
}

/** The ask of the attempt with this index. A caller's own temperature and seed are its wish. */
export function writeAttempt(request: ModelRequest, index: number): ModelRequest {
  const { request_id, temperature, seed } = request;
  return {
    ...request,
    // vLLM refuses an id that is already under way: only the first attempt bears the request's.
    request_id: index === 0 ? request_id : `${request_id}.${index}`,
    tools: [],
    tool_choice: null,
    temperature: temperature ?? TEMPERATURE,
    seed: seed === null ? null : shiftSeed(seed, index),
  };
}

/** Beyond 53 bits servers refuse it: there it goes down instead of up. */
function shiftSeed(seed: number, index: number): number {
  return Number.isSafeInteger(seed + index) ? seed + index : seed - index;
}

/** Asks, and tells nobody what comes. */
export function startAttempt(answer: Complete, request: ModelRequest): Attempt {
  const aborting = new AbortController();
  let texts: string[] = [];
  let calls: Chunk[] = [];
  let length = 0;
  const hear: OnChunk = (piece) => {
    const isText = piece.kind === "text";
    length += isText ? piece.text.length : piece.arguments.length + PIECE_CHARACTERS;
    if (length > CHARACTERS_MAX) {
      texts = [];
      calls = [];
      aborting.abort();
    } else if (isText) texts.push(piece.text);
    // Nobody has offered a tool, but what a model says is passed on as ever.
    else calls.push(piece);
  };
  const judge = (ending: Completion): Attempted | UpstreamError => {
    if (length > CHARACTERS_MAX) return TOO_LONG;
    if (!ending.ok) return ending;
    const text = texts.join("");
    const key = readKey(text || calls.map(writeCall).join(""));
    return { ok: true, key, text, calls, finish_reason: ending.finishReason };
  };
  const run = async (): Promise<Completion> => {
    const ending = await answer(request, hear, aborting.signal);
    attempt.result = judge(ending);
    return ending;
  };
  const attempt: Attempt = { ended: run(), result: null, abort: () => aborting.abort() };
  return attempt;
}

function writeCall(piece: Chunk): string {
  return piece.kind === "call" ? `${piece.name ?? ""}${piece.arguments}` : "";
}
