// Models by id: when first seen, how switched, and to whom granted.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, type Sql, sql, store, type Tx } from "../database/index.ts";
import { Timestamp } from "../platform/schema.ts";

const ModelStatus = Type.Object({
  id: Type.String(),
  first_seen_at: Timestamp("When it was first seen."),
  is_off: Type.Boolean(),
  is_blocked: Type.Boolean(),
  /** Always false without an account. */
  is_granted: Type.Boolean(),
});
export type ModelStatus = Static<typeof ModelStatus>;

const Grant = Type.Object({ account_id: Type.String(), model: Type.String() });

export const modelStore = store(
  "models",
  {
    find: (db, id: string, account_id: string | null) => findStatus(db, id, account_id),
    list: (db, account_id: string | null) =>
      db.all(ModelStatus, sql`${selectStatus(account_id)} ORDER BY id`),
    /** Every grant, by account and model. */
    listGrants: (db) =>
      db.all(Grant, sql`SELECT account_id, model FROM grants ORDER BY account_id, model`),
  },
  {
    see: async (tx, ids: string[], now: number) => {
      for (const id of ids) await seeModel(tx, id, now);
    },
    turn: async (tx, id: string, name: "is_off" | "is_blocked", to: boolean, now: number) => {
      await seeModel(tx, id, now);
      const change = name === "is_off" ? sql`is_off = ${to}` : sql`is_blocked = ${to}`;
      await tx.run(sql`UPDATE models SET ${change} WHERE id = ${id}`);
      tx.tell("model", id);
      return (await findStatus(tx, id, null))!;
    },
    grant: async (tx, account_id: string, model: string, now: number) => {
      await tx.run(
        sql`INSERT INTO grants (account_id, model, created_at)
            VALUES (${account_id}, ${model}, ${now}) ON CONFLICT DO NOTHING`,
      );
    },
    ungrant: async (tx, account_id: string, model: string) => {
      const taken = await tx.run(
        sql`DELETE FROM grants WHERE account_id = ${account_id} AND model = ${model}`,
      );
      return taken === 1;
    },
  },
  // Read for every chat.
  ["find"],
);

function selectStatus(account_id: string | null): Sql {
  return sql`SELECT models.*, EXISTS (SELECT 1 FROM grants
      WHERE grants.account_id = ${account_id} AND grants.model = models.id) AS is_granted
    FROM models`;
}

function findStatus(db: Db, id: string, account_id: string | null) {
  return db.one(ModelStatus, sql`${selectStatus(account_id)} WHERE models.id = ${id}`);
}

async function seeModel(tx: Tx, id: string, now: number): Promise<void> {
  await tx.run(
    sql`INSERT INTO models (id, first_seen_at) VALUES (${id}, ${now}) ON CONFLICT DO NOTHING`,
  );
}

/** Part of a transaction: deletes all grants of an account. */
export async function dropGrants(tx: Tx, account_id: string): Promise<void> {
  await tx.run(sql`DELETE FROM grants WHERE account_id = ${account_id}`);
}
