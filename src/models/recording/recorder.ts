// Records what the servers of models answer, behind the filter that keeps their thoughts in.
import type { Clock } from "../../platform/clock.ts";
import { createLineFile, type LineFileEnd } from "../../platform/line-file.ts";
import type { Log } from "../../platform/log.ts";
import { type OpenBackend, openBackend } from "../backend.ts";
import type { Chunk, Complete, Completion, ModelRequest, OnChunk } from "../providers/contract.ts";
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
  /** Supplies whose answers are recorded. */
  open(log: Log): OpenBackend;
  /** Writes what is still to be written. */
  close(): Promise<void>;
}

/** What a piece takes beside its text. */
const PIECE_BYTES = 64;

/** Makes the file, which must not be there; throws a RecordingProblem. */
export async function openRecorder(file: string, clock: Clock): Promise<Recorder> {
  let tell = (_why: LineFileEnd): void => undefined;
  const recorded_at = new Date(clock.now()).toISOString();
  const head = JSON.stringify({ wadi_recording: VERSION, recorded_at });
  const onEnd = (why: LineFileEnd) => tell(why);
  const options = { clock, head, bytesMax: FILE_BYTES_MAX, onEnd };
  const lines = await createLineFile(file, options).catch((failure) => {
    throw explainMaking(file, failure);
  });
  return {
    open(log) {
      // What is not recorded any more is answered all the same.
      tell = (why) => log.error(`the recording ends here (${why}); it holds what came before`);
      return (model, around) => {
        const supply = openBackend(model, around);
        const answer = record(supply.complete, {
          clock: around.clock,
          keep: (take) => lines.append(() => writeTake(model.id, take)),
          onTooLarge: ({ request_id }) =>
            log.warn("a reply is too long to be recorded", { request_id, model: model.id }),
        });
        return { ...supply, complete: answer };
      };
    },
    close: () => lines.close(),
  };
}

type Heard = Pick<RecordedReply, "told" | "ended_ms"> & { ask: ModelRequest; ending: Completion };

interface RecordOptions {
  clock: Clock;
  keep(heard: Heard): void;
  onTooLarge(ask: ModelRequest): void;
}

/**
 * The same answer, each of which is kept with its timing. Whoever leaves has not heard it to its
 * end: nothing of it is kept, nor of what a script of the stub refuses in the gateway's own name.
 */
export function record(answer: Complete, { clock, keep, onTooLarge }: RecordOptions): Complete {
  return async (ask, onChunk, signal) => {
    const asked_ms = clock.monotonic();
    const measure = () => Math.round((clock.monotonic() - asked_ms) * 1_000) / 1_000;
    let told: Heard["told"] = [];
    let bytes = 0;
    const hear: OnChunk = (piece) => {
      bytes += PIECE_BYTES + lengthOf(piece);
      if (bytes <= REPLY_BYTES_MAX) told.push({ at_ms: measure(), piece });
      else told = [];
      return onChunk(piece);
    };
    const ending = await answer(ask, hear, signal);
    const hasLeft = !ending.ok && (signal.aborted || ending.code === "client_closed_request");
    if (bytes > REPLY_BYTES_MAX) onTooLarge(ask);
    else if (!hasLeft) keep({ ask, told, ended_ms: measure(), ending });
    return ending;
  };
}

function lengthOf(piece: Chunk): number {
  return piece.kind === "text" ? piece.text.length : piece.arguments.length;
}

function writeTake(model: string, { ask, told, ended_ms, ending }: Heard): string {
  const take: RecordedReply = {
    model,
    key: hashRequest(ask),
    ask: strip(ask),
    told,
    ended_ms,
    ending: writeCompletion(ending),
  };
  return JSON.stringify(take);
}

function explainMaking(file: string, failure: unknown): RecordingProblem {
  const { code = "unknown error" } = failure as NodeJS.ErrnoException;
  return new RecordingProblem(
    code === "EEXIST"
      ? `${file} is there already, and --record overwrites nothing: name another file`
      : `${file} cannot be made (${code}): name another with --record`,
  );
}
