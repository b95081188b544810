// Reads a recording whole, and replays it in place of the servers of models.
import { statSync } from "node:fs";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type Clock, wait, yieldToEventLoop } from "../../platform/clock.ts";
import { parseJson } from "../../platform/json.ts";
import { readLines } from "../../platform/line-file.ts";
import type { OpenBackend } from "../backend.ts";
import type { Complete, Completion, ModelRequest, OnChunk } from "../providers/contract.ts";
import { timeoutError, upstreamError } from "../providers/openai/errors.ts";
import { abortOnDisconnect } from "../providers/timeouts.ts";
import {
  FILE_BYTES_MAX,
  Head,
  hashRequest,
  RecordedReply,
  RecordingProblem,
  readCompletion,
  VERSION,
} from "./format.ts";

export interface Replay {
  requests: number;
  models: ReadonlySet<string>;
  open: OpenBackend;
}

export interface ReplayedReply extends Pick<RecordedReply, "told" | "ended_ms"> {
  completion: Completion;
}

const CHUNKS_PER_TURN = 64;
const FOREIGN = "this is no recording of `wadi dev --record`";
const MISSING = upstreamError("model_unavailable", "the recording holds no such request");

/** Throws a RecordingProblem. */
export function openReplay(file: string): Replay {
  const library = new ReplayLibrary();
  const models = new Set<string>();
  let requests = 0;
  for (const recorded of readReplies(file)) {
    library.add(recorded);
    models.add(recorded.model);
    requests += 1;
  }
  if (requests === 0) {
    throw new RecordingProblem(`${file} holds no requests: record some with --record`);
  }
  return { requests, models, open: createReplay(library) };
}

function* readReplies(file: string): Generator<RecordedReply> {
  const heads = TypeCompiler.Compile(Head);
  const replies = TypeCompiler.Compile(RecordedReply);
  let at = 0;
  const explain = (says: string) => new RecordingProblem(`${file}:${at}: ${says}`);
  for (const line of openLines(file)) {
    at += 1;
    if (at > 1 && line.trim() === "") continue;
    const value = parseJson(line);
    if (at === 1) {
      if (!heads.Check(value)) throw explain(FOREIGN);
      if (value.wadi_recording === VERSION) continue;
      throw explain("this recording is of another version of wadi: record it anew");
    }
    if (!replies.Check(value) || !isSound(value)) {
      throw explain("this line is damaged: take it out, or record anew");
    }
    yield value;
  }
  if (at === 0) throw new RecordingProblem(`${file}: ${FOREIGN}`);
}

function* openLines(file: string): Generator<string> {
  try {
    const stat = statSync(file);
    // A pipe or a device may never end.
    if (!stat.isFile()) throw new RecordingProblem(`${file} is no file: name one with --replay`);
    if (stat.size > FILE_BYTES_MAX) {
      throw new RecordingProblem(`${file} is larger than 256 MB: split it`);
    }
    yield* readLines(file);
  } catch (failure) {
    if (failure instanceof RecordingProblem) throw failure;
    const { code } = failure as NodeJS.ErrnoException;
    if (!code || code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
      throw new RecordingProblem(`${file} is not UTF-8 text, and so no recording`);
    }
    throw new RecordingProblem(
      code === "ENOENT"
        ? `${file} does not exist: correct --replay`
        : `${file} cannot be read (${code})`,
    );
  }
}

/** Calls are numbered from 0, and the first chunk of each names it. */
function isSound({ told }: RecordedReply): boolean {
  let calls = 0;
  for (const { piece } of told) {
    if (piece.kind !== "call" || piece.index < calls) continue;
    if (piece.index > calls || piece.id === undefined || piece.name === undefined) return false;
    calls += 1;
  }
  return true;
}

export class ReplayLibrary {
  readonly #replies = new Map<string, { recorded: ReplayedReply[]; next: number }>();

  add({ model, key, told, ended_ms, ending }: RecordedReply): void {
    const place = `${key} ${model}`;
    const found = this.#replies.get(place) ?? { recorded: [], next: 0 };
    found.recorded.push({ told, ended_ms, completion: readCompletion(ending) });
    this.#replies.set(place, found);
  }

  /** Returns one reply after the other, and then the last one again and again. */
  next(model: string, request: ModelRequest): ReplayedReply | undefined {
    const find = (one: ModelRequest) => this.#replies.get(`${hashRequest(one)} ${model}`);
    // Rounds of runs are streamed for followers only, who may be others than recorded.
    const found = find(request) ?? find({ ...request, stream: !request.stream });
    if (!found) return undefined;
    const reply = found.recorded[found.next];
    if (found.next < found.recorded.length - 1) found.next += 1;
    return reply;
  }
}

/** Opens backends without servers: none counts tokens, and none is ever down. */
export function createReplay(library: ReplayLibrary): OpenBackend {
  return ({ id }, { clock }) => ({
    complete: replay((request) => library.next(id, request), clock),
    countTokens: async () => null,
    isDown: () => false,
    start() {},
    stop() {},
  });
}

/** Sends each chunk at its recorded time, or as soon as the consumer takes it. */
export function replay(
  find: (request: ModelRequest) => ReplayedReply | undefined,
  clock: Clock,
): Complete {
  return abortOnDisconnect(async (request, onChunk, signal) => {
    const reply = find(request);
    return reply ? play(reply, onChunk, signal, clock) : { ...MISSING };
  });
}

async function play(
  reply: ReplayedReply,
  onChunk: OnChunk,
  signal: AbortSignal,
  clock: Clock,
): Promise<Completion> {
  const startedAt = clock.monotonic();
  let unbroken = 0;
  const waitUntil = (atMs: number): Promise<unknown> | undefined => {
    const pauseMs = startedAt + atMs - clock.monotonic();
    if (pauseMs <= 0 && ++unbroken < CHUNKS_PER_TURN) return undefined;
    unbroken = 0;
    return pauseMs > 0 ? wait(clock, pauseMs, signal) : yieldToEventLoop();
  };
  for (const { at_ms, piece } of reply.told) {
    const pause = waitUntil(at_ms);
    if (pause) await pause;
    if (signal.aborted) return timeoutError("left");
    const held = onChunk(piece);
    if (held) await held;
  }
  await waitUntil(reply.ended_ms);
  // A copy, since others add to it and the reply may be replayed.
  return { ...reply.completion };
}
