// Operators in the database, found by the hash of their token.
import { into, sql, store } from "../../database/index.ts";
import { Operator, StoredOperator } from "./operator.ts";

export const operatorStore = store(
  "operators",
  {
    list: (db) => db.all(Operator, sql`SELECT * FROM operators ORDER BY name`),
    find: (db, token_hash: string) =>
      db.one(Operator, sql`SELECT * FROM operators WHERE token_hash = ${token_hash}`),
    findByName: (db, name: string) =>
      db.one(Operator, sql`SELECT * FROM operators WHERE name = ${name}`),
  },
  {
    /** Returns false where the name is taken. */
    create: async (tx, row: StoredOperator) =>
      (await tx.run(
        sql`INSERT INTO operators ${into(StoredOperator, row)} ON CONFLICT (name) DO NOTHING`,
      )) === 1,
    /** Revokes the token for good; returns undefined for an unknown name. */
    revoke: async (tx, name: string, now: number) => {
      await tx.run(
        sql`UPDATE operators SET revoked_at = ${now} WHERE name = ${name} AND revoked_at IS NULL`,
      );
      return tx.one(Operator, sql`SELECT * FROM operators WHERE name = ${name}`);
    },
    /** Creates an operator, or gives the one of that name another token, role and end. */
    replace: async (tx, row: StoredOperator) => {
      const { token_hash, role, created_at, expires_at } = row;
      await tx.run(
        sql`INSERT INTO operators ${into(StoredOperator, row)}
            ON CONFLICT (name) DO UPDATE SET token_hash = ${token_hash}, role = ${role},
              created_at = ${created_at}, expires_at = ${expires_at}, revoked_at = NULL`,
      );
    },
  },
  ["find"],
);
