// The end of one run that somebody listens to: it is read once, and each frame is written once, for
// all who listen.
import type { Bound } from "../../../database/index.ts";
import type { StepRow } from "../step.ts";
import type { runStore } from "../store/index.ts";
import type { RunPosition } from "../store/lists.ts";
import { FINAL } from "../transitions.ts";
import { endFrame, newsFrames, type StreamPosition } from "./frames.ts";

/** Who has been told of a run up to `told`, and waits for more. */
export interface Listener {
  told: StreamPosition;
  pass(frames: string): void;
  /** The run is over, or cannot be told of any more. */
  end(): void;
}

/** Steps of one look, of long ones fewer: who comes late may lack many. */
export const STEPS_AT_ONCE = 100;

export interface Tail {
  join(listener: Listener): void;
  leave(listener: Listener): void;
  /** Something may have happened. */
  look(): void;
}

export interface TailOptions {
  run_id: string;
  runs: Bound<typeof runStore>;
  onFailure(failure: unknown): void;
  /** Nobody listens any more. */
  onEmpty(): void;
}

export function createTail({ run_id, runs, onFailure, onEmpty }: TailOptions): Tail {
  const listeners = new Set<Listener>();
  let isLooking = false;
  let isDue = false;

  const endAll = (all: Iterable<Listener>) => {
    for (const listener of [...all]) listener.end();
  };

  /** Told are those who were there before the look: nobody of them knows more than it finds. */
  const tellAll = async (present: readonly Listener[]) => {
    const standing = await runs.findStanding(run_id);
    if (!standing) return endAll(present);
    const seen = Math.min(...present.map(({ told }) => told.seq));
    const steps = await readSteps(seen, standing);
    const isBehind = (steps.at(-1)?.seq ?? seen) < standing.last_seq;
    if (isBehind && steps.length === 0) return endAll(present);
    const now = isBehind ? standAt(steps.at(-1)!, standing) : standing;
    const reached: StreamPosition = { status: now.status, seq: now.last_seq };
    const news = new Map<StreamPosition, string>();
    for (const listener of present) {
      const { told } = listener;
      if (isBehind && told.seq >= reached.seq) continue;
      let frames = news.get(told);
      if (frames === undefined) {
        frames = newsFrames(told, steps, now);
        news.set(told, frames);
      }
      // One for all: next time they are told the same.
      listener.told = reached;
      if (frames !== "") listener.pass(frames);
    }
    if (isBehind) isDue = true;
    else if (FINAL.has(now.status)) await finish(present);
  };

  const readSteps = async (seen: number, standing: RunPosition): Promise<StepRow[]> => {
    if (seen >= standing.last_seq) return [];
    const steps = await runs.listSteps(run_id, seen, STEPS_AT_ONCE);
    // What was written since the standing was read is told with the standing that follows it.
    return steps.filter(({ seq }) => seq <= standing.last_seq);
  };

  const finish = async (present: readonly Listener[]) => {
    const run = await runs.find(run_id, null);
    const frames = run && endFrame(run);
    for (const listener of present) {
      if (frames) listener.pass(frames);
      listener.end();
    }
  };

  const lookAgain = async () => {
    try {
      do {
        isDue = false;
        if (listeners.size > 0) await tellAll([...listeners]);
      } while (isDue);
    } catch (failure) {
      onFailure(failure);
      // They come again, and find whatever there is then.
      endAll(listeners);
    } finally {
      isLooking = false;
    }
  };

  const look = () => {
    isDue = true;
    if (isLooking) return;
    isLooking = true;
    void lookAgain();
  };
  return {
    look,
    join(listener) {
      listeners.add(listener);
      // Something may have happened since it was told.
      look();
    },
    leave(listener) {
      if (listeners.delete(listener) && listeners.size === 0) onEmpty();
    },
  };
}

/** Where the run stood when a step was written. */
function standAt(step: StepRow, { started_at }: RunPosition): RunPosition {
  return { status: step.status as RunPosition["status"], last_seq: step.seq, started_at };
}
