// Grants of models to accounts, and when this installation first saw a model.
import { Type } from "@sinclair/typebox";
import { sql, store } from "../platform/database/index.ts";
import { Timestamp } from "../platform/shape.ts";

const Grant = Type.Object({ model: Type.String() });
const Seen = Type.Object({
  id: Type.String(),
  first_seen_at: Timestamp("When it was first seen."),
});

export const modelStore = store(
  "models",
  {
    /** The models that an account was granted. */
    listGrants: async (db, account_id: string) =>
      (
        await db.all(
          Grant,
          sql`SELECT model FROM grants WHERE account_id = ${account_id} ORDER BY model`,
        )
      ).map((grant) => grant.model),
    listSeen: (db) => db.all(Seen, sql`SELECT * FROM models ORDER BY id`),
  },
  {
    /** Notes models that the settings name for the first time. */
    see: async (tx, ids: string[], now: number) => {
      for (const id of ids) {
        await tx.run(
          sql`INSERT INTO models (id, first_seen_at) VALUES (${id}, ${now}) ON CONFLICT DO NOTHING`,
        );
      }
    },
    grant: async (tx, account_id: string, model: string, now: number) => {
      await tx.run(
        sql`INSERT INTO grants (account_id, model, created_at)
            VALUES (${account_id}, ${model}, ${now}) ON CONFLICT DO NOTHING`,
      );
    },
    ungrant: async (tx, account_id: string, model: string) => {
      await tx.run(sql`DELETE FROM grants WHERE account_id = ${account_id} AND model = ${model}`);
    },
  },
);
