// Accounts, their keys, and the secrets that requests carry.
import { type Static, Type } from "@sinclair/typebox";
import type { Clock } from "../platform/clock.ts";
import { type Ids, writeBase62 } from "../platform/ids.ts";
import { maybe, Resource, Row, Timestamp } from "../platform/schema.ts";
import { ScopeSchema } from "./scopes.ts";

export const Account = Resource("Account", {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  name: Type.String({ description: "Unique name, 1 to 64 of letters, digits, `_`, `.`, `-`." }),
  created_at: Timestamp("When the account was created."),
});
export type Account = Static<typeof Account>;

export const Key = Resource("Key", {
  id: Type.String({ format: "uuid", description: "Identifier; rotating the secret keeps it." }),
  account_id: maybe(
    Type.String({ format: "uuid", description: "The owner; null: a key without an owner." }),
  ),
  name: maybe(Type.String({ description: "A name for people; null: none." })),
  kind: Type.Union([Type.Literal("ordinary"), Type.Literal("internal")], {
    description: "`internal`: a platform-internal key, which may not call the API.",
  }),
  scopes: Type.Array(ScopeSchema, { description: "What the key may do beyond chat." }),
  models: maybe(
    Type.Array(Type.String(), { description: "The only models it may call; null: no such list." }),
  ),
  max_output_tokens: maybe(
    Type.Integer({ description: "Cap on the tokens of a reply; null: none of its own." }),
  ),
  created_at: Timestamp("When the key was created."),
  expires_at: maybe(Timestamp("When the key ends; null: never.")),
  revoked_at: maybe(Timestamp("When the key was revoked; null: it was not.")),
});
export type Key = Static<typeof Key>;

export const KeySecret = Type.Object({
  hash: Type.String(),
  key_id: Type.String(),
  created_at: Timestamp("When the secret was made."),
  expires_at: maybe(Timestamp("When this secret ends; null: with its key.")),
  ends_in: maybe(Type.String()),
});
export type KeySecret = Static<typeof KeySecret>;

/** A key with what operators see of its secret and its use. */
export const SeenKey = Row(Key, {
  ends_in: maybe(
    Type.String({ description: "Last 4 characters of its newest secret; null: an older key." }),
  ),
  last_used_at: maybe(Timestamp("Last request with the key, within a minute; null: none yet.")),
});
export type SeenKey = Static<typeof SeenKey>;

export const KeyUse = Type.Object({
  key_id: Type.String(),
  last_used_at: Timestamp("When a request last carried a secret of the key."),
});
export type KeyUse = Static<typeof KeyUse>;

export interface NewKey extends Partial<Omit<Key, "id" | "created_at">> {
  account_id: string | null;
  /** Fixed for `wadi dev`; random by default. */
  secret?: string;
}

const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;
/** Characters shown of a secret: the end of its checksum, and none of the random ones. */
const SHOWN_CHARACTERS = 4;

export class Credentials {
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #alias: string;

  constructor(clock: Clock, ids: Ids, alias: string) {
    this.#clock = clock;
    this.#ids = ids;
    this.#alias = alias;
  }

  makeAccount(name: string): Account {
    return { id: this.#ids.uuid(), name, created_at: this.#clock.now() };
  }

  /** gateway.authentication.9: a key starts without scopes, model list and output cap. */
  makeKey({ secret, ...chosen }: NewKey): { key: Key; secret: string; stored: KeySecret } {
    const key: Key = {
      name: null,
      kind: "ordinary",
      scopes: [],
      models: null,
      max_output_tokens: null,
      expires_at: null,
      revoked_at: null,
      ...chosen,
      id: this.#ids.uuid(),
      created_at: this.#clock.now(),
    };
    return { key, ...this.makeSecret(key.id, secret) };
  }

  makeSecret(key_id: string, secret = makeSecret(this.#ids, `${this.#alias}_sk`)) {
    const created_at = this.#clock.now();
    const stored: KeySecret = {
      hash: hashSecret(secret),
      key_id,
      created_at,
      expires_at: null,
      ends_in: secret.slice(-SHOWN_CHARACTERS),
    };
    return { secret, stored };
  }
}

/**
 * Makes a secret: the prefix, 43 characters of base62 (256 bits), and 6 of the CRC-32 of it all.
 * The checksum lets scanners of leaked secrets tell real ones from look-alikes.
 */
export function makeSecret(ids: Ids, prefix: string): string {
  const body = `${prefix}_${ids.token(RANDOM_CHARACTERS)}`;
  return body + writeBase62(Bun.hash.crc32(body), CHECKSUM_CHARACTERS);
}

export function hashSecret(secret: string): string {
  return Bun.SHA256.hash(secret, "hex") as string;
}

/** A key is in force together with the secret that was sent for it. */
export function isInForce(key: Key, secret_expires_at: number | null, now: number): boolean {
  return (
    key.revoked_at === null &&
    (key.expires_at === null || key.expires_at > now) &&
    (secret_expires_at === null || secret_expires_at > now)
  );
}
