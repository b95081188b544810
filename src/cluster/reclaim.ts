// Finds claimed rows without a worker: those of dead processes, and strays of this one.
import type { Claimant, Process } from "./process.ts";

const ROWS_A_WRITE = 250;

export interface ClaimedRow {
  id: string;
  epoch: number;
}

export interface ReclaimerOptions<R extends ClaimedRow> {
  process: Pick<Process, "epoch">;
  list(): Promise<readonly R[]>;
  isInHand(id: string): boolean;
  requeue(rows: readonly R[]): Promise<void>;
}

export class Reclaimer<R extends ClaimedRow> {
  readonly #options: ReclaimerOptions<R>;
  /** Rows of this process that it did not work on at the last pass. */
  #stray = new Set<string>();

  constructor(options: ReclaimerOptions<R>) {
    this.#options = options;
  }

  async reclaim(isDead: Parameters<Claimant["reclaim"]>[0]): Promise<void> {
    const { process, list, isInHand, requeue } = this.#options;
    const before = this.#stray;
    this.#stray = new Set();
    const abandoned = (await list()).filter(({ id, epoch }) => {
      if (epoch !== process.epoch) return isDead(epoch);
      if (isInHand(id)) return false;
      // One pass is no proof: the row may have been claimed or finished a moment ago.
      this.#stray.add(id);
      return before.has(id);
    });
    for (let at = 0; at < abandoned.length; at += ROWS_A_WRITE) {
      await requeue(abandoned.slice(at, at + ROWS_A_WRITE));
    }
  }
}
