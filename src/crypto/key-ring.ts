// The secrets keys at hand: those of the key file, which is read again when it changes.
import type { Clock } from "../platform/clock.ts";
import { readStamp } from "../platform/file-watch.ts";
import { explainKeyFile, makeKeyFile, readKeyFile } from "./key-file.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";

const CHECK_EVERY_MS = 1_000;

export interface KeyRingOptions {
  /** File of the keys; a ring without one keeps its key in memory. */
  file: string | null;
  clock: Clock;
  warn(message: string): void;
}

export class KeyRing {
  readonly file: string | null;
  readonly #options: KeyRingOptions;
  #keys: readonly MasterKey[];
  #fault: string | null = null;
  #stamp: string | null = null;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(options: KeyRingOptions) {
    this.#options = options;
    this.file = options.file;
    this.#keys = options.file === null ? [makeMasterKey()] : [];
  }

  /** Lists the keys, newest first; checks the file once a second at most. */
  list(): readonly MasterKey[] {
    const isFresh = this.#options.clock.monotonic() - this.#checkedAt < CHECK_EVERY_MS;
    return isFresh ? this.#keys : this.refresh();
  }

  refresh(): readonly MasterKey[] {
    const { file } = this;
    if (file === null) return this.#keys;
    this.#checkedAt = this.#options.clock.monotonic();
    const stamp = readStamp(file);
    if (stamp === this.#stamp) return this.#keys;
    this.#stamp = stamp;
    return this.#read(() => readKeyFile(file, this.#options.warn));
  }

  /** Lists the keys; creates the file where there is none. */
  make(): readonly MasterKey[] {
    const { file } = this;
    const isMissing = this.refresh().length === 0 && this.#fault === "is missing";
    if (file === null || !isMissing) return this.#keys;
    // The next refresh stamps the new file.
    this.#stamp = null;
    return this.#read(() => makeKeyFile(file));
  }

  /** Returns why no key is at hand: "is missing", or "cannot be used" and the reason. */
  fault(): string | null {
    return this.#fault;
  }

  #read(read: () => readonly MasterKey[] | undefined): readonly MasterKey[] {
    try {
      const found = read();
      this.#keys = found ?? [];
      this.#fault = found ? null : "is missing";
    } catch (failure) {
      this.#keys = [];
      this.#fault = `cannot be used (${explainKeyFile(failure)})`;
    }
    return this.#keys;
  }
}
