// Ids in the database, searched by their first or last characters, and objects by their names.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, none, type Sql, sql, store } from "../../database/index.ts";

const TABLES = {
  agent: sql`agents`,
  run: sql`runs`,
  approval: sql`approvals`,
  key: sql`keys`,
  connection: sql`connections`,
  trigger: sql`triggers`,
  endpoint: sql`webhook_endpoints`,
  delivery: sql`deliveries`,
  server: sql`mcp_servers`,
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

/** Objects that have a name; that of an endpoint is its URL, and a run has none. */
const NAMES = {
  account: { table: sql`accounts`, name: sql`name`, owner: sql`CAST(NULL AS TEXT)` },
  agent: { table: TABLES.agent, name: sql`name`, owner: sql`account_id` },
  run: { table: TABLES.run, name: sql`CAST(NULL AS TEXT)`, owner: sql`account_id` },
  approval: { table: TABLES.approval, name: sql`tool`, owner: sql`account_id` },
  trigger: { table: TABLES.trigger, name: sql`name`, owner: sql`account_id` },
  endpoint: { table: TABLES.endpoint, name: sql`url`, owner: sql`account_id` },
  key: { table: TABLES.key, name: sql`name`, owner: sql`account_id` },
} satisfies Record<string, { table: Sql; name: Sql; owner: Sql }>;

type NamedKind = keyof typeof NAMES;
export const NAMED_KINDS = Object.keys(NAMES) as NamedKind[];

const NamedRow = Type.Object({
  id: Type.String(),
  name: Type.Union([Type.String(), Type.Null()]),
  account_id: Type.Union([Type.String(), Type.Null()]),
});
type NamedRow = Static<typeof NamedRow>;

interface NameSearch {
  /** In lower case. */
  text: string;
  /** The text can be part of an id, which is then searched, too. */
  isIdPart: boolean;
  /** Number of newest rows that are searched. */
  searched: number;
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
    searchNames,
  },
  {},
);

/** Finds the newest objects whose name contains a text, or whose id begins or ends with it. */
function searchNames(db: Db, kind: NamedKind, search: NameSearch): Promise<NamedRow[]> {
  const { text, isIdPart, searched, limit } = search;
  const { table, name, owner } = NAMES[kind];
  const escaped = text.replaceAll(/[!%_]/g, "!$&");
  const byId = isIdPart
    ? sql`OR id LIKE ${`${escaped}%`} ESCAPE '!' OR id LIKE ${`%${escaped}`} ESCAPE '!'`
    : none;
  return db.all(
    NamedRow,
    sql`SELECT id, name, account_id
        FROM (SELECT id, ${name} AS name, ${owner} AS account_id FROM ${table}
              ORDER BY id DESC LIMIT ${searched}) AS newest
        WHERE LOWER(name) LIKE ${`%${escaped}%`} ESCAPE '!' ${byId}
        ORDER BY id DESC LIMIT ${limit}`,
  );
}
