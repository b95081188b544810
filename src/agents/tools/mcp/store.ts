// MCP servers of accounts in the database; their tools are rows of the tools' store.
import { Type } from "@sinclair/typebox";
import {
  countRows,
  type Db,
  type DeletedPart,
  deleteIndexed,
  into,
  none,
  requireCapacity,
  type Sql,
  sql,
  store,
  type Tx,
} from "../../../database/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { maybe } from "../../../platform/schema.ts";
import { bindHost } from "../connections/store.ts";
import { CHANGED, type ToolLimits } from "../http/store/index.ts";
import { listOfServer, markGone, takeListed } from "../http/store/listed.ts";
import type { StoredRevision } from "../revision.ts";
import type { McpDefinition, ReadTools } from "./definition.ts";
import type { SkippedTool } from "./origin.ts";
import { McpServerRow } from "./server.ts";

/** Maximum servers of an account; each is read once an hour. */
const SERVERS_MAX = 50;
/** Least time between two readings of a server that its own replies cause. */
const DUE_AGAIN_MS = 60_000;

/** A restored copy sends no secrets before its operator resumes it. */
const GOES_ON = sql`NOT EXISTS (SELECT 1 FROM wadi_installation WHERE paused_at IS NOT NULL)`;

const Due = Type.Object({ refresh_at: Type.Integer() });

/** A server with the name of its connection and the number of its tools. */
const OverviewRow = Type.Object({
  ...McpServerRow.properties,
  connection: maybe(Type.String()),
  tools: Type.Integer(),
  changed: Type.Integer(),
});
const countTools = (condition: Sql) =>
  sql`(SELECT COUNT(*) FROM tools AS t WHERE t.account_id = s.account_id AND t.server_id = s.id
        AND t.gone_at IS NULL ${condition})`;
const OVERVIEW = sql`SELECT s.*, c.name AS connection, ${countTools(none)} AS tools,
    ${countTools(sql`AND ${CHANGED}`)} AS changed
  FROM mcp_servers AS s LEFT JOIN connections AS c ON c.id = s.connection_id`;

/** A server as it was read. */
export interface ServerReading extends ReadTools {
  protocol_version: string;
  title: string | null;
}

export interface TakeReading {
  now: number;
  limits: ToolLimits;
  /** The owner asks for the tools as they are now, so that none waits to be accepted. */
  isAccepted: boolean;
  /** Names of listed tools that built-in ones have. */
  reserved: readonly string[];
}

export const mcpServerStore = store(
  "mcp_servers",
  {
    /** agents.authentication.6: another account's server is not found. */
    find: (db, id: string, account_id: string) => findServer(db, id, account_id),
    list: (db, account_id: string) =>
      db.all(
        McpServerRow,
        sql`SELECT * FROM mcp_servers WHERE account_id = ${account_id} ORDER BY name`,
      ),
    /** For operators, of any account. */
    findOverview: (db, id: string) => db.one(OverviewRow, sql`${OVERVIEW} WHERE s.id = ${id}`),
    /** For operators; null lists those of all accounts. */
    listOverviews: (db, account_id: string | null) =>
      db.all(
        OverviewRow,
        sql`${OVERVIEW} ${account_id === null ? none : sql`WHERE s.account_id = ${account_id}`}
            ORDER BY s.name, s.id`,
      ),
    listTools: (db, id: string, account_id: string) => listOfServer(db, account_id, id),
    /** When the next server is to be read. */
    findNextDue: async (db) => {
      const next = await db.one(
        Due,
        sql`SELECT refresh_at FROM mcp_servers WHERE ${GOES_ON} ORDER BY refresh_at LIMIT 1`,
      );
      return next?.refresh_at;
    },
  },
  {
    /** Binds a connection without hosts to the server's; it must exist. */
    bind: (tx, connection_id: string, account_id: string, host: string) =>
      bindHost(tx, connection_id, account_id, host),
    /** Registers a server with the tools that were read from it. */
    create: async (tx, row: McpServerRow, reading: ServerReading | null, take: TakeReading) => {
      const { account_id, name, connection_id, url } = row;
      const own = sql`FROM mcp_servers WHERE account_id = ${account_id}`;
      if ((await countRows(tx, sql`${own} AND name = ${name}`)) > 0) {
        const message = `An MCP server of the name ${JSON.stringify(name)} exists.`;
        throw apiError("mcp_server_exists", { param: "name", message });
      }
      const message = `The account has ${SERVERS_MAX} MCP servers, and may have no more.`;
      await requireCapacity(tx, own, SERVERS_MAX, "mcp_server_limit_reached", message);
      if (connection_id !== null) {
        await bindHost(tx, connection_id, account_id, new URL(url).host);
      }
      await tx.run(sql`INSERT INTO mcp_servers ${into(McpServerRow, row)}`);
      return reading === null ? row : takeReading(tx, row, reading, take);
    },
    /** Stores what was read from a server, unless it has been deleted meanwhile. */
    refresh: async (
      tx,
      { id, account_id }: Pick<McpServerRow, "id" | "account_id">,
      reading: ServerReading,
      take: TakeReading,
    ) => {
      const row = await findServer(tx, id, account_id);
      return row && takeReading(tx, row, reading, take);
    },
    /** The tools stay as they were read last. */
    noteProblem: async (tx, id: string, account_id: string, problem: string) => {
      const row = await findServer(tx, id, account_id);
      if (!row) return undefined;
      await tx.run(sql`UPDATE mcp_servers SET problem = ${problem} WHERE id = ${id}`);
      return { ...row, problem };
    },
    /** Takes servers that are to be read, so that no other process reads them too. */
    claimDue: async (tx, now: number, next: number, limit: number) => {
      const due = await tx.all(
        McpServerRow,
        sql`SELECT * FROM mcp_servers WHERE refresh_at <= ${now} AND ${GOES_ON}
            ORDER BY refresh_at, id LIMIT ${limit}`,
      );
      const claimed: McpServerRow[] = [];
      for (const row of due) {
        const taken = await tx.run(
          sql`UPDATE mcp_servers SET refresh_at = ${next}
              WHERE id = ${row.id} AND refresh_at = ${row.refresh_at}`,
        );
        if (taken > 0) claimed.push({ ...row, refresh_at: next });
      }
      return claimed;
    },
    /** Has a server read soon, since a reply contradicted what is known of its tools. */
    suspect: (tx, id: string, now: number) =>
      hasten(
        tx,
        id,
        sql`CASE WHEN refreshed_at > ${now - DUE_AGAIN_MS}
          THEN refreshed_at + ${DUE_AGAIN_MS} ELSE ${now} END`,
      ),
    /** Has a server read at once, since a person asks for it. */
    makeDue: (tx, id: string, now: number) => hasten(tx, id, sql`CAST(${now} AS BIGINT)`),
    /** Deletes a server; its tools keep their names and revisions, and no run calls them. */
    remove: async (tx, id: string, account_id: string, now: number) => {
      if (!(await findServer(tx, id, account_id))) return false;
      await markGone(tx, account_id, id, new Set(), now);
      await tx.run(sql`DELETE FROM mcp_servers WHERE id = ${id}`);
      return true;
    },
  },
);

async function takeReading(
  tx: Tx,
  row: McpServerRow,
  { definitions, skipped, protocol_version, title }: ServerReading,
  { now, limits, isAccepted, reserved }: TakeReading,
): Promise<McpServerRow> {
  const refused: SkippedTool[] = [];
  const kept = new Set<string>();
  for (const definition of definitions) {
    const listed = makeRevision(row, definition, now);
    const isReserved = reserved.includes(definition.name);
    const problem = await takeListed(tx, listed, { limits, isAccepted, isReserved });
    if (problem === null) kept.add(definition.name);
    else refused.push({ tool: definition.tool, problem });
  }
  await markGone(tx, row.account_id, row.id, kept, now);
  const read = { protocol_version, title, problem: null, refreshed_at: now };
  const all = [...skipped, ...refused];
  await tx.run(
    sql`UPDATE mcp_servers SET protocol_version = ${protocol_version}, title = ${title},
          problem = NULL, refreshed_at = ${now}, skipped = ${JSON.stringify(all)}
        WHERE id = ${row.id}`,
  );
  return { ...row, ...read, skipped: all };
}

function makeRevision(
  { id, account_id, url, connection_id, timeout_ms }: McpServerRow,
  definition: McpDefinition,
  now: number,
): StoredRevision & { mcp: NonNullable<StoredRevision["mcp"]> } {
  const { name, title, description, parameters, is_task } = definition;
  const { tool, annotations, output_schema } = definition;
  return {
    account_id,
    ...{ name, revision: 1, title, description, parameters },
    // The owner lowers it; no annotation of a server does.
    risk: "irreversible",
    ...{ endpoint: url, connection_id, timeout_ms, external_content: true, idempotent: false },
    created_at: now,
    mcp: { server_id: id, tool, annotations, output_schema, ...(is_task && { is_task }) },
  };
}

async function hasten(tx: Tx, id: string, at: Sql): Promise<void> {
  const isMoved = await tx.run(
    sql`UPDATE mcp_servers SET refresh_at = ${at} WHERE id = ${id} AND refresh_at > ${at}`,
  );
  if (isMoved > 0) tx.tell("mcp_servers.due", id);
}

async function findServer(db: Db, id: string, account_id: string) {
  const found = await db.one(McpServerRow, sql`SELECT * FROM mcp_servers WHERE id = ${id}`);
  return found?.account_id === account_id ? found : undefined;
}

/** Part of a transaction: deletes MCP servers of an account. */
export function deleteServers(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const where = sql`account_id = ${account_id}`;
  return deleteIndexed(tx, { table: sql`mcp_servers`, key: sql`id`, where }, limit);
}
