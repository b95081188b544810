// A bounded queue for scarce slots: accounts take turns, and each wait has a bound.
import type { Cancel, Clock } from "./clock.ts";

export type NotServed = "left" | "full" | "late";

export interface QueuedRequest<Slot> {
  account: string;
  find(): Slot | null;
  /** Requests behind it are tried when it finds no slot. */
  isSkippable: boolean;
  timeoutMs: number;
  signal: AbortSignal;
}

export class FairQueue<Slot> {
  /** Maximum requests in the queue; holds for those that come next. */
  sizeMax: number;
  readonly #clock: Clock;
  /** Entries of each account in their order; the account whose turn is next stands first. */
  readonly #accounts = new Map<string, Set<QueueEntry<Slot>>>();
  #size = 0;

  constructor(clock: Clock, sizeMax: number) {
    this.#clock = clock;
    this.sizeMax = sizeMax;
  }

  get size(): number {
    return this.#size;
  }

  wait(request: QueuedRequest<Slot>): Promise<Slot | NotServed> {
    const { account, signal } = request;
    if (signal.aborted) return Promise.resolve("left");
    if (this.#size >= this.sizeMax && !this.#makeRoom(account)) return Promise.resolve("full");
    const entry = new QueueEntry(this.#clock, request, () => this.#remove(entry));
    const entries = this.#accounts.get(account);
    if (entries) entries.add(entry);
    else this.#accounts.set(account, new Set([entry]));
    this.#size += 1;
    return entry.outcome;
  }

  /** Hands out all free slots at once, each to the account whose turn it is. */
  serve(): void {
    while (this.#size > 0 && this.#serveNext());
  }

  #serveNext(): boolean {
    for (const [account, entries] of this.#accounts) {
      for (const entry of entries) {
        const found = entry.find();
        if (found === "failed") return true;
        if (found === "none") {
          if (entry.request.isSkippable) continue;
          return false;
        }
        this.#accounts.delete(account);
        this.#accounts.set(account, entries);
        entry.settle(found.slot);
        return true;
      }
    }
    return false;
  }

  /** Sends away the newest request of the account with the most, so that none fills the queue. */
  #makeRoom(account: string): boolean {
    let longest = this.#accounts.get(account) ?? new Set();
    // The new request counts too.
    let length = longest.size + 1;
    for (const entries of this.#accounts.values()) {
      if (entries.size > length) [longest, length] = [entries, entries.size];
    }
    const newest = [...longest].at(-1);
    if (!newest || newest.request.account === account) return false;
    newest.settle("full");
    return true;
  }

  #remove(entry: QueueEntry<Slot>): void {
    const { account } = entry.request;
    const entries = this.#accounts.get(account);
    if (!entries?.delete(entry)) return;
    this.#size -= 1;
    if (entries.size === 0) this.#accounts.delete(account);
  }
}

class QueueEntry<Slot> {
  readonly request: QueuedRequest<Slot>;
  readonly outcome: Promise<Slot | NotServed>;
  readonly #resolve: (outcome: Slot | NotServed) => void;
  readonly #reject: (bug: unknown) => void;
  readonly #onEnd: () => void;
  readonly #cancelTimeout: Cancel;
  readonly #leave = () => this.settle("left");

  constructor(clock: Clock, request: QueuedRequest<Slot>, onEnd: () => void) {
    const { promise, resolve, reject } = Promise.withResolvers<Slot | NotServed>();
    this.request = request;
    this.outcome = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onEnd = onEnd;
    this.#cancelTimeout = clock.after(request.timeoutMs, () => this.settle("late"));
    request.signal.addEventListener("abort", this.#leave, { once: true });
  }

  settle(outcome: Slot | NotServed): void {
    this.#end();
    this.#resolve(outcome);
  }

  /** A bug rejects only the request that has it. */
  find(): { slot: Slot } | "none" | "failed" {
    try {
      const slot = this.request.find();
      return slot === null ? "none" : { slot };
    } catch (bug) {
      this.#end();
      this.#reject(bug);
      return "failed";
    }
  }

  #end(): void {
    this.#cancelTimeout();
    this.request.signal.removeEventListener("abort", this.#leave);
    this.#onEnd();
  }
}
