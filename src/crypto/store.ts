// Sealed secrets in the database, and the name of their key.
import { type Static, Type } from "@sinclair/typebox";
import { countRows, type Db, into, none, sql, store, type Tx } from "../database/index.ts";
import { apiError, type ErrorCode } from "../platform/errors.ts";
import { Timestamp } from "../platform/schema.ts";

/** Kinds of owners, and their error while secrets cannot be stored. */
const UNAVAILABLE = {
  connection: "connections_unavailable",
  trigger: "triggers_unavailable",
  webhook: "webhooks_unavailable",
} as const satisfies Record<string, ErrorCode>;
export type SecretKind = keyof typeof UNAVAILABLE;

const SealedSecret = Type.Object({
  kind: Type.Unsafe<SecretKind>({ type: "string" }),
  row_id: Type.String(),
  account_id: Type.String(),
  sealed: Type.String(),
  key_id: Type.String(),
  set_at: Timestamp("When the secret was set."),
});
export type SealedSecret = Static<typeof SealedSecret>;
export type SecretPlace = Pick<SealedSecret, "kind" | "row_id" | "account_id">;
export type SecretOwner = SecretPlace & Pick<SealedSecret, "set_at">;
/** A secret of a rotation, sealed again; null deletes it. */
export interface Resealing {
  old: SealedSecret;
  sealed: string | null;
}

const KeyName = Type.Object({ key_id: Type.String() });
const PLACE = 1;

export const secretStore = store(
  "secrets",
  {
    find: (db, kind: SecretKind, row_id: string) =>
      db.one(SealedSecret, sql`SELECT * FROM secrets WHERE kind = ${kind} AND row_id = ${row_id}`),
    /** Finds a secret, or returns `other` at the same cost. */
    async findOr(db, kind: SecretKind, row_id: string, other: SealedSecret) {
      const { sealed, account_id, key_id, set_at } = other;
      const found = await db.one(
        SealedSecret,
        sql`SELECT kind, row_id, account_id, sealed, key_id, set_at FROM secrets
            WHERE kind = ${kind} AND row_id = ${row_id}
            UNION ALL
            SELECT CAST(${other.kind} AS TEXT), CAST(${other.row_id} AS TEXT),
              CAST(${account_id} AS TEXT), CAST(${sealed} AS TEXT), CAST(${key_id} AS TEXT),
              CAST(${set_at} AS BIGINT)
            LIMIT 1`,
      );
      return found!;
    },
    findKey: (db) => findKey(db),
    listOthers: (db, key_id: string, after: SecretPlace | null, limit: number) =>
      db.all(
        SealedSecret,
        sql`SELECT * FROM secrets WHERE key_id <> ${key_id}
            ${after === null ? none : sql`AND (kind, row_id) > (${after.kind}, ${after.row_id})`}
            ORDER BY kind, row_id LIMIT ${limit}`,
      ),
  },
  {
    /** Sets the key unless another process has; returns the one in force. */
    claim: async (tx, key_id: string) => {
      await tx.run(
        sql`INSERT INTO secrets_key (place, key_id) VALUES (${PLACE}, ${key_id})
            ON CONFLICT (place) DO NOTHING`,
      );
      return (await findKey(tx))!;
    },
    /** Replaces the key `from`; returns false where another one is in force. */
    turn: async (tx, from: string, to: string) => {
      const turned = await tx.run(
        sql`UPDATE secrets_key SET key_id = ${to} WHERE place = ${PLACE} AND key_id = ${from}`,
      );
      return turned === 1;
    },
    /**
     * Skips secrets that were changed or deleted meanwhile. Counts secrets of other keys in this
     * write: on PostgreSQL a read could miss earlier writes. Null: another key is in force.
     */
    reseal: async (tx, key_id: string, resealings: readonly Resealing[]) => {
      if ((await findKey(tx)) !== key_id) return null;
      let [resealed, dropped] = [0, 0];
      for (const { old, sealed } of resealings) {
        const same = sql`kind = ${old.kind} AND row_id = ${old.row_id} AND sealed = ${old.sealed}`;
        if (sealed === null) {
          dropped += await tx.run(sql`DELETE FROM secrets WHERE ${same}`);
        } else {
          resealed += await tx.run(
            sql`UPDATE secrets SET sealed = ${sealed}, key_id = ${key_id} WHERE ${same}`,
          );
        }
      }
      const left = await countRows(tx, sql`FROM secrets WHERE key_id <> ${key_id}`);
      return { resealed, dropped, left };
    },
  },
);

/**
 * Part of a transaction: stores a secret in place of the previous one. Throws if a rotation has
 * overtaken it; `SecretStore.store` then seals it again.
 */
export async function putSecret(tx: Tx, secret: SealedSecret): Promise<void> {
  if ((await findKey(tx)) !== secret.key_id) throw secretError(secret.kind);
  await tx.run(
    sql`INSERT INTO secrets ${into(SealedSecret, secret)}
        ON CONFLICT (kind, row_id) DO UPDATE SET account_id = excluded.account_id,
          sealed = excluded.sealed, key_id = excluded.key_id, set_at = excluded.set_at`,
  );
}

export async function dropSecret(tx: Tx, kind: SecretKind, row_id: string): Promise<void> {
  await tx.run(sql`DELETE FROM secrets WHERE kind = ${kind} AND row_id = ${row_id}`);
}

/**
 * agents.errors.connections_unavailable agents.errors.triggers_unavailable
 * agents.errors.webhooks_unavailable
 */
export function secretError(kind: SecretKind) {
  return apiError(UNAVAILABLE[kind]);
}

async function findKey(db: Db): Promise<string | undefined> {
  const found = await db.one(KeyName, sql`SELECT key_id FROM secrets_key WHERE place = ${PLACE}`);
  return found?.key_id;
}
