// Counts what happens, and resolves once it has happened often enough.

export class Counter {
  #count = 0;
  readonly #waiting = new Map<() => void, number>();

  add(): void {
    this.#count += 1;
    for (const [resolve, until] of this.#waiting) {
      if (this.#count < until) continue;
      this.#waiting.delete(resolve);
      resolve();
    }
  }

  /** Resolves after this many more. */
  pass(more: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(resolve, this.#count + more));
  }
}
