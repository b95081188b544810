// The callers who wait for a unit, in the order in which they came; whoever leaves is forgotten.
import type { UpstreamError } from "../providers/contract.ts";
import { timeoutError } from "../providers/openai/errors.ts";

/** undefined: go on; else what became of it. */
export type WaitResult = UpstreamError | undefined;

interface Waiter {
  account: string;
  end(fate: WaitResult): void;
}

export class StartWaiters {
  readonly #waiting = new Set<Waiter>();

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits behind all others for as long as the caller does. */
  join(account: string, signal: AbortSignal): Promise<WaitResult> {
    const { promise, resolve } = Promise.withResolvers<WaitResult>();
    const waiter: Waiter = {
      account,
      end: (fate) => {
        this.#waiting.delete(waiter);
        signal.removeEventListener("abort", leave);
        resolve(fate);
      },
    };
    const leave = () => waiter.end(timeoutError("left"));
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.add(waiter);
    return promise;
  }

  /**
   * Sends the newest of the account that has the most away, so that no account keeps the others
   * out; false: that is the one who comes.
   */
  makeRoom(account: string, fate: UpstreamError): boolean {
    const counts = new Map([[account, 1]]);
    for (const one of this.#waiting) counts.set(one.account, (counts.get(one.account) ?? 0) + 1);
    const most = Math.max(...counts.values());
    if (counts.get(account) === most) return false;
    const newest = [...this.#waiting].findLast((one) => counts.get(one.account) === most);
    newest!.end(fate);
    return true;
  }

  /** Tells all of them the same, the first one first; how many they were. */
  release(fate: WaitResult): number {
    const count = this.#waiting.size;
    for (const { end } of this.#waiting) end(fate);
    return count;
  }
}
