// The live processes as this one sees them, and which of them a piece of work belongs to.
import type { Cancel } from "../platform/clock.ts";

/** Looks of a new process at the others before it takes work from one that lives. */
const LOOKS_MIN = 3;

export interface SeenProcess {
  epoch: number;
  /** Set where it takes work: it beats, and is not drained. */
  takesWork: boolean;
}

export class Members {
  readonly #listeners = new Set<() => void>();
  readonly #isAlone: boolean;
  #own = 0;
  #looks = 0;
  /** Epochs among which work is divided. */
  #owners: readonly number[] = [];

  constructor(isAlone: boolean) {
    this.#isAlone = isAlone;
  }

  /**
   * Tests if work is this process's by rendezvous hashing. Two processes may disagree for seconds
   * after a change, so that it saves collisions and bounds nothing exactly.
   */
  owns(key: string): boolean {
    if (this.#isAlone) return true;
    let best = 0;
    let highest = -1;
    for (const epoch of this.#owners) {
      const hash = Bun.hash.xxHash32(`${key} ${epoch}`);
      if (hash > highest) [best, highest] = [epoch, hash];
    }
    return best === this.#own;
  }

  /** Calls `run` after each change: a process that owns work from now on looks for it. */
  onChange(run: () => void): Cancel {
    this.#listeners.add(run);
    return () => this.#listeners.delete(run);
  }

  /** Takes a look at the other processes that are not dead; a drained one takes no work. */
  see(own: number, others: readonly SeenProcess[], takesWork = true): void {
    this.#looks = own === this.#own ? this.#looks + 1 : 1;
    this.#own = own;
    // Before that, one that owned its work until now may not have seen this process yet.
    const mayOwn = takesWork && (others.length === 0 || this.#looks >= LOOKS_MIN);
    const working = others.filter((one) => one.takesWork).map(({ epoch }) => epoch);
    const owners = mayOwn ? [...working, own] : working;
    owners.sort((one, other) => one - other);
    const isChanged = !Bun.deepEquals(owners, this.#owners);
    this.#owners = owners;
    if (isChanged) for (const run of [...this.#listeners]) run();
  }
}
