// The slots of one replica that this process may use, out of those that all processes share.
import type { Cancel, Clock } from "../../platform/clock.ts";

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

/** Models are opened before it is known whether processes share their slots. */
export interface SlotSharing {
  counter: SlotCounter | null;
}

export interface SlotShareOptions {
  /** Same in all processes, and no other replica's. */
  name: string;
  max: number;
  clock: Clock;
  /** Absent: this process has all slots. */
  sharing?: SlotSharing;
  /** Requests that wait for this replica. */
  countWaiting(): number;
  /** Slots may be free; it adjusts the share, too. */
  onChange(): void;
}

/** Time until a refused process asks again, and for which unused slots are kept. */
const TICK_MS = 100;
/** Ticks until slots in steady use are told again: others may wait for them. */
const TICKS_MAX = 10;

export class SlotShare {
  /** Slots in use by this process. */
  inFlight = 0;
  readonly #options: SlotShareOptions;
  /** Slots that may be used. */
  #granted = 0;
  /** Slots that are counted for this process: at least those in use. */
  #counted = 0;
  #isAsking = false;
  #isAnswered = true;
  #isStopped = false;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #ticks = 0;
  #cancelTick: Cancel | null = null;

  constructor(options: SlotShareOptions) {
    this.#options = options;
  }

  get isFree(): boolean {
    const counter = this.#counter;
    if (!counter) return this.inFlight < this.#options.max;
    return counter.isSure && this.inFlight < this.#granted;
  }

  /** Set where a request that waits may get a slot at once. */
  get isAskable(): boolean {
    if (!this.#counter || this.#granted >= this.#options.max) return false;
    return this.#options.clock.monotonic() - this.#refusedAt >= TICK_MS;
  }

  start(): void {
    this.#isStopped = false;
  }

  /** Gives the slots back. Requests that are still there share them with no other process. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTick?.();
    this.#cancelTick = null;
    this.#granted = 0;
    if (!this.#isAsking) this.#giveBack();
  }

  /** Asks for the slots that are missing, and gives back those that are not used. */
  adjust(): void {
    const counter = this.#counter;
    if (!counter || this.#isAsking) return;
    const { wanted, isMore, isLess } = this.#compare();
    const isAwaited = isLess && this.#isAnswered && this.#granted < this.#counted;
    if ((isMore && this.isAskable) || isAwaited) void this.#ask(counter, wanted);
    else if (isMore || this.#counted > 0) this.#tickLater();
  }

  /** Slots without a bound need no counter. */
  get #counter(): SlotCounter | null {
    const { sharing, max } = this.#options;
    return Number.isFinite(max) && !this.#isStopped ? (sharing?.counter ?? null) : null;
  }

  #compare() {
    const { max, countWaiting } = this.#options;
    const wanted = Math.min(max, this.inFlight + countWaiting());
    const needed = Math.max(this.inFlight, Math.min(wanted, this.#granted));
    return { wanted, isMore: wanted > this.#granted, isLess: needed < this.#counted };
  }

  async #ask(counter: SlotCounter, wanted: number): Promise<void> {
    const { name, max, clock, onChange } = this.#options;
    this.#isAsking = true;
    this.#ticks = 0;
    // Others can have these slots before the answer comes.
    this.#granted = Math.min(this.#granted, wanted);
    const keep = Math.max(this.inFlight, this.#granted);
    const granted = await counter.reserve(name, { keep, wanted, max }).catch(() => null);
    this.#isAsking = false;
    this.#isAnswered = granted !== null;
    // Without an answer it may have what it wanted, and gives it back with the next request.
    this.#counted = Math.max(keep, granted ?? wanted);
    if (this.#isStopped) return this.#giveBack();
    if (granted !== null) this.#granted = granted;
    if (granted === null || granted < wanted) this.#refusedAt = clock.monotonic();
    onChange();
  }

  #giveBack(): void {
    const { name, max, sharing } = this.#options;
    if (this.#counted > 0) {
      void sharing?.counter?.reserve(name, { keep: 0, wanted: 0, max }).catch(() => null);
    }
    this.#counted = 0;
  }

  #tickLater(): void {
    this.#cancelTick ??= this.#options.clock.after(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    this.#cancelTick = null;
    const counter = this.#counter;
    if (!counter || this.#isAsking) return;
    const { wanted, isMore, isLess } = this.#compare();
    this.#ticks += 1;
    if (isMore || isLess || this.#ticks >= TICKS_MAX) void this.#ask(counter, wanted);
    else this.#options.onChange();
  }
}
