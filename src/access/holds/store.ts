// Holds in the database, and how other stores look at them in statements of their own.
import { type Db, into, none, type Sql, sql, store } from "../../database/index.ts";
import { Hold, type HoldKind, type HoldRow } from "./hold.ts";

/** Told with the account's id: what was queued under a hold may begin. */
const RELEASED = "runs.queued";

export const holdStore = store(
  "holds",
  {
    find: (db, kind: HoldKind, id: string) =>
      db.one(Hold, sql`SELECT * FROM holds WHERE kind = ${kind} AND id = ${id}`),
    /** Accounts, then agents; of each the oldest first. */
    list: (db) => listHolds(db, null),
  },
  {
    /** The hold as it stands: again, only the reason changes. */
    hold: async (tx, row: HoldRow) =>
      (await tx.one(
        Hold,
        sql`INSERT INTO holds ${into(Hold, row)}
            ON CONFLICT (kind, id) DO UPDATE SET reason = excluded.reason RETURNING *`,
      ))!,
    /** False: it was not held. */
    release: async (tx, kind: HoldKind, id: string) => {
      const released = await tx.one(
        Hold,
        sql`DELETE FROM holds WHERE kind = ${kind} AND id = ${id} RETURNING *`,
      );
      if (released) tx.tell(RELEASED, released.account_id);
      return released !== undefined;
    },
  },
);

/** Every hold on an account and its agents, or all where it is null; sorted as in the list. */
export function listHolds(db: Db, account_id: string | null): Promise<HoldRow[]> {
  return db.all(
    Hold,
    sql`SELECT * FROM holds
        ${account_id === null ? none : sql`WHERE account_id = ${account_id}`}
        ORDER BY kind, since, id`,
  );
}

/** Both holds that could keep an agent's runs from starting, in one statement. */
export async function findHolds(db: Db, agent_id: string, account_id: string) {
  const rows = await db.all(
    Hold,
    sql`SELECT * FROM holds
        WHERE (kind = 'agent' AND id = ${agent_id}) OR (kind = 'account' AND id = ${account_id})`,
  );
  return {
    agent: rows.find(({ kind }) => kind === "agent"),
    account: rows.find(({ kind }) => kind === "account"),
  };
}

/** A condition on the two columns of another statement: nothing holds this agent's runs. */
export function notHeld(agentColumn: Sql, accountColumn: Sql): Sql {
  return sql`(NOT EXISTS
      (SELECT 1 FROM holds WHERE holds.kind = 'agent' AND holds.id = ${agentColumn})
    AND NOT EXISTS
      (SELECT 1 FROM holds WHERE holds.kind = 'account' AND holds.id = ${accountColumn}))`;
}
