// The tail of one run: read once for all who listen to it.
import type { Clock } from "../../../platform/clock.ts";
import { type NextPass, WorkerLoop } from "../../../platform/worker-loop.ts";
import type { StepRow } from "../step.ts";
import type { RunStore } from "../store/index.ts";
import type { RunPosition } from "../store/reads.ts";
import { FINAL } from "../transitions.ts";
import { endFrame, newsFrames, type StreamPosition } from "./frames.ts";

export const STEPS_AT_ONCE = 100;

export interface Listener {
  position: StreamPosition;
  /** `steps` are the steps of the frames; earlier steps may stand before them. */
  pass(frames: string, steps: readonly StepRow[]): void;
  end(): void;
}

export interface TailOptions {
  run_id: string;
  runs: RunStore;
  clock: Clock;
  onFailure(failure: unknown): void;
  onEmpty(): void;
}

export class Tail {
  readonly #options: TailOptions;
  readonly #listeners = new Set<Listener>();
  readonly #loop: WorkerLoop;

  constructor(options: TailOptions) {
    this.#options = options;
    this.#loop = new WorkerLoop({
      clock: options.clock,
      work: () => this.#read(),
      onError: (failure) => {
        options.onFailure(failure);
        this.#endAll();
      },
      retryMs: 0,
    });
  }

  join(listener: Listener): void {
    this.#listeners.add(listener);
    // The run may have changed since the listener's position.
    this.#loop.wake();
  }

  leave(listener: Listener): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#options.onEmpty();
  }

  wake(): void {
    this.#loop.wake();
  }

  #endAll(listeners: Iterable<Listener> = this.#listeners): void {
    for (const listener of [...listeners]) listener.end();
  }

  async #read(): Promise<NextPass> {
    const { run_id, runs } = this.#options;
    // Listeners that join during the read know more than it finds.
    const present = [...this.#listeners];
    if (present.length === 0) return "on_wake";
    const latest = await runs.findPosition(run_id);
    if (!latest) {
      this.#endAll(present);
      return "on_wake";
    }
    const from = Math.min(...present.map(({ position }) => position.seq));
    const steps = await this.#readSteps(from, latest);
    const last = steps.at(-1);
    const isBehind = (last?.seq ?? from) < latest.last_seq;
    if (isBehind && !last) {
      this.#endAll(present);
      return "on_wake";
    }
    const now = isBehind ? positionAt(last!, latest) : latest;
    this.#passNews(present, steps, now, isBehind);
    if (isBehind) return "now";
    if (FINAL.has(now.status)) await this.#finish(present);
    return "on_wake";
  }

  /** Steps committed after the position was read are left to the next read. */
  async #readSteps(from: number, { last_seq }: RunPosition): Promise<StepRow[]> {
    if (from >= last_seq) return [];
    const { run_id, runs } = this.#options;
    const steps = await runs.listSteps(run_id, from, STEPS_AT_ONCE);
    return steps.filter(({ seq }) => seq <= last_seq);
  }

  #passNews(
    present: readonly Listener[],
    steps: readonly StepRow[],
    now: RunPosition,
    isBehind: boolean,
  ): void {
    const reached: StreamPosition = { status: now.status, seq: now.last_seq };
    const news = new Map<StreamPosition, string>();
    for (const listener of present) {
      const { position } = listener;
      if (isBehind && position.seq >= reached.seq) continue;
      const frames = news.get(position) ?? newsFrames(position, steps, now);
      news.set(position, frames);
      // Listeners share the object, so that their next frames are written once.
      listener.position = reached;
      if (frames !== "") listener.pass(frames, steps);
    }
  }

  async #finish(present: readonly Listener[]): Promise<void> {
    const run = await this.#options.runs.find(this.#options.run_id, null);
    const frames = run && endFrame(run);
    for (const listener of present) {
      if (frames) listener.pass(frames, []);
      listener.end();
    }
  }
}

function positionAt(step: StepRow, { started_at }: RunPosition): RunPosition {
  return { status: step.status as RunPosition["status"], last_seq: step.seq, started_at };
}
