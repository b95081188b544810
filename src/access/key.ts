// A key: its fields, the form of its secret, and what a request that carries it may do.
import { type Static, Type } from "@sinclair/typebox";
import { type Ids, writeBase62 } from "../platform/ids.ts";
import { maybe, Resource, Timestamp } from "../platform/schema.ts";
import { ScopeSchema } from "./scopes.ts";

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

/** A secret as it is stored: only its hash. */
export const KeySecret = Type.Object({
  hash: Type.String(),
  key_id: Type.String(),
  created_at: Timestamp("When the secret was made."),
  expires_at: maybe(Timestamp("When this secret ends; null: with its key.")),
});
export type KeySecret = Static<typeof KeySecret>;

const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;

/**
 * A fresh secret: `<alias>_sk_`, 43 characters of base62 (256 bits), and 6 of the CRC-32 of it all,
 * by which scanners of leaked secrets know a real one from a look-alike.
 */
export function makeSecret(ids: Ids, alias: string): string {
  const body = `${alias}_sk_${ids.token(RANDOM_CHARACTERS)}`;
  return body + writeBase62(Bun.hash.crc32(body), CHECKSUM_CHARACTERS);
}

/** SHA-256 of a secret in hexadecimal: what is stored and looked up. */
export function hashSecret(secret: string): string {
  return Bun.SHA256.hash(secret, "hex") as string;
}

/** True while a key and the secret that was sent for it are in force. */
export function isInForce(key: Key, secret_expires_at: number | null, now: number): boolean {
  return (
    key.revoked_at === null &&
    (key.expires_at === null || key.expires_at > now) &&
    (secret_expires_at === null || secret_expires_at > now)
  );
}
