// Ids in the database, searched by their first or last characters.
import { Type } from "@sinclair/typebox";
import { type Sql, sql, store } from "../../database/index.ts";

const TABLES = {
  agent: sql`agents`,
  run: sql`runs`,
  approval: sql`approvals`,
  key: sql`keys`,
  connection: sql`connections`,
  trigger: sql`triggers`,
  endpoint: sql`webhook_endpoints`,
  delivery: sql`deliveries`,
  // Both are listed and ended as sessions.
  session: sql`(SELECT id FROM console_sessions UNION ALL SELECT id FROM approval_links) AS listed`,
} satisfies Record<string, Sql>;

/** Kinds of objects that operators name by an id. */
export type ObjectKind = keyof typeof TABLES;

export interface IdSearch {
  /** Lower case letters, digits and `-`. */
  part: string;
  /** Ids below this one, the newest first. */
  before: string;
  limit: number;
}

/** Text above every id, and above every character of one. */
export const TOP = "g";
const Id = Type.Object({ id: Type.String() });

export const idStore = store(
  "ids",
  {
    /** The newest ids that begin with `part`, which the index finds. */
    findByBegin: async (db, kind: ObjectKind, part: string, limit: number) =>
      (
        await db.all(
          Id,
          sql`SELECT id FROM ${TABLES[kind]} WHERE id >= ${part} AND id < ${`${part}${TOP}`}
              ORDER BY id DESC LIMIT ${limit}`,
        )
      ).map(({ id }) => id),
    /**
     * Searches the next `limit` ids for those that end with `part`; `lastId` is where to go on,
     * null at the end.
     */
    searchByEnd: async (db, kind: ObjectKind, { part, before, limit }: IdSearch) => {
      const below = sql`FROM ${TABLES[kind]} WHERE id < ${before} ORDER BY id DESC`;
      const found = await db.all(
        Id,
        sql`SELECT id FROM (SELECT id ${below} LIMIT ${limit}) AS newest
            WHERE id LIKE ${`%${part}`} ORDER BY id DESC`,
      );
      const last = await db.one(Id, sql`SELECT id ${below} LIMIT 1 OFFSET ${limit - 1}`);
      return { found: found.map(({ id }) => id), lastId: last?.id ?? null };
    },
  },
  {},
);
