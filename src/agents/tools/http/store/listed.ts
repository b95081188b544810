// Tools that MCP servers list, as the tools of an account: taken, changed and gone.
import { type Static, Type } from "@sinclair/typebox";
import { countRows, type Db, into, sql, type Tx } from "../../../../database/index.ts";
import { ApiError } from "../../../../platform/errors.ts";
import { writeCanonical } from "../../../../platform/json.ts";
import { maybe } from "../../../../platform/schema.ts";
import { measureWhole, releaseStored, storeDefinition } from "../../../../storage/store.ts";
import type { McpOrigin } from "../../mcp/origin.ts";
import { StoredRevision, ToolRevisionRow } from "../../revision.ts";
import {
  CHANGED,
  findLatest,
  JOINED,
  NAMES_PER_TOOL,
  REVISIONS_MAX,
  STATUS,
  type ToolLimits,
} from "./index.ts";

const Origin = Type.Object({
  accepted: maybe(Type.Integer()),
  gone_at: maybe(Type.Integer()),
});
const Name = Type.Object({ name: Type.String() });
const ListedRow = Type.Object({ ...ToolRevisionRow.properties, accepted: Type.Integer() });
export type ListedRow = Static<typeof ListedRow>;

/** Maximum tools, and what the account may store. */
interface TakeOptions {
  limits: ToolLimits;
  /** The owner asks for the server's tools as they are now. */
  isAccepted: boolean;
  /** A built-in tool has the name; a tool that had it before that one keeps it. */
  isReserved: boolean;
}

/**
 * Part of a transaction: takes a tool that a server lists, as a new revision where it has changed.
 * Returns why it cannot be taken, or null.
 */
export async function takeListed(
  tx: Tx,
  listed: StoredRevision & { mcp: McpOrigin },
  { limits, isAccepted, isReserved }: TakeOptions,
): Promise<string | null> {
  const { account_id, name, created_at, mcp } = listed;
  const latest = await findLatest(tx, account_id, name);
  if (!latest && isReserved) return "The platform has a tool of this name.";
  if (!latest) return addListed(tx, listed, limits);
  const own = await tx.one(
    Origin,
    sql`SELECT accepted, gone_at FROM tools WHERE account_id = ${account_id} AND name = ${name}`,
  );
  if (!latest.mcp) return "The account has registered a tool of this name.";
  const isMoved = latest.mcp.server_id !== mcp.server_id;
  if (isMoved && own!.gone_at === null) return "Another MCP server has a tool of this name.";
  // The owner judged the tool of another server when lowering the risk.
  const risk = isMoved ? listed.risk : latest.risk;
  const next = { ...listed, risk, revision: latest.revision + 1, created_at };
  const isSame = !isMoved && isSameDefinition(latest, next);
  if (!isSame && next.revision > REVISIONS_MAX) return "It has changed too often.";
  const waits = own!.accepted! < latest.revision;
  if (!isSame) {
    const stored = await roomFor(tx, next, limits.stored_bytes);
    if (stored !== null) return stored;
    // A change that was not accepted is pinned by no version, so that many take no space.
    if (waits) await dropRevision(tx, latest);
    await tx.run(sql`INSERT INTO tool_revisions ${into(StoredRevision, next)}`);
  }
  const revision = isSame ? latest.revision : next.revision;
  await tx.run(
    sql`UPDATE tools SET revision = ${revision}, server_id = ${mcp.server_id}, gone_at = NULL,
          accepted = ${isAccepted ? revision : own!.accepted}
        WHERE account_id = ${account_id} AND name = ${name}`,
  );
  return null;
}

async function addListed(
  tx: Tx,
  listed: StoredRevision & { mcp: McpOrigin },
  limits: ToolLimits,
): Promise<string | null> {
  const { account_id, name, created_at, mcp } = listed;
  const own = sql`FROM tools WHERE account_id = ${account_id}`;
  const enabled = await countRows(tx, sql`${own} AND status = 'enabled' AND gone_at IS NULL`);
  if (enabled >= limits.tools) return `The account has ${limits.tools} enabled tools.`;
  const namesMax = limits.tools * NAMES_PER_TOOL;
  if ((await countRows(tx, own)) >= namesMax) return `The account has used ${namesMax} names.`;
  const first = { ...listed, revision: 1 };
  const stored = await roomFor(tx, first, limits.stored_bytes);
  if (stored !== null) return stored;
  await tx.run(
    sql`INSERT INTO tools (account_id, name, status, revision, created_at, server_id, accepted)
        VALUES (${account_id}, ${name}, 'enabled', 1, ${created_at}, ${mcp.server_id}, 1)`,
  );
  await tx.run(sql`INSERT INTO tool_revisions ${into(StoredRevision, first)}`);
  return null;
}

/** Counts the bytes of a revision; a server's list is not refused as a whole for want of room. */
async function roomFor(tx: Tx, revision: StoredRevision, storedMax: number) {
  try {
    const bytes = measureWhole(StoredRevision, revision);
    await storeDefinition(tx, revision.account_id, bytes, storedMax);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

async function dropRevision(tx: Tx, row: ToolRevisionRow): Promise<void> {
  const { account_id, name, revision } = row;
  await tx.run(
    sql`DELETE FROM tool_revisions
        WHERE account_id = ${account_id} AND name = ${name} AND revision = ${revision}`,
  );
  await releaseStored(tx, account_id, "definitions", measureWhole(StoredRevision, row));
}

function isSameDefinition(one: StoredRevision, other: StoredRevision): boolean {
  const select = ({
    title,
    description,
    parameters,
    endpoint,
    connection_id,
    mcp,
  }: StoredRevision) =>
    writeCanonical({ title, description, parameters, endpoint, connection_id, mcp });
  return select(one) === select(other);
}

/** Part of a transaction: marks the tools that the server lists no more, all but `kept`. */
export async function markGone(
  tx: Tx,
  account_id: string,
  server_id: string,
  kept: ReadonlySet<string>,
  now: number,
): Promise<void> {
  const held = await tx.all(
    Name,
    sql`SELECT name FROM tools WHERE account_id = ${account_id} AND server_id = ${server_id}
          AND gone_at IS NULL`,
  );
  for (const { name } of held) {
    if (kept.has(name)) continue;
    await tx.run(
      sql`UPDATE tools SET gone_at = ${now} WHERE account_id = ${account_id} AND name = ${name}`,
    );
  }
}

/** The tools of a server in their latest revisions, with the accepted ones. */
export async function listOfServer(db: Db, account_id: string, server_id: string) {
  const own = sql`t.account_id = ${account_id} AND t.server_id = ${server_id}`;
  const latest = await db.all(
    ListedRow,
    sql`SELECT r.*, ${STATUS}, t.accepted, 1 AS latest
        FROM tools AS t JOIN tool_revisions AS r ON r.account_id = t.account_id
          AND r.name = t.name AND r.revision = t.revision
        WHERE ${own} ORDER BY t.name`,
  );
  const accepted = await db.all(
    ToolRevisionRow,
    sql`${JOINED} AND r.revision = t.accepted WHERE ${own} AND ${CHANGED}`,
  );
  return { latest, accepted };
}
