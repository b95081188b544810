// Agents of every account: list, versions, policy, hold, release.
import { type Static, Type } from "@sinclair/typebox";
import type { HoldRow } from "../access/index.ts";
import {
  type AgentQueries,
  createAgentQueries,
  createOperatorDefinitions,
  createPolicyPreview,
  createRunQueries,
  type NewAgent,
  PreviewedTool,
  RunMark,
  Version,
  type VersionRow,
} from "../agents/index.ts";
import { maybe, Resource, Timestamp } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import { type AdminDeps, openDisk } from "./deps.ts";
import { AdminError, explainApiError, requireById, unknownId } from "./errors.ts";
import { diffVersions } from "./version-diff.ts";

const fields = {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  name: Type.String({ description: "Name for people." }),
  slug: Type.String({ description: "Unique per owner." }),
  status: Type.String({ description: "`active` or `archived`." }),
  current_version: Type.Integer({ description: "Version of new runs." }),
  created_at: Timestamp("Time of creation."),
  held: maybe(Type.String({ description: "What is held: `agent`, `account` or nothing." })),
  held_since: maybe(Timestamp("Begin of the hold.")),
  hold_reason: maybe(Type.String({ description: "Reason of the hold." })),
};
export const AgentLine = Resource("AgentLine", fields);

const toolCount = (risk: string) => Type.Integer({ description: `Tools of risk \`${risk}\`.` });
const { id: runId, status, created_at } = RunMark.properties;

export const ListedAgent = Type.Object({
  ...AgentLine.properties,
  model: Type.String({ description: "Model of the current version, or the default's alias." }),
  tools: Type.Object(
    {
      read: toolCount("read"),
      write: toolCount("write"),
      irreversible: toolCount("irreversible"),
    },
    { description: "Tools of the current version by risk." },
  ),
  recent_runs: Type.Array(Type.Object({ id: runId, status, created_at }), {
    description: "Its last 20 runs, newest first.",
  }),
});

const key_name = maybe(Type.String({ description: "Name of that key; null: none, or deleted." }));

export const OpenedAgent = Type.Object({
  ...AgentLine.properties,
  description: maybe(Type.String({ description: "Description for people, if any." })),
  version: Version,
  created_by_key_name: key_name,
  tools: Type.Array(PreviewedTool, {
    description: "Tools of the version, and what its policy does with their calls.",
  }),
});

const { version, model, created_by_key_id } = Version.properties;
export const ListedVersion = Resource("ListedVersion", {
  version,
  model,
  created_at: Version.properties.created_at,
  created_by_key_id,
  created_by_key_name: key_name,
});

const MARKS = 20;

export function createAgentAdmin(deps: AdminDeps, directory: AccountDirectory) {
  const { access, clock, database } = deps;
  const { holds } = access;
  const agents = createAgentQueries(database);
  const reader = createAgentReader(deps, directory);
  const createAgent = createOperatorDefinitions({ ...deps, disk: openDisk(deps) });
  return {
    /** Creates an agent of the key's account, as the key could by itself. */
    async create(key: string, agent: NewAgent) {
      const { id } = await requireById("key", key, access.keys.findById);
      const caller = await access.findCaller(id);
      if (!caller?.scopes.includes("agents")) {
        throw new AdminError(
          "that key may not use agents: give one with the scope agents",
          "conflict",
        );
      }
      const { agent: made } = await explainApiError(() => createAgent(agent, caller));
      return (await reader.show(made.id, null)).agent;
    },
    list: reader.list,
    show: reader.show,
    diff: reader.diff,
    listVersions: reader.listVersions,
    async hold(typed: string, reason: string | null): Promise<HoldRow> {
      const { id, account_id } = await requireAgent(agents, typed);
      return holds.hold({ kind: "agent", id, account_id, reason, since: clock.now() });
    },
    /** Returns undefined for an unknown agent. */
    async findHold(id: string): Promise<{ hold: HoldRow | undefined } | undefined> {
      const owner = await agents.findOwner(id);
      return owner === undefined ? undefined : { hold: await holds.find("agent", id) };
    },
    /** Starts the runs that wait, unless the account is held too. */
    async release(typed: string): Promise<{ id: string; wasHeld: boolean }> {
      const { id } = await requireAgent(agents, typed);
      return { id, wasHeld: await holds.release("agent", id) };
    },
  };
}

function createAgentReader(deps: AdminDeps, directory: AccountDirectory) {
  const { access, database, settings } = deps;
  const { alias } = settings.service;
  const agents = createAgentQueries(database);
  const runs = createRunQueries(deps);
  const preview = createPolicyPreview(database, settings);
  const describe = ({ agent, hold }: Awaited<ReturnType<typeof agents.list>>[number]) => ({
    ...agent,
    held: hold?.kind ?? null,
    held_since: hold?.since ?? null,
    hold_reason: hold?.reason ?? null,
  });
  const nameKey = async (id: string | null) =>
    id === null ? null : ((await access.keys.findById(id))?.name ?? null);

  const findVersion = createVersionReader(agents);

  return {
    async list(account: string | null) {
      const rows = await directory.list(account, async (accountId) =>
        (await agents.list(accountId)).map(describe),
      );
      const ids = rows.map(({ id }) => id);
      const marks = Map.groupBy(await runs.listMarks(ids, MARKS), ({ agent_id }) => agent_id);
      const owner = account === null ? null : (rows[0]?.account_id ?? null);
      const current = await agents.listCurrent(owner);
      const versions = new Map(current.map((line) => [line.agent_id, line]));
      return rows.map((row) => {
        const line = versions.get(row.id);
        return {
          ...row,
          model: line?.model ?? alias,
          tools: countRisks(line?.tool_revisions ?? []),
          recent_runs: marks.get(row.id) ?? [],
        };
      });
    },
    /** Shows a version, by default the current one, and what its policy does with its tools. */
    async show(typed: string, number: number | null) {
      const { id, account_id } = await requireAgent(agents, typed);
      const found = (await agents.find(id, account_id)) ?? unknownId("agent", id);
      const version = await findVersion(found, number);
      return {
        agent: await directory.addName(describe(found)),
        version: showModel(version, alias),
        created_by_key_name: await nameKey(version.created_by_key_id),
        tools: await preview(account_id, version),
      };
    },
    async diff(typed: string, from: number, to: number) {
      const { id, account_id } = await requireAgent(agents, typed);
      const found = (await agents.find(id, account_id)) ?? unknownId("agent", id);
      const [before, after] = [await findVersion(found, from), await findVersion(found, to)];
      const changes = diffVersions(showModel(before, alias), showModel(after, alias));
      return { agent: id, from, to, changes };
    },
    async listVersions(typed: string, limit: number) {
      const { id } = await requireAgent(agents, typed);
      const lines = await agents.listVersions(id, limit);
      const names = new Map<string | null, string | null>();
      for (const { created_by_key_id: key } of lines) {
        if (!names.has(key)) names.set(key, await nameKey(key));
      }
      return lines.map((line) => ({
        ...showModel(line, alias),
        created_by_key_name: names.get(line.created_by_key_id) ?? null,
      }));
    },
  };
}

/** Finds a version of an agent, the current one for null. */
function createVersionReader(agents: AgentQueries) {
  type Found = NonNullable<Awaited<ReturnType<AgentQueries["find"]>>>;
  return async ({ agent, version }: Found, number: number | null): Promise<VersionRow> => {
    const { id, current_version } = agent;
    const wanted = number ?? current_version;
    if (wanted === current_version) return version;
    const found = await agents.findVersion(id, wanted);
    if (found) return found;
    const message = `the agent has no version ${wanted}, but up to ${current_version}`;
    throw new AdminError(message, "not found");
  };
}

/** The default model is stored as null. */
const showModel = <R extends Pick<VersionRow, "model">>(row: R, alias: string) => ({
  ...row,
  model: row.model ?? alias,
});

function countRisks(tools: Static<typeof Version>["tool_revisions"]) {
  const counts = { read: 0, write: 0, irreversible: 0 };
  for (const { risk } of tools) counts[risk] += 1;
  return counts;
}

export function requireAgent(agents: AgentQueries, typed: string) {
  return requireById("agent", typed, async (id) => {
    const account_id = await agents.findOwner(id);
    return account_id === undefined ? undefined : { id, account_id };
  });
}

/** Adds the names of agents to rows of lists; each name is read once. */
export async function nameAgents<R extends { agent_id: string; account_id: string }>(
  agents: AgentQueries,
  rows: readonly R[],
): Promise<(R & { agent_name: string | null })[]> {
  const names = new Map<string, string | null>();
  for (const { agent_id, account_id } of rows) {
    if (names.has(agent_id)) continue;
    names.set(agent_id, (await agents.findName(agent_id, account_id)) ?? null);
  }
  return rows.map((row) => ({ ...row, agent_name: names.get(row.agent_id) ?? null }));
}
