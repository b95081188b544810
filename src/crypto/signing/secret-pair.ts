// The secret that signs now and the one before it, kept as one: for a while after a rotation both
// hold.

import { createDecoy } from "../decoy.ts";
import type { OpenedSecret, SecretStore } from "../secret-store.ts";
import type { SealedSecret, SecretOwner, SecretPlace } from "../store.ts";
import { makeSigningSecret } from "./secret.ts";

interface SecretPair {
  current: string;
  /** null: there is none, or it has no say any more. */
  previous: { secret: string; expires_at: number } | null;
}

/** The secrets that hold now, the newest first; or why there is none. */
export type OpenedPair = { ok: true; secrets: string[] } | Extract<OpenedSecret, { ok: false }>;

export interface SecretPairs {
  /** A first secret; `write` as in `SecretBox.store`. */
  store<T>(
    about: SecretOwner,
    secret: string,
    write: (sealed: SealedSecret) => Promise<T>,
  ): Promise<T>;
  /**
   * Another secret, beside which the one before holds for `overlap_ms`. Who rotates at the same
   * time is told apart by `write`, which knows what it replaces.
   */
  rotate<T>(
    about: SecretOwner,
    wish: { secret: string; overlap_ms: number },
    write: (sealed: SealedSecret, previous_expires_at: number | null) => Promise<T>,
  ): Promise<T>;
  open(place: SecretPlace, now: number): Promise<OpenedPair>;
  /** The same, where nobody may learn whether there are any: as much is done if there are none. */
  openAlike(place: SecretPlace, now: number): Promise<OpenedPair>;
}

/** Their text lies in the box like any other secret. */
export function createSecretPairs(box: Pick<SecretStore, "store" | "open">): SecretPairs {
  const nobodys = writePair({ current: makeSigningSecret(), previous: null });
  // Its kind does not matter: it opens with a key of its own, wherever it stands in.
  const decoy = createDecoy("trigger", nobodys);
  return {
    store: (about, secret, write) =>
      box.store(about, writePair({ current: secret, previous: null }), write),
    async rotate(about, { secret, overlap_ms }, write) {
      const now = about.set_at;
      // What cannot be read does not hold beside the new one: the new one is what mends it.
      const opened = await box.open(about);
      const before = opened.ok ? readPair(opened.secret).current : null;
      const expires_at = before === null || overlap_ms === 0 ? null : now + overlap_ms;
      const previous = expires_at === null ? null : { secret: before!, expires_at };
      const text = writePair({ current: secret, previous });
      return box.store(about, text, (sealed) => write(sealed, expires_at));
    },
    async open(place, now) {
      const opened = await box.open(place);
      return opened.ok ? { ok: true, secrets: readSecrets(opened.secret, now) } : opened;
    },
    async openAlike(place, now) {
      const opened = await box.open(place, decoy);
      const secrets = readSecrets(opened.ok ? opened.secret : nobodys, now);
      return opened.ok ? { ok: true, secrets } : opened;
    },
  };
}

/** Those of a pair that hold now. */
function readSecrets(text: string, now: number): string[] {
  const { current, previous } = readPair(text);
  return previous !== null && now < previous.expires_at ? [current, previous.secret] : [current];
}

function writePair(pair: SecretPair): string {
  return JSON.stringify(pair);
}

function readPair(text: string): SecretPair {
  return JSON.parse(text) as SecretPair;
}
