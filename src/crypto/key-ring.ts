// The secrets keys at hand: what the key file holds, looked at again now and then.
import type { Clock } from "../platform/clock.ts";
import { readStamp } from "../platform/file-watch.ts";
import { explainKeyFile, makeKeyFile, readKeyFile } from "./key-file.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";

/** A file that was put back, or taken away, is noticed no later. */
const LOOK_EVERY_MS = 1_000;

export interface KeyRing {
  /** null: the key lasts as long as the process. */
  readonly file: string | null;
  /** Newest first; the file is looked at again once a second at most. */
  list(): readonly MasterKey[];
  /** The same, looked at now: a look at a file that has not changed costs microseconds. */
  look(): readonly MasterKey[];
  /** The same, with the file made where there is none. */
  make(): readonly MasterKey[];
  /** Why none is at hand: "is missing", or "cannot be used" and why; null: there is one. */
  fault(): string | null;
}

export interface KeyRingOptions {
  file: string | null;
  clock: Clock;
  warn(why: string): void;
}

const NONE: readonly MasterKey[] = [];

export function createKeyRing(options: KeyRingOptions): KeyRing {
  const { file } = options;
  return file === null ? createPassingRing() : createFileRing({ ...options, file });
}

function createPassingRing(): KeyRing {
  const keys = [makeMasterKey()];
  const list = () => keys;
  return { file: null, list, look: list, make: list, fault: () => null };
}

function createFileRing({ file, clock, warn }: KeyRingOptions & { file: string }): KeyRing {
  let keys = NONE;
  let fault: string | null = null;
  let stamp: string | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;

  const read = (how: () => readonly MasterKey[] | undefined) => {
    try {
      const found = how();
      keys = found ?? NONE;
      fault = found ? null : "is missing";
    } catch (failure) {
      keys = NONE;
      fault = `cannot be used (${explainKeyFile(failure)})`;
    }
    return keys;
  };
  const look = () => {
    lookedAt = clock.monotonic();
    const now = readStamp(file);
    if (now === stamp) return keys;
    stamp = now;
    return read(() => readKeyFile(file, warn));
  };
  return {
    file,
    list: () => (clock.monotonic() - lookedAt < LOOK_EVERY_MS ? keys : look()),
    look,
    make() {
      if (look().length > 0 || fault !== "is missing") return keys;
      // What it is like from now on is seen at the next look.
      stamp = null;
      return read(() => makeKeyFile(file));
    },
    fault: () => fault,
  };
}
