// Agents and their versions in the database.
import { Type } from "@sinclair/typebox";
import { findHolds, listHolds } from "../../access/holds/store.ts";
import type { HoldRow } from "../../access/index.ts";
import { type Db, into, none, requireCapacity, sql, store, type Tx } from "../../database/index.ts";
import { apiError } from "../../platform/errors.ts";
import { Row, spread } from "../../platform/schema.ts";
import { countStored, measureWhole, storeDefinition } from "../../storage/store.ts";
import { AgentRow } from "./agent.ts";
import { type Change, inherit, isPinnedAlike } from "./inheritance.ts";
import { numberSlug } from "./slug.ts";
import { type ToolPin, VersionRow } from "./version.ts";

/** An agent, the version that new runs use, and what keeps them from starting. */
export interface FoundAgent {
  agent: AgentRow;
  version: VersionRow;
  /** The agent's own hold, else its account's; null: it is not held. */
  hold: HoldRow | null;
}

export interface HeldAgent {
  agent: AgentRow;
  hold: HoldRow | null;
}

/** What a request says of the agent itself. */
export type AgentChange = Partial<
  Pick<AgentRow, "name" | "slug" | "description" | "metadata" | "status">
>;

/** How much an account may define. */
export interface DefinitionLimits {
  /** Agents that are not archived. */
  agents: number;
  /** Versions of an agent. */
  versions: number;
  /** Bytes that the account stores, of whatever kind. */
  stored_bytes: number;
}

/** A new version, as far as it is known in front of the transaction that makes it. */
export interface NewVersionPlan {
  agent_id: string;
  account_id: string;
  change: Change;
  agent_change: AgentChange;
  /** What the caller believes to be current; null: whatever is. */
  expected_version: number | null;
  /** Null as the model is the default one; it was judged for this caller. */
  model: string | null;
  /** The tools it was judged with, as they are now. */
  tool_revisions: ToolPin[];
  created_by_key_id: string;
  now: number;
  limits: DefinitionLimits;
}

const AgentWithVersion = Row(AgentRow, { version: spread(VersionRow.properties, "The current.") });
const Owner = Type.Object({ account_id: Type.String() });
const Slug = Type.Object({ slug: Type.String() });

export const agentStore = store(
  "agents",
  {
    /** agents.authentication.6: undefined where it is another's, too. */
    find: (db, id: string, account_id: string) => findAgent(db, id, account_id),
    /** Newest first; of one account, or of all where it is null. */
    list: async (db, account_id: string | null) => {
      const agents = await db.all(
        AgentRow,
        sql`SELECT * FROM agents
            ${account_id === null ? none : sql`WHERE account_id = ${account_id}`}
            ORDER BY created_at DESC, id DESC`,
      );
      return joinHolds(agents, await listHolds(db, account_id));
    },
    /** Whoever owns it; undefined: there is none of this id. */
    findOwner: async (db, id: string) => {
      const found = await db.one(Owner, sql`SELECT account_id FROM agents WHERE id = ${id}`);
      return found?.account_id;
    },
    findVersion: (db, agent_id: string, version: number) =>
      db.one(
        VersionRow,
        sql`SELECT * FROM agent_versions WHERE agent_id = ${agent_id} AND version = ${version}`,
      ),
    /** Newest first, from below `before` on. */
    listVersions: (db, agent_id: string, limit: number, before: number | null) =>
      db.all(
        VersionRow,
        sql`SELECT * FROM agent_versions WHERE agent_id = ${agent_id}
            ${before === null ? none : sql`AND version < ${before}`}
            ORDER BY version DESC LIMIT ${limit}`,
      ),
  },
  {
    /** The agent with its first version; a slug that was made from its name may get a number. */
    create: async (
      tx,
      agent: AgentRow,
      version: VersionRow,
      is_slug_made: boolean,
      limits: DefinitionLimits,
    ) => {
      await requireRoom(tx, agent.account_id, limits.agents);
      const slug = is_slug_made ? await chooseSlug(tx, agent) : agent.slug;
      const row = { ...agent, slug };
      const made = await tx.run(
        sql`INSERT INTO agents ${into(AgentRow, row)}
            ON CONFLICT (account_id, slug) DO NOTHING`,
      );
      if (made === 0) throw refuseSlug(slug);
      await addVersionRow(tx, agent.account_id, version, limits, measureWhole(AgentRow, row));
      return (await findAgent(tx, agent.id, agent.account_id))!;
    },
    /**
     * agents.endpoints.agents.post_agents_id_versions: what is not sent comes of the version that
     * is current now. null: its model or tools are others than were judged, so judge again;
     * undefined: there is no such agent.
     */
    addVersion: async (tx, wish: NewVersionPlan) => {
      const { agent_id, account_id, change, tool_revisions } = wish;
      const found = await findAgent(tx, agent_id, account_id);
      if (!found) return undefined;
      const { agent, version: old } = found;
      const { expected_version, limits } = wish;
      if (expected_version !== null && expected_version !== agent.current_version) {
        throw refuseVersion(agent.current_version);
      }
      if (agent.current_version >= limits.versions) throw refuseVersions(limits.versions);
      const behaviour = inherit(old, change);
      const pinned = tool_revisions.map(({ name }) => name);
      if (behaviour.model !== wish.model || behaviour.tools.join() !== pinned.join()) return null;
      // Nor takes it back what another request has pinned meanwhile.
      if (change.tools === undefined && !isPinnedAlike(tool_revisions, old.tool_revisions)) {
        return null;
      }
      const version: VersionRow = {
        ...behaviour,
        ...{ agent_id, version: agent.current_version + 1, tool_revisions },
        ...{ created_at: wish.now, created_by_key_id: wish.created_by_key_id },
      };
      await changeAgent(tx, agent, wish.agent_change, version.version, wish.now);
      await addVersionRow(tx, account_id, version, limits);
      return version;
    },
    /** The agent as it is afterwards; undefined: there is no such agent. */
    update: async (
      tx,
      id: string,
      account_id: string,
      change: AgentChange,
      now: number,
      agents_max: number,
    ) => {
      const found = await findAgent(tx, id, account_id);
      if (!found) return undefined;
      const { agent } = found;
      const isBack = agent.status === "archived" && change.status === "active";
      if (isBack) await requireRoom(tx, account_id, agents_max);
      const changed = await changeAgent(tx, agent, change, agent.current_version, now);
      return { ...found, agent: changed };
    },
  },
);

/** A part: one agent with all that a start of a run has to look at, in two statements. */
async function findAgent(db: Db, id: string, account_id: string): Promise<FoundAgent | undefined> {
  const row = await db.one(
    AgentWithVersion,
    sql`SELECT agents.*,
          v.agent_id AS version_agent_id, v.version AS version_version,
          v.system_prompt AS version_system_prompt, v.model AS version_model,
          v.tools AS version_tools, v.tool_revisions AS version_tool_revisions,
          v.policy AS version_policy, v.budgets AS version_budgets,
          v.model_params AS version_model_params, v.created_at AS version_created_at,
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

/** `more`: bytes of what is stored with it. */
async function addVersionRow(
  tx: Tx,
  account_id: string,
  version: VersionRow,
  { stored_bytes }: DefinitionLimits,
  more = 0,
): Promise<void> {
  const bytes = measureWhole(VersionRow, version) + more;
  await storeDefinition(tx, account_id, bytes, stored_bytes);
  await tx.run(sql`INSERT INTO agent_versions ${into(VersionRow, version)}`);
}

/** Archived agents do not count, since no agent can be deleted: their bytes do. */
async function requireRoom(tx: Tx, account_id: string, agents_max: number): Promise<void> {
  const rows = sql`FROM agents WHERE account_id = ${account_id} AND status = 'active'`;
  const message = `The account has ${agents_max} agents, and may have no more: archive one.`;
  await requireCapacity(tx, rows, agents_max, "agent_limit_reached", message);
}

function joinHolds(agents: readonly AgentRow[], holds: readonly HoldRow[]): HeldAgent[] {
  const byId = new Map(holds.map((hold) => [`${hold.kind} ${hold.id}`, hold]));
  return agents.map((agent) => ({
    agent,
    hold: byId.get(`agent ${agent.id}`) ?? byId.get(`account ${agent.account_id}`) ?? null,
  }));
}

/** Writes only what is another: an agent that stays as it was was not updated either. */
async function changeAgent(
  tx: Tx,
  agent: AgentRow,
  change: AgentChange,
  current_version: number,
  now: number,
): Promise<AgentRow> {
  const { slug } = change;
  if (slug !== undefined && slug !== agent.slug && (await isTaken(tx, agent.account_id, slug))) {
    throw refuseSlug(slug);
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
          updated_at = ${now}, archived_at = ${row.archived_at}
        WHERE id = ${agent.id}`,
  );
  const grown = measureWhole(AgentRow, row) - measureWhole(AgentRow, agent);
  await countStored(tx, agent.account_id, "definitions", grown);
  // What starts runs of it by itself is paused with it.
  if (row.status === "archived" && agent.status !== "archived") {
    tx.tell("agents.archived", row.id);
  }
  return row;
}

async function isTaken(tx: Tx, account_id: string, slug: string): Promise<boolean> {
  const found = await tx.one(
    Slug,
    sql`SELECT slug FROM agents WHERE account_id = ${account_id} AND slug = ${slug}`,
  );
  return found !== undefined;
}

/**
 * The first free one of `bot`, `bot-2`, `bot-3` …, or, where some in between were given up, a free
 * one: an account may have any number of agents, and few of their slugs are looked at.
 */
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

/** agents.errors.slug_taken */
function refuseSlug(slug: string) {
  const message = `An agent of the slug \`${slug}\` exists.`;
  return apiError("slug_taken", { param: "slug", message });
}

function refuseVersions(versions_max: number) {
  const message = `The agent has ${versions_max} versions, and may have no more.`;
  return apiError("version_limit_reached", { message });
}

function refuseVersion(current: number) {
  const message = `The agent's current version is ${current} by now.`;
  return apiError("version_conflict", { param: "expected_version", message });
}
