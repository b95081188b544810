// Records the replies of model servers without their reasoning.
import type { Clock } from "../../platform/clock.ts";
import { createLineFile, type LineFileEnd } from "../../platform/line-file.ts";
import type { Log } from "../../platform/log.ts";
import { type OpenBackend, openBackend } from "../backend.ts";
import type { Complete, Completion, ModelRequest, OnChunk } from "../providers/contract.ts";
import { REPLY_BYTES_MAX } from "../providers/openai/reply.ts";
import {
  FILE_BYTES_MAX,
  hashRequest,
  type RecordedReply,
  RecordingProblem,
  strip,
  VERSION,
  writeCompletion,
} from "./format.ts";

export interface Recorder {
  open(log: Log): OpenBackend;
  close(): Promise<void>;
}

const CHUNK_BYTES = 64;

/** Creates the file, which must not exist; throws a RecordingProblem. */
export async function openRecorder(file: string, clock: Clock): Promise<Recorder> {
  let report = (_reason: LineFileEnd): void => undefined;
  const recorded_at = new Date(clock.now()).toISOString();
  const head = JSON.stringify({ wadi_recording: VERSION, recorded_at });
  const onEnd = (reason: LineFileEnd) => report(reason);
  const options = { clock, head, bytesMax: FILE_BYTES_MAX, onEnd };
  const lines = await createLineFile(file, options).catch((failure) => {
    throw explainFailure(file, failure);
  });
  return {
    open(log) {
      // Requests are answered all the same.
      report = (reason) => log.error("recording: the file cannot grow further", { reason });
      return (model, options) => {
        const backend = openBackend(model, options);
        const complete = record(backend.complete, {
          clock: options.clock,
          keep: (reply) => lines.append(() => writeReply(model.id, reply)),
          onTooLarge: ({ request_id }) =>
            log.warn("recording: a reply is too long", { request_id, model: model.id }),
        });
        return { ...backend, complete };
      };
    },
    close: () => lines.close(),
  };
}

interface RecorderReply extends Pick<RecordedReply, "told" | "ended_ms"> {
  request: ModelRequest;
  completion: Completion;
}

interface RecordOptions {
  clock: Clock;
  keep(reply: RecorderReply): void;
  onTooLarge(request: ModelRequest): void;
}

/** Keeps whole replies with their timing; not those whose caller left, or that an ApiError ends. */
export function record(complete: Complete, { clock, keep, onTooLarge }: RecordOptions): Complete {
  return async (request, onChunk, signal) => {
    const startedAt = clock.monotonic();
    const measure = () => Math.round((clock.monotonic() - startedAt) * 1_000) / 1_000;
    let told: RecorderReply["told"] = [];
    let bytes = 0;
    const passOn: OnChunk = (chunk) => {
      bytes += CHUNK_BYTES + (chunk.kind === "text" ? chunk.text : chunk.arguments).length;
      if (bytes <= REPLY_BYTES_MAX) told.push({ at_ms: measure(), piece: chunk });
      else told = [];
      return onChunk(chunk);
    };
    const completion = await complete(request, passOn, signal);
    const hasLeft =
      !completion.ok && (signal.aborted || completion.code === "client_closed_request");
    if (bytes > REPLY_BYTES_MAX) onTooLarge(request);
    else if (!hasLeft) keep({ request, told, ended_ms: measure(), completion });
    return completion;
  };
}

function writeReply(model: string, { request, told, ended_ms, completion }: RecorderReply): string {
  const recorded: RecordedReply = {
    model,
    key: hashRequest(request),
    ask: strip(request),
    told,
    ended_ms,
    ending: writeCompletion(completion),
  };
  return JSON.stringify(recorded);
}

function explainFailure(file: string, failure: unknown): RecordingProblem {
  const { code = "unknown error" } = failure as NodeJS.ErrnoException;
  return new RecordingProblem(
    code === "EEXIST"
      ? `${file} is there already, and --record overwrites nothing: name another file`
      : `${file} cannot be made (${code}): name another with --record`,
  );
}
