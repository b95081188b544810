// Records what the servers of models answer, behind the filter that keeps their thoughts in.
import type { Clock } from "../../platform/clock.ts";
import { createLineFile, type LineFileEnd } from "../../platform/line-file.ts";
import type { Log } from "../../platform/log.ts";
import { type OpenSupply, openSupply } from "../supply.ts";
import type { Answer, Ask, Ear, Piece } from "../upstream/contract.ts";
import { REPLY_BYTES_MAX } from "../upstream/openai-reply.ts";
import {
  FILE_BYTES_MAX,
  hashAsk,
  RecordingProblem,
  strip,
  type Take,
  VERSION,
} from "./recording.ts";

export interface Recorder {
  /** Supplies whose answers are recorded. */
  open(log: Log): OpenSupply;
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
  const options = { clock, head, bytes_max: FILE_BYTES_MAX, onEnd };
  const lines = await createLineFile(file, options).catch((failure) => {
    throw explainMaking(file, failure);
  });
  return {
    open(log) {
      // What is not recorded any more is answered all the same.
      tell = (why) => log.error(`the recording ends here (${why}); it holds what came before`);
      return (model, around) => {
        const supply = openSupply(model, around);
        const answer = record(supply.answer, {
          clock: around.clock,
          keep: (take) => lines.append(() => writeTake(model.id, take)),
          onTooLarge: ({ request_id }) =>
            log.warn("a reply is too long to be recorded", { request_id, model: model.id }),
        });
        return { ...supply, answer };
      };
    },
    close: lines.close,
  };
}

type Heard = Omit<Take, "model" | "key" | "ask"> & { ask: Ask };

interface RecordOptions {
  clock: Clock;
  keep(heard: Heard): void;
  onTooLarge(ask: Ask): void;
}

/**
 * The same answer, each of which is kept with its timing. Whoever leaves has not heard it to its
 * end: nothing of it is kept, nor of what a script of the stub refuses in the gateway's own name.
 */
export function record(answer: Answer, { clock, keep, onTooLarge }: RecordOptions): Answer {
  return async (ask, ear, signal) => {
    const asked_ms = clock.monotonic();
    const measure = () => Math.round((clock.monotonic() - asked_ms) * 1_000) / 1_000;
    let told: Heard["told"] = [];
    let bytes = 0;
    const hear: Ear = (piece) => {
      bytes += PIECE_BYTES + lengthOf(piece);
      if (bytes <= REPLY_BYTES_MAX) told.push({ at_ms: measure(), piece });
      else told = [];
      return ear(piece);
    };
    const ending = await answer(ask, hear, signal);
    const hasLeft = !ending.ok && (signal.aborted || ending.code === "client_closed_request");
    if (bytes > REPLY_BYTES_MAX) onTooLarge(ask);
    else if (!hasLeft) keep({ ask, told, ended_ms: measure(), ending });
    return ending;
  };
}

function lengthOf(piece: Piece): number {
  return piece.kind === "text" ? piece.text.length : piece.arguments.length;
}

function writeTake(model: string, { ask, told, ended_ms, ending }: Heard): string {
  const take: Take = { model, key: hashAsk(ask), ask: strip(ask), told, ended_ms, ending };
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
