// Use of one replica's slots, by this process alone or with others.
import type { SharedSlots } from "./shared-slots.ts";
import type { ShareMember, SlotShare } from "./slot-share.ts";

export interface SlotClaimOptions {
  /** Name of the replica, the same in all processes. */
  name: string;
  /** 0 for no limit. */
  max_in_flight: number;
  /** Absent: this process has all slots. */
  sharedSlots?: SharedSlots;
  /** Requests that wait for this replica. */
  countWaiting(): number;
  /** Called where slots may be free. */
  onChange(): void;
}

export class SlotClaim implements ShareMember {
  readonly max: number;
  inFlight = 0;
  /** Set while no new requests come: the replicas may have been replaced. */
  isStopped = false;
  readonly #options: SlotClaimOptions;
  readonly #share: SlotShare | null;

  constructor(options: SlotClaimOptions) {
    const { name, max_in_flight, sharedSlots } = options;
    this.max = max_in_flight || Number.POSITIVE_INFINITY;
    this.#options = options;
    this.#share = max_in_flight > 0 ? (sharedSlots?.find(name) ?? null) : null;
    this.#share?.join(this);
  }

  get isFree(): boolean {
    return this.#share?.isShared ? this.#share.isFree : this.inFlight < this.max;
  }

  /** Set where another process may leave a slot at once. */
  get isAskable(): boolean {
    return this.#share?.isAskable === true;
  }

  get isOver(): boolean {
    return this.isStopped && this.inFlight === 0 && this.countWaiting() === 0;
  }

  countWaiting(): number {
    return this.#options.countWaiting();
  }

  start(): void {
    this.isStopped = false;
    this.#share?.join(this);
  }

  /** Lets requests take a slot that was left: those of replaced replicas first. */
  serve(): void {
    if (this.#share) this.#share.serve();
    else this.onFree();
  }

  onFree(): void {
    this.#options.onChange();
  }

  adjust(): void {
    this.#share?.adjust();
  }
}
