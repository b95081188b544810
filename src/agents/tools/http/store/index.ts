// Tools that callers registered, and their revisions, in the database.
import { type Static, Type } from "@sinclair/typebox";
import {
  countRows,
  type Db,
  type DeletedPart,
  deleteIndexed,
  deleteRows,
  into,
  none,
  requireCapacity,
  sql,
  store,
  type Tx,
} from "../../../../database/index.ts";
import { apiError } from "../../../../platform/errors.ts";
import { maybe, oneOf } from "../../../../platform/schema.ts";
import { measureWhole, storeDefinition } from "../../../../storage/store.ts";
import { bindHost } from "../../connections/store.ts";
import { RISKS, type Risk } from "../../contract.ts";
import { StoredRevision, ToolRevisionRow } from "../../revision.ts";

/** Maximum names per enabled tool; disabled tools keep their names but free their place. */
export const NAMES_PER_TOOL = 10;
/** Maximum revisions of a tool; none is deleted, since versions may have pinned it. */
export const REVISIONS_MAX = 1_000;

const OwnToolState = Type.Object({
  name: Type.String(),
  revision: Type.Integer(),
  risk: oneOf(RISKS, "Of its latest revision."),
  status: oneOf(["enabled", "disabled"], "Of the tool; one that its server lacks is disabled."),
  server_id: maybe(Type.String({ description: "Its MCP server; null: it was registered." })),
  is_changed: Type.Boolean({ description: "Its latest revision waits to be accepted." }),
});
export type OwnToolState = Static<typeof OwnToolState>;

export interface Pinned {
  name: string;
  revision: number;
}

export interface ToolLimits {
  tools: number;
  stored_bytes: number;
}

/** A tool that its server does not have any more is shown as switched off. */
export const STATUS = sql`CASE WHEN t.gone_at IS NULL THEN t.status ELSE 'disabled' END AS status`;
export const CHANGED = sql`(t.accepted IS NOT NULL AND t.accepted < t.revision)`;

export const JOINED = sql`SELECT r.*, ${STATUS},
    CASE WHEN r.revision = t.revision THEN 1 ELSE 0 END AS latest
  FROM tools AS t JOIN tool_revisions AS r ON r.account_id = t.account_id AND r.name = t.name`;

export const toolStore = store(
  "tools",
  {
    /** agents.authentication.6: another account's tool is not found. */
    find: (db, account_id: string, name: string) => findLatest(db, account_id, name),
    list: (db, account_id: string, after: string | null, limit: number) =>
      db.all(
        ToolRevisionRow,
        sql`${JOINED} AND r.revision = t.revision
            WHERE t.account_id = ${account_id} ${after === null ? none : sql`AND t.name > ${after}`}
            ORDER BY t.name LIMIT ${limit}`,
      ),
    /** Newest first. */
    listRevisions: (
      db,
      account_id: string,
      name: string,
      { limit, before }: { limit: number; before: number | null },
    ) =>
      db.all(
        ToolRevisionRow,
        sql`${JOINED}
            WHERE t.account_id = ${account_id} AND t.name = ${name}
            ${before === null ? none : sql`AND r.revision < ${before}`}
            ORDER BY r.revision DESC LIMIT ${limit}`,
      ),
    listStandings: (db, account_id: string, names: readonly string[]) =>
      db.all(
        OwnToolState,
        sql`SELECT t.name, t.revision, ${STATUS}, r.risk, t.server_id,
              CASE WHEN ${CHANGED} THEN 1 ELSE 0 END AS is_changed
            FROM tools AS t JOIN tool_revisions AS r ON r.account_id = t.account_id
              AND r.name = t.name AND r.revision = t.revision
            WHERE t.account_id = ${account_id}
              AND t.name IN (${names
                .map((name) => sql`${name}`)
                .reduce((all, one) => sql`${all}, ${one}`)})`,
      ),
    listPinned: (db, account_id: string, pinned: readonly Pinned[]) =>
      db.all(
        ToolRevisionRow,
        sql`${JOINED}
            WHERE t.account_id = ${account_id} AND (${pinned
              .map(({ name, revision }) => sql`(r.name = ${name} AND r.revision = ${revision})`)
              .reduce((all, one) => sql`${all} OR ${one}`)})`,
      ),
  },
  {
    /** agents.endpoints.tools.post_tools: `host` is that of the endpoint, for the connection. */
    register: async (tx, revision: StoredRevision, host: string, limits: ToolLimits) => {
      const { account_id, name, created_at } = revision;
      const { tools: toolsMax, stored_bytes } = limits;
      if (await findLatest(tx, account_id, name)) throw nameTakenError(name);
      await requireRoom(tx, account_id, toolsMax);
      await requireNames(tx, account_id, toolsMax * NAMES_PER_TOOL);
      await tx.run(
        sql`INSERT INTO tools (account_id, name, status, revision, created_at)
            VALUES (${account_id}, ${name}, 'enabled', 1, ${created_at})`,
      );
      return addRevision(tx, { ...revision, revision: 1 }, host, stored_bytes);
    },
    revise: async (tx, revision: StoredRevision, host: string, storedMax: number) => {
      const { account_id, name } = revision;
      const latest = await findLatest(tx, account_id, name);
      if (!latest) return undefined;
      const next = { ...revision, revision: latest.revision + 1 };
      if (next.revision > REVISIONS_MAX) {
        throw fullError();
      }
      await tx.run(
        sql`UPDATE tools SET revision = ${next.revision}
            WHERE account_id = ${account_id} AND name = ${name}`,
      );
      return addRevision(tx, next, host, storedMax);
    },
    disable: (tx, account_id: string, name: string) => setStatus(tx, account_id, name, "disabled"),
    enable: async (tx, account_id: string, name: string, toolsMax: number) => {
      const latest = await findLatest(tx, account_id, name);
      if (latest?.status === "disabled") await requireRoom(tx, account_id, toolsMax);
      return setStatus(tx, account_id, name, "enabled");
    },
    /** Accepts the latest revision, if it is that one; later calls of any version may be sent. */
    accept: async (tx, account_id: string, name: string, revision: number) => {
      const latest = await findLatest(tx, account_id, name);
      if (!latest?.mcp) return latest;
      if (latest.revision !== revision) throw changedError(latest);
      await tx.run(
        sql`UPDATE tools SET accepted = ${revision}
            WHERE account_id = ${account_id} AND name = ${name}`,
      );
      return latest;
    },
    /** Adds a revision that differs in its risk only, which the owner has thereby accepted. */
    setRisk: async (
      tx,
      {
        account_id,
        name,
        risk,
        now,
      }: { account_id: string; name: string; risk: Risk; now: number },
      storedMax: number,
    ) => {
      const latest = await findLatest(tx, account_id, name);
      if (!latest?.mcp || latest.risk === risk) return latest;
      if (await isChanged(tx, account_id, name)) throw changedError(latest);
      const { status: _status, latest: _latest, ...stored } = latest;
      const next = { ...stored, risk, revision: latest.revision + 1, created_at: now };
      return addAccepted(tx, next, storedMax);
    },
  },
);

async function isChanged(db: Db, account_id: string, name: string): Promise<boolean> {
  const rows = sql`FROM tools AS t WHERE account_id = ${account_id} AND name = ${name}
    AND ${CHANGED}`;
  return (await countRows(db, rows)) > 0;
}

function fullError() {
  const message = `The tool has ${REVISIONS_MAX} revisions, and may have no more.`;
  return apiError("tool_limit_reached", { message });
}

function changedError({ name, revision }: Pick<ToolRevisionRow, "name" | "revision">) {
  const change = `The tool \`${name}\` has changed on its server`;
  const message = `${change}: revision ${revision} is the latest.`;
  return apiError("tool_changed", { param: "revision", message });
}

/** The endpoint's host was bound to the connection with the revision before. */
async function addAccepted(tx: Tx, revision: StoredRevision, storedMax: number) {
  const { account_id, name, revision: accepted } = revision;
  if (accepted > REVISIONS_MAX) throw fullError();
  await tx.run(
    sql`UPDATE tools SET revision = ${accepted}, accepted = ${accepted}
        WHERE account_id = ${account_id} AND name = ${name}`,
  );
  return addRevision(tx, revision, new URL(revision.endpoint).host, storedMax);
}

export async function isDisabled(db: Db, account_id: string, name: string): Promise<boolean> {
  const rows = sql`FROM tools AS t WHERE account_id = ${account_id} AND name = ${name}
    AND (status = 'disabled' OR gone_at IS NOT NULL OR ${CHANGED})`;
  return (await countRows(db, rows)) > 0;
}

export function findLatest(db: Db, account_id: string, name: string) {
  return db.one(
    ToolRevisionRow,
    sql`${JOINED} AND r.revision = t.revision
        WHERE t.account_id = ${account_id} AND t.name = ${name}`,
  );
}

async function addRevision(tx: Tx, revision: StoredRevision, host: string, storedMax: number) {
  const { account_id, name, connection_id } = revision;
  await storeDefinition(tx, account_id, measureWhole(StoredRevision, revision), storedMax);
  if (connection_id !== null) await bindHost(tx, connection_id, account_id, host);
  await tx.run(sql`INSERT INTO tool_revisions ${into(StoredRevision, revision)}`);
  return (await findLatest(tx, account_id, name))!;
}

async function setStatus(tx: Tx, account_id: string, name: string, status: string) {
  await tx.run(
    sql`UPDATE tools SET status = ${status}
        WHERE account_id = ${account_id} AND name = ${name} AND status <> ${status}`,
  );
  return findLatest(tx, account_id, name);
}

/** agents.errors.tool_limit_reached, agents.limits.run_admission_trigger_endpoint */
async function requireRoom(tx: Tx, account_id: string, toolsMax: number): Promise<void> {
  const rows = sql`FROM tools WHERE account_id = ${account_id} AND status = 'enabled'
    AND gone_at IS NULL`;
  const message = `The account has ${toolsMax} enabled tools, and may have no more: disable one.`;
  await requireCapacity(tx, rows, toolsMax, "tool_limit_reached", message);
}

/** agents.errors.tool_limit_reached: counts the names of disabled tools, too. */
async function requireNames(tx: Tx, account_id: string, namesMax: number): Promise<void> {
  const rows = sql`FROM tools WHERE account_id = ${account_id}`;
  const message = `The account has used ${namesMax} names of tools: enable one of them again.`;
  await requireCapacity(tx, rows, namesMax, "tool_limit_reached", message);
}

/** agents.errors.tool_exists */
function nameTakenError(name: string) {
  const message = `A tool of the name \`${name}\` exists; add a revision.`;
  return apiError("tool_exists", { param: "name", message });
}

/** Part of a transaction: deletes tools of an account with all revisions. */
export async function deleteTools(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const where = sql`account_id = ${account_id}`;
  const key = sql`account_id, name, revision`;
  const rows = await deleteRows(tx, { table: sql`tool_revisions`, key, where }, limit);
  if (rows >= limit) return { rows, next: "" };
  const tools = { table: sql`tools`, key: sql`account_id, name`, where };
  const deleted = await deleteIndexed(tx, tools, limit);
  return { ...deleted, rows: rows + deleted.rows };
}
