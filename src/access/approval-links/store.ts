// Links to approvals in the database, found by the hash of their token or of their session's.
import { type Db, deleteRows, into, type Sql, sql, store, type Tx } from "../../database/index.ts";
import { ApprovalLink, FoundApprovalLink, type LinkUse, StoredApprovalLink } from "./link.ts";

const LINKS = sql`SELECT approval_links.*, operators.name AS operator
  FROM approval_links JOIN operators ON operators.id = operator_id`;

export const approvalLinkStore = store(
  "approval_links",
  {
    /** Lists what is in force, the last seen first. */
    list: (db, now: number) =>
      db.all(
        ApprovalLink,
        sql`${LINKS} WHERE approval_links.expires_at > ${now} AND revoked_at IS NULL
            ORDER BY last_seen_at DESC, approval_links.id DESC`,
      ),
    findById: (db, id: string) => findById(db, id),
    find: (db, session_hash: string) => findBy(db, sql`session_hash = ${session_hash}`),
    findUnopened: (db, token_hash: string) =>
      findBy(db, sql`approval_links.token_hash = ${token_hash}`),
  },
  {
    create: async (tx, row: StoredApprovalLink) => {
      await tx.run(sql`INSERT INTO approval_links ${into(StoredApprovalLink, row)}`);
    },
    /** Opens a link; false where it was opened before or is over. */
    open: async (tx, { token_hash, session_hash, user_agent, address, now }: LinkUse) =>
      (await tx.run(
        sql`UPDATE approval_links SET used_at = ${now}, last_seen_at = ${now},
              session_hash = ${session_hash}, user_agent = ${user_agent}, address = ${address}
            WHERE token_hash = ${token_hash} AND used_at IS NULL AND expires_at > ${now}`,
      )) === 1,
    noteSeen: async (tx, id: string, now: number) => {
      await tx.run(sql`UPDATE approval_links SET last_seen_at = ${now} WHERE id = ${id}`);
    },
    /** Returns what has ended; undefined for an unknown id. */
    end: async (tx, id: string) => {
      const found = await findById(tx, id);
      await tx.run(sql`DELETE FROM approval_links WHERE id = ${id}`);
      return found;
    },
    /** Deletes up to `limit` that were over at `now`; returns how many. */
    sweep: (tx, now: number, limit: number) =>
      deleteRows(
        tx,
        { table: sql`approval_links`, key: sql`id`, where: sql`expires_at <= ${now}` },
        limit,
      ),
  },
  ["find"],
);

function findById(db: Db, id: string) {
  return db.one(ApprovalLink, sql`${LINKS} WHERE approval_links.id = ${id}`);
}

function findBy(db: Db, where: Sql) {
  return db.one(
    FoundApprovalLink,
    sql`SELECT operators.*, approval_links.id AS link_id, person, account_id, approval_id,
          used_at AS link_used_at, last_seen_at AS link_seen_at,
          approval_links.expires_at AS link_expires_at
        FROM approval_links JOIN operators ON operators.id = operator_id WHERE ${where}`,
  );
}

/** Deletes the links of an account, within the transaction of the caller; there are few. */
export async function dropApprovalLinks(tx: Tx, account_id: string): Promise<void> {
  await tx.run(sql`DELETE FROM approval_links WHERE account_id = ${account_id}`);
}
