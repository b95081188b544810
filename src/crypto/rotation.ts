// Rotates the secrets key beside a running server; an interrupted rotation can be resumed.
import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { type Bound, lockFile } from "../database/index.ts";
import { seal, unseal } from "./cipher.ts";
import { replaceKeyFile } from "./key-file.ts";
import type { KeyRing } from "./key-ring.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";
import type { Resealing, SealedSecret, SecretPlace, secretStore } from "./store.ts";

const ROWS_AT_ONCE = 100;
const NAMES_MAX = 10;

export interface RotationRequest {
  /** Deletes unreadable secrets; otherwise they stop the rotation. */
  givesUp: boolean;
  /** Waits until all processes have keys of these ids; returns the names of those without. */
  awaitKeys?(ids: readonly string[]): Promise<readonly string[]>;
}

export type RotationResult =
  /** A resumed rotation ends with the key of the interrupted one. */
  | { ok: true; key_id: string; is_resumed: boolean; resealed: number; given_up: number }
  /** The key is in no file · another rotation runs. */
  | { ok: false; reason: "no file" | "busy" }
  /** The database's key is not at hand; a null `fault`: the file holds another key. */
  | { ok: false; reason: "unavailable"; fault: string | null }
  /** Some processes lack a key, and the file keeps both. */
  | { ok: false; reason: "not everywhere"; file: string; processes: readonly string[] }
  /** All others have the new key, and the file keeps both. */
  | { ok: false; reason: "unreadable"; left: number; places: SecretPlace[] };

interface Resealed {
  resealed: number;
  given_up: number;
  left: number;
  places: SecretPlace[];
}

export interface RotationOptions extends RotationRequest {
  store: Bound<typeof secretStore>;
  ring: Pick<KeyRing, "file" | "make" | "refresh" | "fault">;
}

export async function rotateSecrets(options: RotationOptions): Promise<RotationResult> {
  const { file } = options.ring;
  if (file === null) return { ok: false, reason: "no file" };
  const release = takeFile(options.ring, file);
  if (release === null) return { ok: false, reason: "busy" };
  try {
    return await rotate(options, file);
  } finally {
    release();
  }
}

/**
 * The order by which nothing is ever sealed with a key that is in no file:
 * 1. The file holds both keys, the new one first.
 * 2. All processes have both keys, those on other machines in files of their own.
 * 3. The database's key is the new one: nothing more is stored that the old one sealed.
 * 4. What the old one sealed is sealed again, until none is left.
 * 5. The file holds the new one alone.
 */
async function rotate(
  { store, ring, givesUp, awaitKeys = async () => [] }: RotationOptions,
  file: string,
): Promise<RotationResult> {
  const known = await store.findKey();
  const keys = known === undefined || givesUp ? ring.make() : ring.refresh();
  const isAtHand = known === undefined || keys.some(({ id }) => id === known);
  if (keys.length === 0 || !(isAtHand || givesUp)) {
    return { ok: false, reason: "unavailable", fault: ring.fault() };
  }
  // Two lines are left by an interrupted rotation.
  const [next, old] = keys.length === 2 ? keys : [makeMasterKey(), keys[0]];
  const both = [next!, old!];
  const is_resumed = keys.length === 2;
  if (!is_resumed) replaceKeyFile(file, both);
  const processes = await awaitKeys(both.map(({ id }) => id));
  if (processes.length > 0) return { ok: false, reason: "not everywhere", file, processes };
  const isSwitched = await switchKey(store, both, givesUp);
  const done = isSwitched ? await resealAll(store, both, givesUp) : null;
  // Another rotation came in between, with a copy of the file.
  if (done === null) return { ok: false, reason: "unavailable", fault: null };
  const { left, places, ...sum } = done;
  if (left > 0) return { ok: false, reason: "unreadable", left, places };
  replaceKeyFile(file, [next!]);
  return { ok: true, key_id: next!.id, is_resumed, ...sum };
}

async function switchKey(
  store: RotationOptions["store"],
  [next, old]: readonly MasterKey[],
  givesUp: boolean,
): Promise<boolean> {
  for (;;) {
    const now = await store.claim(next!.id);
    if (now === next!.id) return true;
    if (now !== old!.id && !givesUp) return false;
    if (await store.turn(now, next!.id)) return true;
  }
}

async function resealAll(
  store: RotationOptions["store"],
  keys: readonly MasterKey[],
  givesUp: boolean,
): Promise<Resealed | null> {
  const key_id = keys[0]!.id;
  const sum = { resealed: 0, given_up: 0 };
  for (;;) {
    const places: SecretPlace[] = [];
    let unreadable = 0;
    let after: SealedSecret | null = null;
    for (;;) {
      const page: SealedSecret[] = await store.listOthers(key_id, after, ROWS_AT_ONCE);
      if (page.length === 0) break;
      const all = page.map((old) => reseal(keys, old));
      const lost = all.filter(({ sealed }) => sealed === null).map(({ old }) => old);
      unreadable += lost.length;
      places.push(...lost.slice(0, NAMES_MAX - places.length));
      const wanted = givesUp ? all : all.filter(({ sealed }) => sealed !== null);
      const done = await store.reseal(key_id, wanted);
      if (done === null) return null;
      sum.resealed += done.resealed;
      sum.given_up += done.dropped;
      after = page.at(-1)!;
    }
    // Writes from before the change of keys may have landed on a page already read.
    const done = await store.reseal(key_id, []);
    if (done === null) return null;
    if (done.left === 0) return { ...sum, left: 0, places: [] };
    if (!givesUp && done.left <= unreadable) return { ...sum, left: done.left, places };
  }
}

function reseal(keys: readonly MasterKey[], old: SealedSecret): Resealing {
  const key = keys.find(({ id }) => id === old.key_id);
  const secret = key ? unseal(key, old, old.sealed) : null;
  return { old, sealed: secret === null ? null : seal(keys[0]!, old, secret).sealed };
}

/** Locks the file, because two writers would lose a key; throws where it cannot be written. */
function takeFile(ring: RotationOptions["ring"], name: string): (() => void) | null {
  const file = ring.refresh().length > 0 ? realpathSync(name) : name;
  const lock = `${file}.lock`;
  accessSync(dirname(file), constants.W_OK | constants.X_OK);
  // Opened as a database, another user's lock gives a misleading error.
  if (existsSync(lock)) accessSync(lock, constants.R_OK | constants.W_OK);
  return lockFile(lock);
}
