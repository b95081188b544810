// Accounts, keys and their secrets.
import { type Static, Type } from "@sinclair/typebox";
import {
  countRows,
  type Db,
  into,
  none,
  type Sql,
  sql,
  store,
  type Tx,
} from "../database/index.ts";
import { maybe, Row, Timestamp } from "../platform/schema.ts";
import { Account, isInForce, Key, KeySecret, type KeyUse, SeenKey } from "./credentials.ts";
import { changeLimits, type LimitChange, type Limits, StoredLimits } from "./limits.ts";
import { ModelStatesRow } from "./model-states.ts";

const Id = Type.Object({ id: Type.String() });

/** A key with the limits of its own and of its account. */
const LimitedKey = Row(Key, { limits: maybe(StoredLimits), account_limits: maybe(StoredLimits) });
export type LimitedKey = Static<typeof LimitedKey>;

const FoundKey = Row(LimitedKey, {
  secret_expires_at: maybe(Timestamp("When the secret ends.")),
  ...ModelStatesRow.properties,
});
export type FoundKey = Static<typeof FoundKey>;

/** Fields to change; those that are left out stay. */
export type KeyChange = Partial<
  Pick<Key, "name" | "scopes" | "models" | "max_output_tokens" | "expires_at">
>;
const LimitsOf = Type.Object({ limits: maybe(StoredLimits) });
/** Only the newest secret of a key has no end of its own. */
const SEEN_KEYS = sql`SELECT keys.*, key_secrets.ends_in, key_uses.last_used_at FROM keys
  LEFT JOIN key_secrets ON key_secrets.key_id = keys.id AND key_secrets.expires_at IS NULL
  LEFT JOIN key_uses ON key_uses.key_id = keys.id`;
/** Channel of changed keys: an account's limits concern all of its keys. */
const KEY = "key";

export const accountStore = store(
  "accounts",
  {
    list: (db) => db.all(Account, sql`SELECT * FROM accounts ORDER BY name`),
    find: (db, name: string) => db.one(Account, sql`SELECT * FROM accounts WHERE name = ${name}`),
    count: (db) => countRows(db, sql`FROM accounts`),
    findLimits: (db, id: string) => findLimits(db, sql`accounts`, id),
  },
  {
    limit: async (tx, id: string, change: LimitChange) => limit(tx, sql`accounts`, id, change),
    /** Returns false where the name is taken. */
    create: async (tx, account: Account) => createAccount(tx, account),
    /** Creates an account with its key, unless there is any account already. */
    createFirst: async (tx, account: Account, key: Key, secret: KeySecret) => {
      if ((await countRows(tx, sql`FROM accounts`)) > 0) return false;
      await createAccount(tx, account);
      await createKey(tx, key, secret);
      return true;
    },
  },
);

export const keyStore = store(
  "keys",
  {
    /** Finds the key of a secret, in force or not. */
    find: (db, hash: string) =>
      db.one(
        FoundKey,
        sql`SELECT keys.*, accounts.limits AS account_limits,
              key_secrets.expires_at AS secret_expires_at,
              ${selectModelStates(sql`keys.account_id`)}
            FROM key_secrets JOIN keys ON keys.id = key_secrets.key_id
            LEFT JOIN accounts ON accounts.id = keys.account_id
            WHERE key_secrets.hash = ${hash}`,
      ),
    findById: (db, id: string) =>
      db.one(
        LimitedKey,
        sql`SELECT keys.*, accounts.limits AS account_limits
            FROM keys LEFT JOIN accounts ON accounts.id = keys.account_id WHERE keys.id = ${id}`,
      ),
    findSeen: (db, id: string) => db.one(SeenKey, sql`${SEEN_KEYS} WHERE keys.id = ${id}`),
    list: (db, account_id: string | null) =>
      db.all(
        SeenKey,
        sql`${SEEN_KEYS} ${account_id === null ? none : sql`WHERE account_id = ${account_id}`}
            ORDER BY keys.id DESC`,
      ),
  },
  {
    create: async (tx, key: Key, secret: KeySecret) => createKey(tx, key, secret),
    limit: async (tx, id: string, change: LimitChange) => limit(tx, sql`keys`, id, change),
    revoke: async (tx, id: string, now: number) => {
      await tx.run(
        sql`UPDATE keys SET revoked_at = ${now} WHERE id = ${id} AND revoked_at IS NULL`,
      );
      tx.tell(KEY, id);
      return findKey(tx, id);
    },
    /** Changes a key in force; another is returned unchanged. */
    update: async (tx, id: string, change: KeyChange, now: number) => {
      const key = await findKey(tx, id);
      if (!key || !isInForce(key, null, now)) return key;
      const { name, scopes, models, max_output_tokens, expires_at } = { ...key, ...change };
      await tx.run(
        sql`UPDATE keys SET name = ${name}, scopes = ${JSON.stringify(scopes)},
              models = ${models && JSON.stringify(models)},
              max_output_tokens = ${max_output_tokens}, expires_at = ${expires_at}
            WHERE id = ${id}`,
      );
      tx.tell("key", id);
      return findKey(tx, id);
    },
    /** Skips keys that have been deleted. */
    noteUses: async (tx, uses: readonly KeyUse[]) => {
      for (const { key_id, last_used_at } of uses) {
        await tx.run(
          sql`INSERT INTO key_uses (key_id, last_used_at)
              SELECT id, CAST(${last_used_at} AS BIGINT) FROM keys WHERE id = ${key_id}
              ON CONFLICT (key_id) DO UPDATE SET last_used_at = excluded.last_used_at`,
        );
      }
    },
    /**
     * Gives a key in force a new secret; the previous one ends at `overlapUntil`. Older ones end
     * now, so a key has two at most. A key that is not in force is returned unchanged.
     */
    rotate: async (tx, secret: KeySecret, overlapUntil: number) => {
      const { key_id, created_at: now } = secret;
      const key = await findKey(tx, key_id);
      if (!key || !isInForce(key, null, now)) return key;
      const isOver = overlapUntil <= now;
      // Only the newest secret has no end of its own.
      await tx.run(
        sql`DELETE FROM key_secrets WHERE key_id = ${key_id}
            ${isOver ? none : sql`AND expires_at IS NOT NULL`}`,
      );
      await tx.run(
        sql`UPDATE key_secrets SET expires_at = ${overlapUntil} WHERE key_id = ${key_id}`,
      );
      await tx.run(sql`INSERT INTO key_secrets ${into(KeySecret, secret)}`);
      tx.tell(KEY, key_id);
      return key;
    },
  },
  ["find", "findById"],
);

/** Columns of `ModelStatesRow`, so that a write or read of something else brings them along. */
export function selectModelStates(account_id: Sql): Sql {
  return sql`(SELECT string_agg(id, ' ') FROM models WHERE is_off = 1) AS off_models,
    (SELECT string_agg(id, ' ') FROM models WHERE is_blocked = 1) AS blocked_models,
    (SELECT string_agg(model, ' ') FROM grants
      WHERE grants.account_id = ${account_id}) AS granted_models`;
}

function findKey(db: Db, id: string): Promise<Key | undefined> {
  return db.one(Key, sql`SELECT * FROM keys WHERE id = ${id}`);
}

async function findLimits(db: Db, table: Sql, id: string): Promise<Limits | null> {
  const found = await db.one(LimitsOf, sql`SELECT limits FROM ${table} WHERE id = ${id}`);
  return found?.limits ?? null;
}

/** Changes the limits that a change names, and returns all that are left. */
async function limit(tx: Tx, table: Sql, id: string, change: LimitChange): Promise<Limits | null> {
  const limits = changeLimits(await findLimits(tx, table, id), change);
  const stored = limits && JSON.stringify(limits);
  await tx.run(sql`UPDATE ${table} SET limits = ${stored} WHERE id = ${id}`);
  tx.tell(KEY, id);
  return limits;
}

async function createAccount(tx: Tx, account: Account): Promise<boolean> {
  const made = await tx.run(
    sql`INSERT INTO accounts ${into(Account, account)} ON CONFLICT (name) DO NOTHING`,
  );
  return made === 1;
}

async function createKey(tx: Tx, key: Key, secret: KeySecret): Promise<void> {
  await tx.run(sql`INSERT INTO keys ${into(Key, key)}`);
  await tx.run(sql`INSERT INTO key_secrets ${into(KeySecret, secret)}`);
}

/** Part of a transaction: deletes an account and its keys, which are refused; returns their ids. */
export async function removeAccount(tx: Tx, id: string): Promise<string[]> {
  const keys = await tx.all(Id, sql`SELECT id FROM keys WHERE account_id = ${id}`);
  const own = sql`key_id IN (SELECT id FROM keys WHERE account_id = ${id})`;
  await tx.run(sql`DELETE FROM key_secrets WHERE ${own}`);
  await tx.run(sql`DELETE FROM key_uses WHERE ${own}`);
  await tx.run(sql`DELETE FROM keys WHERE account_id = ${id}`);
  await tx.run(sql`DELETE FROM accounts WHERE id = ${id}`);
  for (const key of keys) tx.tell(KEY, key.id);
  return keys.map((key) => key.id);
}
