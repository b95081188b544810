// The slots of all replicas that processes share: what this process has of them, by name.

export interface SlotRequest {
  /** Slots that may be in use until the answer comes. */
  keep: number;
  wanted: number;
  /** Slots of all processes together. */
  max: number;
}

/** Counts the slots of all processes, whose sum stays within the maximum. */
export interface SlotCounter {
  /** Set while no other process can count without this one. */
  readonly isSure: boolean;
  /**
   * Replaces the slots that this process has under a name. Returns how many it may use from now
   * on, fewer than it keeps where others wait; null: no place can tell now.
   */
  reserve(name: string, request: SlotRequest): Promise<number | null>;
}

/** Slots of one name that the shares of this process have: those of replaced replicas, too. */
interface NamedSlots {
  /** Keys are shares. */
  counted: Map<object, number>;
  /** One asks at a time, since each answer counts for all. */
  last: Promise<unknown>;
}

/** Slots that this process has, by the name of their replica. */
export class SharedSlots {
  /** Set once it is known who counts, which is after models are opened. */
  counter: SlotCounter | null = null;
  readonly #names = new Map<string, NamedSlots>();

  /** Does what the counter does for one share, beside the others of its name. */
  reserve(share: object, name: string, request: SlotRequest): Promise<number | null> {
    const named = this.#names.get(name) ?? { counted: new Map(), last: Promise.resolve() };
    this.#names.set(name, named);
    const answer = named.last.then(() => this.#reserve(share, name, named, request));
    named.last = answer;
    return answer;
  }

  async #reserve(
    share: object,
    name: string,
    { counted }: NamedSlots,
    { keep, wanted, max }: SlotRequest,
  ): Promise<number | null> {
    counted.delete(share);
    const others = counted.values().reduce((sum, slots) => sum + slots, 0);
    const request = { keep: keep + others, wanted: wanted + others, max };
    const answer = this.counter?.reserve(name, request).catch(() => null);
    const sum = (await answer) ?? null;
    const granted = sum === null ? null : Math.max(0, sum - others);
    // Without an answer it may have what it wanted.
    const slots = Math.max(keep, granted ?? wanted);
    if (slots > 0) counted.set(share, slots);
    return granted;
  }
}
