// The slots of one replica that this process may use, out of those that all processes share.
import type { Clock } from "../../platform/clock.ts";

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

/** Use of the slots by the replica of one catalog, which a reload replaces by another one. */
export interface ShareMember {
  max: number;
  inFlight: number;
  /** Set once nothing uses it any more. */
  isOver: boolean;
  countWaiting(): number;
  onFree(): void;
}

export interface SlotShareOptions {
  name: string;
  clock: Clock;
  findCounter(): SlotCounter | null;
}

/** Time until a refused process asks again, and for which unused slots are kept. */
const TICK_MS = 100;
/** Ticks until slots in steady use are told again: others may wait for them. */
const TICKS_MAX = 10;
/** Time after an answer for which its slots are used: others have them five seconds later. */
const USED_MS = 10_000;

export class SlotShare {
  readonly #options: SlotShareOptions;
  /** Oldest first: requests of replaced replicas go on, and have waited longest. */
  readonly #members = new Set<ShareMember>();
  /** Maximum of the settings that came last. */
  #max = 0;
  /** Slots that the last answer lets this process use, and when it was asked for. */
  #granted = { slots: 0, at: Number.NEGATIVE_INFINITY };
  /** Slots that are counted for this process, at least those in use, and how many it wanted. */
  #told = { slots: 0, wanted: 0 };
  #isAsking = false;
  #isAnswered = true;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #ticks = 0;
  #isTicking = false;

  constructor(options: SlotShareOptions) {
    this.#options = options;
  }

  get isShared(): boolean {
    return this.#options.findCounter() !== null;
  }

  get isFree(): boolean {
    const isSure = this.#options.findCounter()?.isSure === true;
    return isSure && this.#sum().inFlight < this.#countUsable();
  }

  /** Set where a request that waits may get a slot at once. */
  get isAskable(): boolean {
    if (!this.isShared || this.#countUsable() >= this.#max) return false;
    return this.#options.clock.monotonic() - this.#refusedAt >= TICK_MS;
  }

  join(member: ShareMember): void {
    this.#members.add(member);
    this.#max = member.max;
  }

  /** Lets requests that wait take free slots. */
  serve(): void {
    for (const member of [...this.#members]) {
      if (member.isOver) this.#members.delete(member);
      else member.onFree();
    }
  }

  /** Asks for the slots that are missing, and gives back those that are not used. */
  adjust(): void {
    if (!this.isShared || this.#isAsking) return;
    const { usable, wanted, isMore, isLess } = this.#compare();
    const isAwaited = isLess && this.#isAnswered && usable < this.#told.slots;
    if ((isMore && this.isAskable) || isAwaited) void this.#ask(usable, wanted);
    else if (isMore || isLess || this.#told.slots > 0) this.#tickLater();
  }

  /** A process that was frozen uses none: they may have been given to others meanwhile. */
  #countUsable(): number {
    const { slots, at } = this.#granted;
    return this.#options.clock.monotonic() - at <= USED_MS ? slots : 0;
  }

  #sum(): { inFlight: number; waiting: number } {
    let [inFlight, waiting] = [0, 0];
    for (const member of this.#members) {
      inFlight += member.inFlight;
      waiting += member.countWaiting();
    }
    return { inFlight, waiting };
  }

  #compare() {
    const { inFlight, waiting } = this.#sum();
    const usable = this.#countUsable();
    const wanted = Math.min(this.#max, inFlight + waiting);
    const needed = Math.max(inFlight, Math.min(wanted, usable));
    const isLess = needed < this.#told.slots || wanted < this.#told.wanted;
    return { usable, wanted, isMore: wanted > usable, isLess };
  }

  async #ask(usable: number, wanted: number): Promise<void> {
    const { name, clock, findCounter } = this.#options;
    this.#isAsking = true;
    this.#ticks = 0;
    const at = clock.monotonic();
    // Others can have the rest before the answer comes.
    const kept = Math.min(usable, wanted);
    this.#granted = { ...this.#granted, slots: kept };
    const request = { keep: Math.max(this.#sum().inFlight, kept), wanted, max: this.#max };
    const granted = await findCounter()!
      .reserve(name, request)
      .catch(() => null);
    this.#isAsking = false;
    this.#isAnswered = granted !== null;
    // Without an answer it may have what it wanted.
    this.#told = { slots: Math.max(request.keep, granted ?? wanted), wanted };
    if (granted !== null) this.#granted = { slots: granted, at };
    if (granted === null || granted < wanted) this.#refusedAt = clock.monotonic();
    this.serve();
    this.adjust();
  }

  #tickLater(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#options.clock.after(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    this.#isTicking = false;
    if (this.#isAsking) return;
    const { usable, wanted, isMore, isLess } = this.#compare();
    this.#ticks += 1;
    if (isMore || isLess || this.#ticks >= TICKS_MAX) return void this.#ask(usable, wanted);
    this.serve();
    this.adjust();
  }
}
