// A pool of slots for claimed deliveries, of which no account takes all.

/** Maximum slots of an account for each free one: alone it gets three quarters. */
const ACCOUNT_SHARE = 3;

export class SlotPool {
  readonly #slots: number;
  readonly #taken = new Map<string, number>();
  #free: number;

  constructor(slots: number) {
    this.#slots = slots;
    this.#free = slots;
  }

  get isFull(): boolean {
    return this.#free <= 0;
  }

  get isRoomy(): boolean {
    return 4 * this.#free > 3 * this.#slots;
  }

  freeFor(accountId: string): number {
    const taken = this.#taken.get(accountId) ?? 0;
    return Math.ceil((ACCOUNT_SHARE * this.#free - taken) / (ACCOUNT_SHARE + 1));
  }

  acquire(accountId: string, count: number): void {
    this.#free -= count;
    this.#taken.set(accountId, (this.#taken.get(accountId) ?? 0) + count);
  }

  release(accountId: string, count: number): void {
    const taken = (this.#taken.get(accountId) ?? 0) - count;
    this.#free += count;
    if (taken === 0) this.#taken.delete(accountId);
    else this.#taken.set(accountId, taken);
  }
}
