// Bounds the work that is under way at once for each key, such as an account.

export class ConcurrencyLimit {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a slot and returns what releases it; undefined if the key has no slot left. */
  take(key: string): (() => void) | undefined {
    const count = this.#counts.get(key) ?? 0;
    if (count >= this.#max) return undefined;
    this.#counts.set(key, count + 1);
    return () => this.#release(key);
  }

  #release(key: string): void {
    const left = this.#counts.get(key)! - 1;
    if (left === 0) this.#counts.delete(key);
    else this.#counts.set(key, left);
  }
}
