// The slots of replicas that processes share: what this process has of them, by replica.
import type { Clock } from "../../platform/clock.ts";
import { type SlotCounter, SlotShare } from "./slot-share.ts";

export class SharedSlots {
  readonly #clock: Clock;
  readonly #shares = new Map<string, SlotShare>();
  #counter: SlotCounter | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts with other processes from now on; models are opened before that is known. */
  share(counter: SlotCounter): void {
    this.#counter = counter;
  }

  /** Finds the share of a replica, by a name that is the same in all processes. */
  find(name: string): SlotShare {
    const options = { name, clock: this.#clock, findCounter: () => this.#counter };
    const share = this.#shares.get(name) ?? new SlotShare(options);
    this.#shares.set(name, share);
    return share;
  }
}
