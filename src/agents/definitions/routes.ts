// The routes of agents: made, listed, read, changed, and checked for what would ask a person.
import type { Caller, Scope } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import { IdParams, type Router } from "../../http/index.ts";
import { apiError } from "../../platform/errors.ts";
import type { ModelSettings } from "../../settings/index.ts";
import type { AgentsDeps } from "../deps.ts";
import type { LookupTools } from "../tools/catalog.ts";
import { decide } from "../tools/policy.ts";
import { AgentDetail, type AgentRow } from "./agent.ts";
import { DEFAULT_BEHAVIOUR, inherit } from "./inheritance.ts";
import { AgentPatch, NewAgent, readAgentChange, readChange } from "./input.ts";
import { makeSlug } from "./slug.ts";
import { agentStore, type DefinitionLimits, type FoundAgent } from "./store.ts";
import {
  pinTools,
  requireGuarded,
  requireModel,
  requireToolUse,
  storeModel,
} from "./validation.ts";
import type { VersionRow } from "./version.ts";
import { openVersionRoutes } from "./version-routes.ts";
import { AgentCheck, AgentList, showAgent, showAgentDetail } from "./view.ts";

export interface DefinitionOptions {
  lookupTools: LookupTools;
}

/** What the routes of this room share. */
export interface Definitions extends Pick<AgentsDeps, "alias" | "clock" | "disk"> {
  agents: Bound<typeof agentStore>;
  lookupTools: LookupTools;
  chat: Pick<AgentsDeps["inside"]["chat"], "find" | "judge">;
  limits(): DefinitionLimits;
  /** agents.authentication.6, agents.errors.agent_not_found: missing, or not the caller's. */
  require(id: string, caller: Caller): Promise<FoundAgent & { account_id: string }>;
}

export function openDefinitionRoutes(
  door: Router,
  deps: AgentsDeps,
  { lookupTools }: DefinitionOptions,
): void {
  const { database, inside, alias, clock, disk } = deps;
  const agents = database.bind(agentStore);
  const definitions: Definitions = {
    ...{ agents, lookupTools, chat: inside.chat, alias, clock, disk },
    limits: () => deps.settings().limits,
    async require(id, { account_id }) {
      const found = account_id === null ? undefined : await agents.find(id, account_id);
      if (!found) throw apiError("agent_not_found");
      return { ...found, account_id: found.agent.account_id };
    },
  };
  openCreation(door, definitions, deps);
  openReads(door, definitions);
  openChange(door, definitions);
  openCheck(door, definitions);
  openVersionRoutes(door, definitions);
}

/** agents.endpoints.agents.post_agents */
function openCreation(
  door: Router,
  { agents, lookupTools, chat, alias, clock, disk, limits }: Definitions,
  { ids }: Pick<AgentsDeps, "ids">,
): void {
  door.post(
    "/v1/agents",
    {
      summary: "Create an agent",
      description: "The key must be able to call the model of version 1.",
      scope: "agents",
      body: NewAgent,
      replies: { 201: { description: "The agent and its version 1.", schema: AgentDetail } },
      refusals: [
        ...(["invalid_request", "model_not_permitted", "model_not_found"] as const),
        ...(["slug_taken", "agent_limit_reached", "storage_limit_reached"] as const),
        "no_model_available",
      ],
    },
    async ({ body, caller }) => {
      const { account_id, key_id } = caller;
      // agents.errors.permission_denied: nobody would own the agent.
      if (account_id === null) throw apiError("permission_denied");
      const change = { ...readChange(body), model: storeModel(body.model, alias) };
      const behaviour = inherit(DEFAULT_BEHAVIOUR, change);
      const guarded = body.policy?.require_approval;
      const names = [...behaviour.tools, ...(guarded ?? [])];
      const findTool = await lookupTools(account_id, names);
      const tool_revisions = pinTools(findTool, behaviour.tools, []);
      requireGuarded(findTool, guarded);
      const model = await requireModel(chat, behaviour.model, alias, caller);
      requireToolUse(model, behaviour.tools);
      disk.require();
      const [id, now] = [ids.uuid(), clock.now()];
      const { name, slug, description = null, metadata = {} } = readAgentChange(body);
      const agent: AgentRow = {
        ...{ id, account_id, name: name!, slug: slug ?? makeSlug(name!), description, metadata },
        ...{ status: "active", current_version: 1 },
        ...{ created_at: now, updated_at: now, archived_at: null },
      };
      const version: VersionRow = {
        ...behaviour,
        ...{ agent_id: id, version: 1, tool_revisions },
        ...{ created_at: now, created_by_key_id: key_id },
      };
      const found = await agents.create(agent, version, slug === undefined, limits());
      return [201, showAgentDetail(found, alias)];
    },
  );
}

function openReads(door: Router, { agents, alias, require }: Definitions): void {
  // agents.endpoints.agents.get_agents
  door.get(
    "/v1/agents",
    {
      summary: "List agents",
      scope: "agents",
      replies: { 200: { description: "Every agent, newest first.", schema: AgentList } },
      refusals: [],
    },
    async ({ caller: { account_id } }) => {
      const found = account_id === null ? [] : await agents.list(account_id);
      return [200, { data: found.map(showAgent) }];
    },
  );
  // agents.endpoints.agents.get_agents_id
  door.get(
    "/v1/agents/:id",
    {
      summary: "Read an agent",
      scope: "agents",
      params: IdParams,
      replies: { 200: { description: "With its current version.", schema: AgentDetail } },
      refusals: ["agent_not_found"],
    },
    async ({ params, caller }) => [200, showAgentDetail(await require(params.id, caller), alias)],
  );
}

function openChange(door: Router, { agents, alias, clock, limits }: Definitions): void {
  door.patch(
    "/v1/agents/:id",
    {
      summary: "Change an agent",
      description: "What it does is changed by a new version.",
      scope: "agents",
      params: IdParams,
      body: AgentPatch,
      replies: { 200: { description: "With its current version.", schema: AgentDetail } },
      refusals: ["agent_not_found", "slug_taken", "agent_limit_reached"],
    },
    async ({ params, body, caller: { account_id } }) => {
      const change = readAgentChange(body);
      const found =
        account_id === null
          ? undefined
          : await agents.update(params.id, account_id, change, clock.now(), limits().agents);
      if (!found) throw apiError("agent_not_found");
      return [200, showAgentDetail(found, alias)];
    },
  );
}

function openCheck(door: Router, { require, lookupTools, chat, alias }: Definitions): void {
  door.post(
    "/v1/agents/:id/check",
    {
      summary: "Check which tools ask",
      description:
        "Of each tool of the current version: whether its calls run or wait, and why. Also which " +
        "scopes the asking key lacks for a run of its own.",
      scope: "agents",
      params: IdParams,
      replies: { 200: { description: "What becomes of calls.", schema: AgentCheck } },
      refusals: ["agent_not_found"],
    },
    async ({ params, caller }) => {
      const { version, account_id } = await require(params.id, caller);
      const findTool = await lookupTools(account_id, version.tools);
      const lacks = (scope: Scope) => !caller.scopes.includes(scope);
      const data = version.tool_revisions.map((pin) => {
        const tool = findTool(pin.name);
        const status = tool?.isOff === false ? "enabled" : "disabled";
        const missing_scope = tool?.scope && lacks(tool.scope) ? tool.scope : null;
        return { ...pin, status, ...checkTool(pin, version), missing_scope };
      });
      const modelScopes = listModelScopes(version, chat.find(version.model ?? alias));
      const toolScopes = data.flatMap(({ missing_scope }) => missing_scope ?? []);
      const missing_scopes = [...new Set([...modelScopes.filter(lacks), ...toolScopes])];
      const { agent_id, version: number } = version;
      return [200, { agent_id, version: number, missing_scopes, data }];
    },
  );
}

/** gateway.authentication.4, gateway.endpoints.chat_completions.7: what each round needs. */
function listModelScopes({ model_params }: VersionRow, model: ModelSettings | undefined): Scope[] {
  const scopes: Scope[] = model_params.reasoning ? ["reasoning"] : [];
  return model?.think === "required" ? [...scopes, "think"] : scopes;
}

/** agents.does.risk.read, agents.does.risk.write, agents.does.risk.irreversible */
function checkTool(pin: VersionRow["tool_revisions"][number], { policy }: VersionRow) {
  const call = { risk: pin.risk, name: pin.name, policy };
  const before = decide({ ...call, has_external: false });
  const after = decide({ ...call, has_external: true });
  const asks = after.decision === "auto" ? "runs" : "asks_after_external_content";
  return {
    effect: before.decision === "auto" ? asks : "asks",
    why: before.why,
    why_after_external_content: after.why,
  };
}
