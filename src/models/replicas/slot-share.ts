// The slots of one replica that this process may use, out of those that all processes share.
import type { Clock } from "../../platform/clock.ts";
import type { SharedSlots, SlotCounter } from "./shared-slots.ts";

export interface SlotShareOptions {
  /** Same in all processes, and no other replica's. */
  name: string;
  max: number;
  clock: Clock;
  /** Absent: this process has all slots. */
  sharedSlots?: SharedSlots;
  /** Requests that wait for this replica. */
  countWaiting(): number;
  /** Slots may be free; it adjusts the share, too. */
  onChange(): void;
}

/** Time until a refused process asks again, and for which unused slots are kept. */
const TICK_MS = 100;
/** Ticks until slots in steady use are told again: others may wait for them. */
const TICKS_MAX = 10;
/** Time after an answer for which its slots are used: others have them five seconds later. */
const USED_MS = 10_000;

export class SlotShare {
  /** Slots in use by this process. */
  inFlight = 0;
  readonly #options: SlotShareOptions;
  /** Slots that the last answer lets this process use, and when it was asked for. */
  #granted = { slots: 0, at: Number.NEGATIVE_INFINITY };
  /** Slots that are counted for this process: at least those in use. */
  #counted = 0;
  #isAsking = false;
  #isAnswered = true;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #ticks = 0;
  #isTicking = false;

  constructor(options: SlotShareOptions) {
    this.#options = options;
  }

  get isFree(): boolean {
    const counter = this.#counter;
    if (!counter) return this.inFlight < this.#options.max;
    return counter.isSure && this.inFlight < this.#countUsable();
  }

  /** Set where a request that waits may get a slot at once. */
  get isAskable(): boolean {
    if (!this.#counter || this.#countUsable() >= this.#options.max) return false;
    return this.#options.clock.monotonic() - this.#refusedAt >= TICK_MS;
  }

  /** Asks for the slots that are missing, and gives back those that are not used. */
  adjust(): void {
    if (!this.#counter || this.#isAsking) return;
    const { usable, wanted, isMore, isLess } = this.#compare();
    const isAwaited = isLess && this.#isAnswered && usable < this.#counted;
    if ((isMore && this.isAskable) || isAwaited) void this.#ask(usable, wanted);
    else if (isMore || this.#counted > 0) this.#tickLater();
  }

  /** Slots without a bound need no counter. */
  get #counter(): SlotCounter | null {
    const { sharedSlots, max } = this.#options;
    return Number.isFinite(max) ? (sharedSlots?.counter ?? null) : null;
  }

  /** A process that was frozen uses none: they may have been given to others meanwhile. */
  #countUsable(): number {
    const { slots, at } = this.#granted;
    return this.#options.clock.monotonic() - at <= USED_MS ? slots : 0;
  }

  #compare() {
    const { max, countWaiting } = this.#options;
    const usable = this.#countUsable();
    const wanted = Math.min(max, this.inFlight + countWaiting());
    const needed = Math.max(this.inFlight, Math.min(wanted, usable));
    return { usable, wanted, isMore: wanted > usable, isLess: needed < this.#counted };
  }

  async #ask(usable: number, wanted: number): Promise<void> {
    const { name, max, clock, sharedSlots, onChange } = this.#options;
    this.#isAsking = true;
    this.#ticks = 0;
    const at = clock.monotonic();
    // Others can have the rest before the answer comes.
    const kept = Math.min(usable, wanted);
    this.#granted = { ...this.#granted, slots: kept };
    const keep = Math.max(this.inFlight, kept);
    const granted = await sharedSlots!.reserve(this, name, { keep, wanted, max });
    this.#isAsking = false;
    this.#isAnswered = granted !== null;
    this.#counted = Math.max(keep, granted ?? wanted);
    if (granted !== null) this.#granted = { slots: granted, at };
    if (granted === null || granted < wanted) this.#refusedAt = clock.monotonic();
    onChange();
  }

  #tickLater(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#options.clock.after(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    this.#isTicking = false;
    if (!this.#counter || this.#isAsking) return;
    const { usable, wanted, isMore, isLess } = this.#compare();
    this.#ticks += 1;
    if (isMore || isLess || this.#ticks >= TICKS_MAX) void this.#ask(usable, wanted);
    else this.#options.onChange();
  }
}
