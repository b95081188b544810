// Links and sessions of the console in the database, each found by the hash of its token.
import { type Db, deleteRows, into, type Sql, sql, store } from "../../database/index.ts";
import { FoundLink, FoundSession, OperatorSession, StoredLink, StoredSession } from "./session.ts";

const SESSIONS = sql`SELECT console_sessions.*, operators.name AS operator
  FROM console_sessions JOIN operators ON operators.id = operator_id`;

export const sessionStore = store(
  "sessions",
  {
    /** Lists what is in force, the last seen first. */
    list: (db, now: number) =>
      db.all(
        OperatorSession,
        sql`${SESSIONS} WHERE console_sessions.expires_at > ${now} AND revoked_at IS NULL
            ORDER BY last_seen_at DESC, console_sessions.id DESC`,
      ),
    findById: (db, id: string) => findById(db, id),
    find: (db, token_hash: string) =>
      db.one(
        FoundSession,
        sql`SELECT operators.*, console_sessions.id AS session_id,
              last_seen_at AS session_seen_at, console_sessions.expires_at AS session_expires_at
            FROM console_sessions JOIN operators ON operators.id = operator_id
            WHERE console_sessions.token_hash = ${token_hash}`,
      ),
    findLink: (db, token_hash: string) =>
      db.one(
        FoundLink,
        sql`SELECT operators.*, console_links.expires_at AS link_expires_at,
              used_at AS link_used_at
            FROM console_links JOIN operators ON operators.id = operator_id
            WHERE console_links.token_hash = ${token_hash}`,
      ),
  },
  {
    createLink: async (tx, row: StoredLink) => {
      await tx.run(sql`INSERT INTO console_links ${into(StoredLink, row)}`);
    },
    /** Uses a link up and begins its session; false where the link is used or over. */
    trade: async (tx, link_hash: string, session: StoredSession) => {
      const now = session.created_at;
      const used = await tx.run(
        sql`UPDATE console_links SET used_at = ${now}
            WHERE token_hash = ${link_hash} AND used_at IS NULL AND expires_at > ${now}`,
      );
      if (used === 0) return false;
      await tx.run(sql`INSERT INTO console_sessions ${into(StoredSession, session)}`);
      return true;
    },
    noteSeen: async (tx, id: string, now: number) => {
      await tx.run(sql`UPDATE console_sessions SET last_seen_at = ${now} WHERE id = ${id}`);
    },
    /** Returns what has ended; undefined for an unknown id. */
    end: async (tx, id: string) => {
      const found = await findById(tx, id);
      await tx.run(sql`DELETE FROM console_sessions WHERE id = ${id}`);
      return found;
    },
    /** Deletes up to `limit` that were over at `now`; returns how many. */
    sweep: (tx, now: number, limit: number) =>
      deleteRows(tx, { table: sql`console_sessions`, key: sql`id`, where: isOver(now) }, limit),
    sweepLinks: (tx, now: number, limit: number) =>
      deleteRows(
        tx,
        { table: sql`console_links`, key: sql`token_hash`, where: isOver(now) },
        limit,
      ),
  },
  ["find"],
);

function isOver(now: number): Sql {
  return sql`expires_at <= ${now}`;
}

function findById(db: Db, id: string) {
  return db.one(OperatorSession, sql`${SESSIONS} WHERE console_sessions.id = ${id}`);
}
