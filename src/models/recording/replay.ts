// Plays what was recorded in place of the servers of models, none of which is asked.
import { type Clock, nextTurn, wait } from "../../platform/clock.ts";
import type { OpenBackend } from "../backend.ts";
import type {
  Complete,
  Completion,
  ModelRequest,
  OnChunk,
  UpstreamError,
} from "../providers/contract.ts";
import { timeoutError } from "../providers/openai/errors.ts";
import { abortOnDisconnect } from "../providers/timeouts.ts";
import { hashRequest, type RecordedReply, readCompletion } from "./format.ts";

export interface ReplayedReply extends Pick<RecordedReply, "told" | "ended_ms"> {
  ending: Completion;
}

/** So many pieces that are due go out in one turn of the event loop. */
const PIECES_A_TURN = 64;

const MISSING: UpstreamError = {
  ok: false,
  code: "model_unavailable",
  retryable: false,
  reason: "the recording holds no such request",
};

/** What was recorded of each ask, in its order. */
export function createReplayLibrary() {
  const shelf = new Map<string, { takes: ReplayedReply[]; next: number }>();
  return {
    add({ model, key, told, ended_ms, ending }: RecordedReply): void {
      const place = `${key} ${model}`;
      const found = shelf.get(place) ?? { takes: [], next: 0 };
      found.takes.push({ told, ended_ms, ending: readCompletion(ending) });
      shelf.set(place, found);
    },
    /** One after the other, and the last one again and again; undefined: it was never asked. */
    next(model: string, ask: ModelRequest): ReplayedReply | undefined {
      const found = shelf.get(`${hashRequest(ask)} ${model}`);
      if (!found) return undefined;
      const take = found.takes[found.next];
      if (found.next < found.takes.length - 1) found.next += 1;
      return take;
    },
  };
}
export type ReplayLibrary = ReturnType<typeof createReplayLibrary>;

/** Supplies without servers: nobody counts tokens, and nobody is ever down. */
export function createReplay(shelf: ReplayLibrary): OpenBackend {
  return ({ id }, { clock }) => ({
    complete: replay((ask) => shelf.next(id, ask), clock),
    countTokens: async () => null,
    isDown: () => false,
    start() {},
    stop() {},
  });
}

/** Each piece at its time since the ask; what an ear has held back comes as soon as it may. */
export function replay(
  find: (ask: ModelRequest) => ReplayedReply | undefined,
  clock: Clock,
): Complete {
  return abortOnDisconnect(async (ask, onChunk, signal) => {
    const take = find(ask);
    return take ? play(take, { onChunk, signal, clock }) : { ...MISSING };
  });
}

interface Playing {
  onChunk: OnChunk;
  signal: AbortSignal;
  clock: Clock;
}

async function play(take: ReplayedReply, { onChunk, signal, clock }: Playing): Promise<Completion> {
  const asked_ms = clock.monotonic();
  let unbroken = 0;
  const reach = (at_ms: number): Promise<unknown> | undefined => {
    const pause_ms = asked_ms + at_ms - clock.monotonic();
    if (pause_ms <= 0 && ++unbroken < PIECES_A_TURN) return undefined;
    unbroken = 0;
    return pause_ms > 0 ? wait(clock, pause_ms, signal) : nextTurn();
  };
  for (const { at_ms, piece } of take.told) {
    const pause = reach(at_ms);
    if (pause) await pause;
    if (signal.aborted) return timeoutError("left");
    const held = onChunk(piece);
    if (held) await held;
  }
  await reach(take.ended_ms);
  // It may be added to, and the take be played again.
  return { ...take.ending };
}
