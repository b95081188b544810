// Agents and their versions in the database.
import { type Static, Type } from "@sinclair/typebox";
import { findHolds, listHolds } from "../../access/holds/store.ts";
import type { HoldRow } from "../../access/index.ts";
import {
  countRows,
  type Db,
  type DeletedPart,
  deleteRows,
  deleteTrees,
  into,
  none,
  requireCapacity,
  sql,
  store,
  type Tx,
} from "../../database/index.ts";
import { Row, spread } from "../../platform/schema.ts";
import { countStored, measureWhole, storeDefinition } from "../../storage/store.ts";
import { deleteNotes } from "../notes/store.ts";
import { AgentRow, numberSlug } from "./agent.ts";
import { slugTaken, versionConflict, versionLimitReached } from "./conflicts.ts";
import { type BehaviourChange, hasSamePins, inherit, type ToolPin, VersionRow } from "./version.ts";

export interface HeldAgent {
  agent: AgentRow;
  /** The agent's own hold, or else its account's. */
  hold: HoldRow | null;
}

export interface FoundAgent extends HeldAgent {
  version: VersionRow;
}

export type AgentChange = Partial<
  Pick<AgentRow, "name" | "slug" | "description" | "metadata" | "expose" | "status">
>;

export interface DefinitionLimits {
  agents: number;
  versions: number;
  stored_bytes: number;
}

export interface NewVersionPlan {
  agent_id: string;
  account_id: string;
  change: BehaviourChange;
  agentChange: AgentChange;
  expectedVersion: number | null;
  model: string | null;
  tool_revisions: ToolPin[];
  created_by_key_id: string;
  now: number;
  limits: DefinitionLimits;
}

const AgentWithVersion = Row(AgentRow, { version: spread(VersionRow.properties, "The current.") });
/** A version without its texts, which may be long. */
export const VersionLine = Type.Pick(VersionRow, [
  ...(["agent_id", "version", "model", "tool_revisions"] as const),
  ...(["created_at", "created_by_key_id"] as const),
]);
export type VersionLine = Static<typeof VersionLine>;
const LINE = sql`v.agent_id, v.version, v.model, v.tool_revisions, v.created_at,
  v.created_by_key_id`;
const EXPOSED = sql`SELECT * FROM agents WHERE expose = 1 AND status = 'active'`;
const Id = Type.Object({ id: Type.String() });
const Owner = Type.Object({ account_id: Type.String() });

export const agentStore = store(
  "agents",
  {
    /** agents.authentication.6: another account's agent is not found. */
    find: findAgent,
    list: async (db, account_id: string | null) => {
      const agents = await db.all(
        AgentRow,
        sql`SELECT * FROM agents
            ${account_id === null ? none : sql`WHERE account_id = ${account_id}`}
            ORDER BY created_at DESC, id DESC`,
      );
      return joinHolds(agents, await listHolds(db, account_id));
    },
    /** Agents that are tools of the account, by slug. */
    listExposed: (db, account_id: string, after: string, limit: number) =>
      db.all(
        AgentRow,
        sql`${EXPOSED} AND account_id = ${account_id} AND slug > ${after}
            ORDER BY slug LIMIT ${limit}`,
      ),
    findExposed: (db, account_id: string, slug: string) =>
      db.one(AgentRow, sql`${EXPOSED} AND account_id = ${account_id} AND slug = ${slug}`),
    findOwner: async (db, id: string) => {
      const found = await db.one(Owner, sql`SELECT account_id FROM agents WHERE id = ${id}`);
      return found?.account_id;
    },
    findVersion: (db, agent_id: string, version: number) =>
      db.one(
        VersionRow,
        sql`SELECT * FROM agent_versions WHERE agent_id = ${agent_id} AND version = ${version}`,
      ),
    listVersions: (db, agent_id: string, limit: number, before: number | null) =>
      db.all(
        VersionRow,
        sql`SELECT * FROM agent_versions WHERE agent_id = ${agent_id}
            ${before === null ? none : sql`AND version < ${before}`}
            ORDER BY version DESC LIMIT ${limit}`,
      ),
    /** The current version of each agent of an account, or of all. */
    listCurrent: (db, account_id: string | null) =>
      db.all(
        VersionLine,
        sql`SELECT ${LINE} FROM agents JOIN agent_versions AS v
              ON v.agent_id = agents.id AND v.version = agents.current_version
            ${account_id === null ? none : sql`WHERE agents.account_id = ${account_id}`}
            ORDER BY agents.id`,
      ),
    listLines: (db, agent_id: string, limit: number) =>
      db.all(
        VersionLine,
        sql`SELECT ${LINE} FROM agent_versions AS v WHERE v.agent_id = ${agent_id}
            ORDER BY v.version DESC LIMIT ${limit}`,
      ),
  },
  {
    /** Creates an agent with version 1; a slug made from its name may get a number. */
    create: async (
      tx,
      agent: AgentRow,
      version: VersionRow,
      isSlugMade: boolean,
      limits: DefinitionLimits,
    ) => {
      await requireAgentCapacity(tx, agent.account_id, limits.agents);
      const slug = isSlugMade ? await chooseSlug(tx, agent) : agent.slug;
      const row = { ...agent, slug };
      const inserted = await tx.run(
        sql`INSERT INTO agents ${into(AgentRow, row)}
            ON CONFLICT (account_id, slug) DO NOTHING`,
      );
      if (inserted === 0) throw slugTaken(slug);
      await addVersionRow(tx, agent.account_id, version, limits, measureWhole(AgentRow, row));
      return (await findAgent(tx, agent.id, agent.account_id))!;
    },
    addVersion,
    update: async (
      tx,
      id: string,
      account_id: string,
      change: AgentChange,
      now: number,
      agentsMax: number,
    ) => {
      const found = await findAgent(tx, id, account_id);
      if (!found) return undefined;
      const { agent } = found;
      const isBack = agent.status === "archived" && change.status === "active";
      if (isBack) await requireAgentCapacity(tx, account_id, agentsMax);
      const changed = await changeAgent(tx, agent, change, agent.current_version, now);
      return { ...found, agent: changed };
    },
  },
);

/**
 * agents.endpoints.agents.post_agents_id_versions: inherits from the current version. Returns
 * undefined where the inherited model or tools, or the agent, changed since the validation.
 */
async function addVersion(tx: Tx, plan: NewVersionPlan): Promise<VersionRow | undefined> {
  const { agent_id, account_id, change, tool_revisions, expectedVersion, limits, now } = plan;
  const found = await findAgent(tx, agent_id, account_id);
  if (!found) return undefined;
  const { agent, version: old } = found;
  if (expectedVersion !== null && expectedVersion !== agent.current_version) {
    throw versionConflict(agent.current_version);
  }
  if (agent.current_version >= limits.versions) throw versionLimitReached(limits.versions);
  const behaviour = inherit(old, change);
  const pinned = tool_revisions.map(({ name }) => name);
  if (behaviour.model !== plan.model || behaviour.tools.join() !== pinned.join()) return undefined;
  // Don't revert pins changed by a concurrent request.
  if (change.tools === undefined && !hasSamePins(tool_revisions, old.tool_revisions)) {
    return undefined;
  }
  const version: VersionRow = {
    ...behaviour,
    agent_id,
    version: agent.current_version + 1,
    tool_revisions,
    created_at: now,
    created_by_key_id: plan.created_by_key_id,
  };
  await changeAgent(tx, agent, plan.agentChange, version.version, now);
  await addVersionRow(tx, account_id, version, limits);
  return version;
}

/** Reads an agent with all that a start of a run needs, in two statements. */
async function findAgent(db: Db, id: string, account_id: string): Promise<FoundAgent | undefined> {
  const row = await db.one(
    AgentWithVersion,
    sql`SELECT agents.*,
          v.agent_id AS version_agent_id, v.version AS version_version,
          v.system_prompt AS version_system_prompt, v.model AS version_model,
          v.tools AS version_tools, v.tool_revisions AS version_tool_revisions,
          v.policy AS version_policy, v.budgets AS version_budgets,
          v.model_params AS version_model_params, v.output_schema AS version_output_schema,
          v.created_at AS version_created_at,
          v.created_by_key_id AS version_created_by_key_id
        FROM agents JOIN agent_versions AS v
          ON v.agent_id = agents.id AND v.version = agents.current_version
        WHERE agents.id = ${id}`,
  );
  if (row?.account_id !== account_id) return undefined;
  const { version, ...agent } = row;
  const holds = await findHolds(db, id, account_id);
  return { agent, version, hold: holds.agent ?? holds.account ?? null };
}

async function addVersionRow(
  tx: Tx,
  account_id: string,
  version: VersionRow,
  { stored_bytes }: DefinitionLimits,
  agentBytes = 0,
): Promise<void> {
  const bytes = measureWhole(VersionRow, version) + agentBytes;
  await storeDefinition(tx, account_id, bytes, stored_bytes);
  await tx.run(sql`INSERT INTO agent_versions ${into(VersionRow, version)}`);
}

/** Archived agents do not count, since agents cannot be deleted; their bytes do. */
async function requireAgentCapacity(tx: Tx, account_id: string, agentsMax: number): Promise<void> {
  const rows = sql`FROM agents WHERE account_id = ${account_id} AND status = 'active'`;
  const message = `The account has ${agentsMax} agents, and may have no more: archive one.`;
  await requireCapacity(tx, rows, agentsMax, "agent_limit_reached", message);
}

function joinHolds(agents: readonly AgentRow[], holds: readonly HoldRow[]): HeldAgent[] {
  const byId = new Map(holds.map((hold) => [`${hold.kind} ${hold.id}`, hold]));
  return agents.map((agent) => ({
    agent,
    hold: byId.get(`agent ${agent.id}`) ?? byId.get(`account ${agent.account_id}`) ?? null,
  }));
}

/** Without a change `updated_at` stays, too. */
async function changeAgent(
  tx: Tx,
  agent: AgentRow,
  change: AgentChange,
  current_version: number,
  now: number,
): Promise<AgentRow> {
  const { slug } = change;
  if (slug !== undefined && slug !== agent.slug && (await isTaken(tx, agent.account_id, slug))) {
    throw slugTaken(slug);
  }
  const wanted = { ...agent, ...change, current_version };
  if (Bun.deepEquals(wanted, agent)) return agent;
  const since = agent.status === "archived" ? agent.archived_at : now;
  const row = {
    ...wanted,
    updated_at: now,
    archived_at: wanted.status === "archived" ? since : null,
  };
  await tx.run(
    sql`UPDATE agents SET name = ${row.name}, slug = ${row.slug},
          description = ${row.description}, status = ${row.status},
          current_version = ${current_version}, metadata = ${JSON.stringify(row.metadata)},
          expose = ${row.expose ? 1 : 0}, updated_at = ${now}, archived_at = ${row.archived_at}
        WHERE id = ${agent.id}`,
  );
  const grown = measureWhole(AgentRow, row) - measureWhole(AgentRow, agent);
  await countStored(tx, agent.account_id, "definitions", grown);
  // Triggers are paused with their agent.
  if (row.status === "archived" && agent.status !== "archived") {
    tx.tell("agents.archived", row.id);
  }
  return row;
}

async function isTaken(tx: Tx, account_id: string, slug: string): Promise<boolean> {
  const rows = sql`FROM agents WHERE account_id = ${account_id} AND slug = ${slug}`;
  return (await countRows(tx, rows)) > 0;
}

/** Finds a free slug of `bot`, `bot-2`, `bot-3` … by bisection, with few reads for many agents. */
async function chooseSlug(tx: Tx, { account_id, slug }: AgentRow): Promise<string> {
  const isFree = async (number: number) =>
    !(await isTaken(tx, account_id, numberSlug(slug, number)));
  let taken = 0;
  let free = 1;
  while (!(await isFree(free))) {
    taken = free;
    free *= 2;
  }
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2);
    if (await isFree(middle)) free = middle;
    else taken = middle;
  }
  return numberSlug(slug, free);
}

/** Part of a transaction: deletes agents of an account with their versions and notes. */
export function deleteAgents(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const tree = {
    find: () => tx.one(Id, sql`SELECT id FROM agents WHERE account_id = ${account_id} LIMIT 1`),
    async deleteChildren({ id }: { id: string }, most: number) {
      const notes = await deleteNotes(tx, id, most);
      const where = sql`agent_id = ${id}`;
      const versions = { table: sql`agent_versions`, key: sql`agent_id, version`, where };
      return notes + (await deleteRows(tx, versions, most - notes));
    },
    deleteParent: ({ id }: { id: string }) => tx.run(sql`DELETE FROM agents WHERE id = ${id}`),
  };
  return deleteTrees(tree, limit);
}
