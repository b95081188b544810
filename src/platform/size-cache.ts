// A cache bounded by the size of its values; the least recently used are evicted.

export class SizeCache<Value> {
  readonly #sizeMax: number;
  readonly #entries = new Map<string, { value: Value; size: number }>();
  #size = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Evicts the oldest entries; a value above the maximum evicts all, itself included. */
  set(key: string, value: Value, size: number): void {
    this.delete(key);
    this.#entries.set(key, { value, size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#sizeMax) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }
}
