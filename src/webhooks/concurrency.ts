// A pool of slots for claimed deliveries, of which no account takes all.

/** Maximum slots of an account for each free one: alone it gets three quarters. */
const ACCOUNT_SHARE = 3;

/** Permission for one delivery, from its claim to the end of its attempt. */
export interface Slot {
  release(): void;
}

export interface SlotHolder {
  readonly accountId: string;
  heldSlots: number;
}

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

  /** Takes up to `wanted` slots, as many as the account may have. */
  acquire(holder: SlotHolder, wanted: number): Slot[] {
    const taken = this.#taken.get(holder.accountId) ?? 0;
    const share = Math.ceil((ACCOUNT_SHARE * this.#free - taken) / (ACCOUNT_SHARE + 1));
    const length = Math.max(0, Math.min(wanted, share));
    return Array.from({ length }, () => this.#acquireOne(holder));
  }

  #acquireOne(holder: SlotHolder): Slot {
    const { accountId } = holder;
    this.#free--;
    holder.heldSlots++;
    this.#taken.set(accountId, (this.#taken.get(accountId) ?? 0) + 1);
    return {
      release: () => {
        this.#free++;
        holder.heldSlots--;
        const left = this.#taken.get(accountId)! - 1;
        if (left === 0) this.#taken.delete(accountId);
        else this.#taken.set(accountId, left);
      },
    };
  }
}
