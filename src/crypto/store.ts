// Secrets as they lie in the database: sealed, and the name of the key with which they are.
import { type Static, Type } from "@sinclair/typebox";
import { countRows, type Db, into, none, sql, store, type Tx } from "../database/index.ts";
import { apiError, type ErrorCode } from "../platform/errors.ts";
import { Timestamp } from "../platform/schema.ts";

/** What has a secret, and the refusal of what needs it while secrets cannot be stored. */
const UNAVAILABLE = {
  connection: "connections_unavailable",
  trigger: "triggers_unavailable",
  webhook: "webhooks_unavailable",
} as const satisfies Record<string, ErrorCode>;
export type SecretKind = keyof typeof UNAVAILABLE;

const SealedSecret = Type.Object({
  kind: Type.Unsafe<SecretKind>({ type: "string" }),
  /** Of what has the secret. */
  row_id: Type.String(),
  /** Its owner. */
  account_id: Type.String(),
  sealed: Type.String(),
  /** Of the key with which it is sealed. */
  key_id: Type.String(),
  set_at: Timestamp("When the secret was set."),
});
export type SealedSecret = Static<typeof SealedSecret>;
/** Where a secret lies and whose it is: it opens there only. */
export type SecretPlace = Pick<SealedSecret, "kind" | "row_id" | "account_id">;
/** All of it but the secret. */
export type SecretOwner = SecretPlace & Pick<SealedSecret, "set_at">;
/** What a rotation found, and the same secret under the new key; null: it goes. */
export interface Resealing {
  old: SealedSecret;
  sealed: string | null;
}

const KeyName = Type.Object({ key_id: Type.String() });
/** The only row of secrets_key. */
const PLACE = 1;

export const secretStore = store(
  "secrets",
  {
    find: (db, kind: SecretKind, row_id: string) =>
      db.one(SealedSecret, sql`SELECT * FROM secrets WHERE kind = ${kind} AND row_id = ${row_id}`),
    /** The same, or what stands in where there is none: a row in any case, at the same cost. */
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
    /** The key with which secrets are sealed; undefined: none was yet. */
    findKey: (db) => findKey(db),
    /** In the order of their places behind `after`, those that this key did not seal. */
    listOthers: (db, key_id: string, after: SecretPlace | null, limit: number) =>
      db.all(
        SealedSecret,
        sql`SELECT * FROM secrets WHERE key_id <> ${key_id}
            ${after === null ? none : sql`AND (kind, row_id) > (${after.kind}, ${after.row_id})`}
            ORDER BY kind, row_id LIMIT ${limit}`,
      ),
  },
  {
    /** Of several processes the first one's key holds for all; the one that does. */
    claim: async (tx, key_id: string) => {
      await tx.run(
        sql`INSERT INTO secrets_key (place, key_id) VALUES (${PLACE}, ${key_id})
            ON CONFLICT (place) DO NOTHING`,
      );
      return (await findKey(tx))!;
    },
    /** From now on nothing is stored that `to` did not seal; false: it was not `from`'s turn. */
    turn: async (tx, from: string, to: string) => {
      const turned = await tx.run(
        sql`UPDATE secrets_key SET key_id = ${to} WHERE place = ${PLACE} AND key_id = ${from}`,
      );
      return turned === 1;
    },
    /**
     * Whatever was set or dropped meanwhile stays as it is. It also says how many are left that
     * this key did not seal: counted here, since on PostgreSQL no mere read would collide with a
     * write that began before the turn and is not there yet. null: it is not the database's key.
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
 * A part: keeps a secret in the place of the one before it, which there may be. What was sealed
 * with another key than the database's, because a rotation has passed it, is refused with all of
 * its transaction; `SecretBox.store` then seals again.
 */
export async function putSecret(tx: Tx, secret: SealedSecret): Promise<void> {
  if ((await findKey(tx)) !== secret.key_id) throw secretError(secret.kind);
  await tx.run(
    sql`INSERT INTO secrets ${into(SealedSecret, secret)}
        ON CONFLICT (kind, row_id) DO UPDATE SET account_id = excluded.account_id,
          sealed = excluded.sealed, key_id = excluded.key_id, set_at = excluded.set_at`,
  );
}

/** A part: the secret goes with what had it. */
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
