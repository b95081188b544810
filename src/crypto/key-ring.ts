// The secrets keys at hand: those of the key file, which is read again when it changes.
import type { Clock } from "../platform/clock.ts";
import { readStamp } from "../platform/file-watch.ts";
import { explainKeyFile, makeKeyFile, readKeyFile } from "./key-file.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";

const CHECK_EVERY_MS = 1_000;

export interface KeyRing {
  readonly file: string | null;
  /** Lists the keys, newest first; checks the file once a second at most. */
  list(): readonly MasterKey[];
  refresh(): readonly MasterKey[];
  /** Lists the keys; creates the file where there is none. */
  make(): readonly MasterKey[];
  /** Returns why no key is at hand: "is missing", or "cannot be used" and the reason. */
  fault(): string | null;
}

export interface KeyRingOptions {
  file: string | null;
  clock: Clock;
  warn(message: string): void;
}

export function createKeyRing({ file, clock, warn }: KeyRingOptions): KeyRing {
  return file === null ? createTransientRing() : new FileKeyRing(file, clock, warn);
}

function createTransientRing(): KeyRing {
  const keys = [makeMasterKey()];
  const list = () => keys;
  return { file: null, list, refresh: list, make: list, fault: () => null };
}

class FileKeyRing implements KeyRing {
  readonly file: string;
  readonly #clock: Clock;
  readonly #warn: (message: string) => void;
  #keys: readonly MasterKey[] = [];
  #fault: string | null = null;
  #stamp: string | null = null;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(file: string, clock: Clock, warn: (message: string) => void) {
    this.file = file;
    this.#clock = clock;
    this.#warn = warn;
  }

  list(): readonly MasterKey[] {
    const isFresh = this.#clock.monotonic() - this.#checkedAt < CHECK_EVERY_MS;
    return isFresh ? this.#keys : this.refresh();
  }

  refresh(): readonly MasterKey[] {
    this.#checkedAt = this.#clock.monotonic();
    const stamp = readStamp(this.file);
    if (stamp === this.#stamp) return this.#keys;
    this.#stamp = stamp;
    return this.#read(() => readKeyFile(this.file, this.#warn));
  }

  make(): readonly MasterKey[] {
    if (this.refresh().length > 0 || this.#fault !== "is missing") return this.#keys;
    // The next refresh stamps the new file.
    this.#stamp = null;
    return this.#read(() => makeKeyFile(this.file));
  }

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
