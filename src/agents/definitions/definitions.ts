// Creates agents, adds versions to them, and checks what their tools may do.
import { accountOf, type Caller, type Scope } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import type { ModelCheck } from "../../gateway/index.ts";
import { apiError } from "../../platform/errors.ts";
import type { ModelSettings } from "../../settings/index.ts";
import type { AgentsDeps } from "../deps.ts";
import type { LookupTools } from "../tools/catalog.ts";
import type { CheckSchema } from "../tools/json-schema/check.ts";
import { decide } from "../tools/policy.ts";
import { type AgentRow, makeSlug } from "./agent.ts";
import {
  type AgentPatch,
  type NewAgent,
  type NewVersion,
  readAgentChange,
  readBehaviour,
} from "./input.ts";
import { agentStore, type FoundAgent } from "./store.ts";
import {
  pinTools,
  requireGuarded,
  requireModel,
  requireToolUse,
  storeModel,
} from "./validation.ts";
import {
  type Behaviour,
  DEFAULT_BEHAVIOUR,
  inherit,
  type ToolPin,
  type VersionRow,
} from "./version.ts";

type DefinitionsDeps = Pick<
  AgentsDeps,
  "database" | "clock" | "disk" | "ids" | "settings" | "alias"
> & { internal: { chat: ModelCheck } };

/** Maximum attempts while other requests change model or tools. */
const ATTEMPTS_MAX = 10;

export class Definitions {
  readonly #deps: DefinitionsDeps;
  readonly #lookupTools: LookupTools;
  readonly #checkSchema: CheckSchema | undefined;
  readonly #agents: Bound<typeof agentStore>;

  /** Without `checkSchema` no version has an output schema. */
  constructor(deps: DefinitionsDeps, lookupTools: LookupTools, checkSchema?: CheckSchema) {
    this.#deps = deps;
    this.#lookupTools = lookupTools;
    this.#checkSchema = checkSchema;
    this.#agents = deps.database.bind(agentStore);
  }

  list(caller: Caller) {
    return this.#agents.list(accountOf(caller));
  }

  /** agents.authentication.6, agents.errors.agent_not_found */
  async require(id: string, caller: Caller): Promise<FoundAgent> {
    const found = await this.#agents.find(id, accountOf(caller));
    if (!found) throw apiError("agent_not_found");
    return found;
  }

  /** agents.endpoints.agents.post_agents */
  async create(body: NewAgent, caller: Caller): Promise<FoundAgent> {
    const { account_id, key_id } = caller;
    const { clock, disk, ids } = this.#deps;
    // agents.errors.permission_denied: the agent would have no owner.
    if (account_id === null) throw apiError("permission_denied");
    const behaviour = inherit(DEFAULT_BEHAVIOUR, this.#readChange(body));
    await this.#requireSchema(body, caller);
    const tool_revisions = await this.#validate(account_id, behaviour, [], body, caller);
    disk.require();
    const [agent_id, now] = [ids.uuid(), clock.now()];
    const { name, slug, description = null, ...rest } = readAgentChange(body);
    const { metadata = {}, expose = false } = rest;
    const agent: AgentRow = {
      id: agent_id,
      account_id,
      name: name!,
      slug: slug ?? makeSlug(name!),
      description,
      metadata,
      expose,
      status: "active",
      current_version: 1,
      created_at: now,
      updated_at: now,
      archived_at: null,
    };
    const version: VersionRow = {
      ...behaviour,
      agent_id,
      version: 1,
      tool_revisions,
      created_at: now,
      created_by_key_id: key_id,
    };
    return this.#agents.create(agent, version, slug === undefined, this.#limits());
  }

  async change(id: string, body: AgentPatch, caller: Caller): Promise<FoundAgent> {
    const change = readAgentChange(body);
    const now = this.#deps.clock.now();
    const { agents: agentsMax } = this.#limits();
    const found = await this.#agents.update(id, accountOf(caller), change, now, agentsMax);
    if (!found) throw apiError("agent_not_found");
    return found;
  }

  /** agents.endpoints.agents.post_agents_id_versions */
  async addVersion(agent_id: string, body: NewVersion, caller: Caller): Promise<VersionRow> {
    const { clock, disk } = this.#deps;
    const change = this.#readChange(body);
    const agentChange = readAgentChange(body);
    await this.#requireSchema(body, caller);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const { agent, version: old } = await this.require(agent_id, caller);
      const { account_id } = agent;
      const behaviour = inherit(old, change);
      const inherited = change.tools === undefined ? old.tool_revisions : [];
      const toolPins = await this.#validate(account_id, behaviour, inherited, body, caller);
      disk.require();
      const added = await this.#agents.addVersion({
        agent_id,
        account_id,
        change,
        agentChange,
        model: behaviour.model,
        tool_revisions: toolPins,
        expectedVersion: body.expected_version ?? null,
        created_by_key_id: caller.key_id,
        now: clock.now(),
        limits: this.#limits(),
      });
      if (added) return added;
    }
    throw apiError("version_conflict");
  }

  listVersions(agentId: string, limit: number, before: number | null) {
    return this.#agents.listVersions(agentId, limit, before);
  }

  async check(id: string, caller: Caller) {
    const { agent, version } = await this.require(id, caller);
    const findTool = await this.#lookupTools(agent.account_id, version.tools);
    const lacks = (scope: Scope) => !caller.scopes.includes(scope);
    const data = version.tool_revisions.map((pin) => {
      const tool = findTool(pin.name);
      const status = tool?.isOff === false ? "enabled" : "disabled";
      const missing_scope = tool?.scope && lacks(tool.scope) ? tool.scope : null;
      return { ...pin, status, ...checkTool(pin, version), missing_scope };
    });
    const model = this.#deps.internal.chat.find(version.model ?? this.#deps.alias);
    const modelScopes = listModelScopes(version, model);
    const toolScopes = data.flatMap(({ missing_scope }) => missing_scope ?? []);
    const missing_scopes = [...new Set([...modelScopes.filter(lacks), ...toolScopes])];
    return { agent_id: id, version: version.version, missing_scopes, data };
  }

  /** agents.errors.invalid_request */
  async #requireSchema({ output_schema }: Pick<NewVersion, "output_schema">, caller: Caller) {
    if (!output_schema) return;
    if (!this.#checkSchema) throw new Error("nothing checks an output schema here");
    const message = await this.#checkSchema(output_schema, accountOf(caller), "output_schema");
    if (message !== null) throw apiError("invalid_request", { param: "output_schema", message });
  }

  #limits() {
    return this.#deps.settings().limits;
  }

  #readChange(body: Parameters<typeof readBehaviour>[0]) {
    return { ...readBehaviour(body), model: storeModel(body.model, this.#deps.alias) };
  }

  async #validate(
    accountId: string,
    { model, tools }: Behaviour,
    inherited: readonly ToolPin[],
    body: Pick<NewVersion, "policy">,
    caller: Caller,
  ): Promise<ToolPin[]> {
    const { internal, alias } = this.#deps;
    const guarded = body.policy?.require_approval;
    const findTool = await this.#lookupTools(accountId, [...tools, ...(guarded ?? [])]);
    const pins = pinTools(findTool, tools, inherited);
    requireGuarded(findTool, guarded);
    requireToolUse(await requireModel(internal.chat, model, alias, caller), tools);
    return pins;
  }
}

/** gateway.authentication.4, gateway.endpoints.chat_completions.7: scopes of every round. */
function listModelScopes({ model_params }: VersionRow, model: ModelSettings | undefined): Scope[] {
  const scopes: Scope[] = model_params.reasoning ? ["reasoning"] : [];
  return model?.think === "required" ? [...scopes, "think"] : scopes;
}

/** agents.does.risk.read, agents.does.risk.write, agents.does.risk.irreversible */
function checkTool({ risk, name }: ToolPin, { policy }: VersionRow) {
  const before = decide({ risk, name, policy, hasExternal: false });
  const after = decide({ risk, name, policy, hasExternal: true });
  const effect = after.decision === "auto" ? "runs" : "asks_after_external_content";
  return {
    effect: before.decision === "auto" ? effect : "asks",
    why: before.why,
    why_after_external_content: after.why,
  };
}
