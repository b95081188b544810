// Holds: the operator keeps an agent, or all agents of an account, from starting runs.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, into, none, type Sql, sql, store, type Tx } from "../../database/index.ts";
import { maybe, Resource, Timestamp } from "../../platform/schema.ts";

type HoldKind = "agent" | "account";

export const Hold = Resource("Hold", {
  kind: Type.Unsafe<HoldKind>({ type: "string", description: "`agent` or `account`." }),
  id: Type.String({ description: "Of the agent or the account that is held." }),
  account_id: Type.String({ description: "The account, or the agent's owner." }),
  reason: maybe(Type.String({ description: "For people, its owner too; null: none was given." })),
  since: Timestamp("When it was held first; another reason leaves it as it is."),
});
export type HoldRow = Static<typeof Hold>;

/** Channel that carries account ids: runs queued under a hold may begin. */
const RELEASED = "runs.queued";

export const holdStore = store(
  "holds",
  {
    find: (db, kind: HoldKind, id: string) =>
      db.one(Hold, sql`SELECT * FROM holds WHERE kind = ${kind} AND id = ${id}`),
    list: (db) => listHolds(db, null),
  },
  {
    /** A second hold changes the reason only. */
    hold: async (tx, row: HoldRow) =>
      (await tx.one(
        Hold,
        sql`INSERT INTO holds ${into(Hold, row)}
            ON CONFLICT (kind, id) DO UPDATE SET reason = excluded.reason RETURNING *`,
      ))!,
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

export function listHolds(db: Db, account_id: string | null): Promise<HoldRow[]> {
  return db.all(
    Hold,
    sql`SELECT * FROM holds
        ${account_id === null ? none : sql`WHERE account_id = ${account_id}`}
        ORDER BY kind, since, id`,
  );
}

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

/**
 * Condition for another statement: no hold covers the agent in these columns. Build it once for
 * each statement, whose text is cached.
 */
export function notHeld(agentColumn: Sql, accountColumn: Sql): Sql {
  return sql`(NOT EXISTS
      (SELECT 1 FROM holds WHERE holds.kind = 'agent' AND holds.id = ${agentColumn})
    AND NOT EXISTS
      (SELECT 1 FROM holds WHERE holds.kind = 'account' AND holds.id = ${accountColumn}))`;
}

/** Part of a transaction: ends the holds of an account and of its agents. */
export async function dropHolds(tx: Tx, account_id: string): Promise<void> {
  await tx.run(sql`DELETE FROM holds WHERE account_id = ${account_id}`);
}
