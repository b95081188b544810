// Makes, lists, rotates and revokes keys; a secret is returned once and never again.

import type { Bound } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { hashSecret, isInForce, type Key, type KeySecret, makeSecret } from "./key.ts";
import type { keyStore } from "./store.ts";

/** What may be chosen of a new key; what is left out gives a key without rights beyond chat. */
export interface NewKey extends Partial<Omit<Key, "id" | "created_at">> {
  account_id: string | null;
  /** Fixed for `wadi dev`; otherwise a fresh one is made. */
  secret?: string;
}

export interface RotatedKey {
  key: Key;
  secret: string;
  /** When the secret before this one ends; null: it has ended. */
  previous_until: number | null;
}

export interface KeyContext {
  clock: Clock;
  ids: Ids;
  alias: string;
}

/** A key and its secret as they are stored, and the secret itself. */
export function makeKey({ clock, ids, alias }: KeyContext, wish: NewKey) {
  const { secret = makeSecret(ids, alias), ...chosen } = wish;
  const created_at = clock.now();
  // gateway.authentication.9: no scopes, no model list, no output cap unless asked for.
  const key: Key = {
    name: null,
    kind: "ordinary",
    scopes: [],
    models: null,
    max_output_tokens: null,
    expires_at: null,
    revoked_at: null,
    ...chosen,
    id: ids.uuid(),
    created_at,
  };
  return { key, stored: storeSecret(secret, key.id, created_at), secret };
}

function storeSecret(secret: string, key_id: string, created_at: number): KeySecret {
  return { hash: hashSecret(secret), key_id, created_at, expires_at: null };
}

export function createKeys(store: Bound<typeof keyStore>, making: KeyContext) {
  return {
    /** The key, and its secret for the only time. */
    async create(wish: NewKey): Promise<{ key: Key; secret: string }> {
      const { key, stored, secret } = makeKey(making, wish);
      await store.create(key, stored);
      return { key, secret };
    },
    /** Newest first; of one account, or of all where it is null. */
    list: (account_id: string | null): Promise<Key[]> => store.list(account_id),
    /** Takes effect on the key's next request; undefined: there is no such key. */
    revoke: (id: string): Promise<Key | undefined> => store.revoke(id, making.clock.now()),
    /**
     * The same key with a new secret, shown for the only time, beside which the one before it works
     * on for the overlap. null: the key is not in force; undefined: there is none.
     */
    async rotate(id: string, overlap_ms: number): Promise<RotatedKey | null | undefined> {
      const now = making.clock.now();
      const until = now + overlap_ms;
      const secret = makeSecret(making.ids, making.alias);
      const key = await store.rotate(storeSecret(secret, id, now), until);
      if (!key) return undefined;
      if (!isInForce(key, null, now)) return null;
      // No secret outlives its key.
      const previous_until = until > now ? Math.min(until, key.expires_at ?? until) : null;
      return { key, secret, previous_until };
    },
  };
}
