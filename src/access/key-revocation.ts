// Ends long-lived work of a key, such as open streams, within seconds of its revocation.
import type { Database } from "../database/index.ts";
import type { Cancel, Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { FindCaller } from "./caller.ts";

/** Interval between checks: no event reports an expiry or a lost wake-up. */
const CHECK_EVERY_MS = 5_000;

export interface KeyRevocationOptions {
  database: Pick<Database, "listen">;
  findCaller: FindCaller;
  clock: Clock;
  log: Log;
}

export class KeyRevocations {
  readonly #options: KeyRevocationOptions;
  readonly #keys = new Map<string, Set<() => void>>();
  readonly #unlisten: () => void;
  #cancel: Cancel | null = null;

  constructor(options: KeyRevocationOptions) {
    this.#options = options;
    this.#unlisten = options.database.listen("key", (key_id) => {
      if (key_id === null) void this.#checkAll();
      else if (this.#keys.has(key_id)) void this.#check(key_id);
    });
  }

  /** Calls `end` once the key may not call any more; the returned function stops watching. */
  add(key_id: string, end: () => void): () => void {
    const ends = this.#keys.get(key_id) ?? new Set();
    this.#keys.set(key_id, ends.add(end));
    if (!this.#cancel) this.#checkLater();
    return () => this.#remove(key_id, end);
  }

  count(key_id: string): number {
    return this.#keys.get(key_id)?.size ?? 0;
  }

  stop(): void {
    this.#unlisten();
    for (const key_id of [...this.#keys.keys()]) this.#end(key_id);
  }

  #remove(key_id: string, end: () => void): void {
    const ends = this.#keys.get(key_id);
    ends?.delete(end);
    if (ends?.size === 0) this.#keys.delete(key_id);
    if (this.#keys.size > 0) return;
    this.#cancel?.();
    this.#cancel = null;
  }

  #end(key_id: string): void {
    for (const end of [...(this.#keys.get(key_id) ?? [])]) end();
  }

  async #check(key_id: string): Promise<void> {
    try {
      if (!(await this.#options.findCaller(key_id))) this.#end(key_id);
    } catch (error) {
      this.#options.log.error("keys: a key with open streams could not be read", { error });
    }
  }

  async #checkAll(): Promise<void> {
    await Promise.all([...this.#keys.keys()].map((key_id) => this.#check(key_id)));
  }

  #checkLater(): void {
    this.#cancel = this.#options.clock.after(CHECK_EVERY_MS, async () => {
      this.#cancel = null;
      await this.#checkAll();
      if (!this.#cancel && this.#keys.size > 0) this.#checkLater();
    });
  }
}
