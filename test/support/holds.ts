// Reads holds by the conditions that other stores use.
import { Type } from "@sinclair/typebox";
import { findHolds, notHeld } from "../../src/access/holds/store.ts";
import { type Database, sql, store } from "../../src/database/index.ts";

const Count = Type.Object({ count: Type.Integer() });

const reader = store(
  "hold-reader",
  {
    both: (db, agent_id: string, account_id: string) => findHolds(db, agent_id, account_id),
    async isFree(db, agent_id: string, account_id: string) {
      const free = notHeld(sql`request.agent_id`, sql`request.account_id`);
      const found = await db.one(
        Count,
        sql`SELECT COUNT(*) AS count
            FROM (SELECT CAST(${agent_id} AS TEXT) AS agent_id,
              CAST(${account_id} AS TEXT) AS account_id) AS request
            WHERE ${free}`,
      );
      return found!.count === 1;
    },
  },
  {},
);

export const readHolds = (database: Database) => database.bind(reader);
