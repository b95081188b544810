// Slots in which runs are executed: a bounded number, shared among accounts in turns.
import type { ClaimQuota } from "./store/claim.ts";

export class RunSlots {
  readonly #countMax: () => number;
  /** Accounts with waiting runs in the order of their turns. */
  readonly #waiting = new Set<string>();
  /** Accounts that got runs during a claim; the claim may have missed these runs. */
  #reported = new Set<string>();
  readonly #returning = new Set<() => void>();
  #taken = 0;

  constructor(countMax: () => number) {
    this.#countMax = countMax;
  }

  addWaiting(account_id: string): void {
    this.#waiting.add(account_id);
    this.#reported.add(account_id);
  }

  planClaims(): ClaimQuota[] {
    // A reload may have raised the limit since the last release.
    this.#serveReturning();
    let free = this.#countMax() - this.#taken;
    if (free <= 0 || this.#waiting.size === 0) return [];
    this.#reported = new Set();
    const quotas: ClaimQuota[] = [];
    for (const account_id of this.#waiting) {
      if (quotas.length === free) break;
      quotas.push({ account_id, runsMax: 0 });
    }
    // Free slots are dealt one by one, round the accounts.
    for (let at = 0; free > 0; at = (at + 1) % quotas.length, free--) quotas[at]!.runsMax += 1;
    return quotas;
  }

  /** Moves the accounts of a claim to the end of the queue, or out of it where nothing waits. */
  settleClaims(quotas: readonly ClaimQuota[], claimed: ReadonlyMap<string, number>): void {
    for (const { account_id, runsMax } of quotas) {
      const isEmpty = (claimed.get(account_id) ?? 0) < runsMax && !this.#reported.has(account_id);
      this.#waiting.delete(account_id);
      if (!isEmpty) this.#waiting.add(account_id);
    }
  }

  /** Takes a slot even where none is free. */
  acquire(): void {
    this.#taken += 1;
  }

  /** Waits for a slot ahead of all claims; an aborted signal takes one at once. */
  reacquire(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const serve = () => {
        this.#returning.delete(serve);
        signal.removeEventListener("abort", serve);
        this.#taken += 1;
        resolve();
      };
      this.#returning.add(serve);
      signal.addEventListener("abort", serve, { once: true });
      if (signal.aborted) serve();
      else this.#serveReturning();
    });
  }

  release(): void {
    this.#taken -= 1;
    this.#serveReturning();
  }

  #serveReturning(): void {
    for (const serve of this.#returning) {
      if (this.#taken >= this.#countMax()) return;
      serve();
    }
  }
}
