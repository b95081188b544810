// Routes of agents and their versions.
import { type TSchema, Type } from "@sinclair/typebox";
import type { HoldRow } from "../../access/index.ts";
import { IdParams, type Router } from "../../http/index.ts";
import { maybe, oneOf, Resource, show } from "../../platform/schema.ts";
import { Agent, AgentDetail, type OperatorHold } from "./agent.ts";
import type { Definitions } from "./definitions.ts";
import { AgentPatch, NewAgent, NewVersion } from "./input.ts";
import type { FoundAgent, HeldAgent } from "./store.ts";
import { COUNT_MAX, ToolPin, Version, type VersionRow } from "./version.ts";

const AGENTS = "/v1/agents";
const AGENT = `${AGENTS}/:id` as const;
const VERSIONS = `${AGENT}/versions` as const;
const shown = { 200: { description: "The agent with its current version.", schema: AgentDetail } };
const scoped = { scope: "agents" } as const;
/** agents.limits.versions_page */
const PAGE = { default: 20, minimum: 1, maximum: 100 };

const VersionsQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ ...PAGE, description: "Maximum versions." })),
  before: Type.Optional(
    Type.Integer({
      description: "The last `version` of the page before.",
      minimum: 1,
      maximum: COUNT_MAX,
    }),
  ),
});

const list = <S extends TSchema>(item: S, description: string) => Type.Array(item, { description });

const AgentList = Resource(
  "AgentList",
  { data: list(Agent, "Every agent of the caller, newest first.") },
  "Every agent of the account.",
);

const VersionList = Resource(
  "AgentVersionList",
  {
    data: list(Version, "Newest first."),
    next_before: maybe(
      Type.Integer({ description: "`before` of the next page; null for the last." }),
    ),
  },
  "A page of an agent's versions.",
);

const why = (description: string) =>
  list(
    Type.String({ description: "`irreversible`, `write`, `listed` or `external_content`." }),
    description,
  );

const CheckedTool = Type.Object(
  {
    ...ToolPin.properties,
    status: oneOf(
      ["enabled", "disabled"] as const,
      "`disabled`: none of its calls runs, whatever `effect` says.",
    ),
    effect: oneOf(
      ["runs", "asks", "asks_after_external_content"] as const,
      "A call runs, or waits for an approval.",
    ),
    why: why("Rules that ask before outside content is read."),
    why_after_external_content: why("Rules that ask afterwards."),
    missing_scope: maybe(
      Type.String({ description: "Scope that the calling key lacks, so that its calls fail." }),
    ),
  },
  { description: "A tool of the version and the effect of its calls." },
);

const AgentCheck = Resource(
  "AgentCheck",
  {
    agent_id: Type.String({ format: "uuid", description: "The agent." }),
    version: Type.Integer({ description: "Its current version." }),
    missing_scopes: list(
      Type.String({ description: "A scope." }),
      "Scopes that the calling key lacks: `reasoning` or `think` of the model, which fail every " +
        "run, and those of the tools.",
    ),
    data: list(CheckedTool, "Its tools, in the order of the version."),
  },
  "Effects of calls of the current version's tools.",
);

export function openDefinitionRoutes(
  router: Router,
  definitions: Definitions,
  alias: string,
): void {
  openCreation(router, definitions, alias);
  openReads(router, definitions, alias);
  openChange(router, definitions, alias);
  openCheck(router, definitions);
  openVersions(router, definitions, alias);
}

/** agents.endpoints.agents.post_agents */
function openCreation(router: Router, definitions: Definitions, alias: string): void {
  router.post(
    AGENTS,
    {
      ...scoped,
      summary: "Create an agent",
      description: "The key must be able to call the model of version 1.",
      body: NewAgent,
      replies: { 201: { description: "The agent and its version 1.", schema: AgentDetail } },
      refusals: [
        "invalid_request",
        "model_not_permitted",
        "model_not_found",
        "slug_taken",
        "agent_limit_reached",
        "storage_limit_reached",
        "no_model_available",
      ],
    },
    async ({ body, caller }) => [
      201,
      showAgentDetail(await definitions.create(body, caller), alias),
    ],
  );
}

function openReads(router: Router, definitions: Definitions, alias: string): void {
  // agents.endpoints.agents.get_agents
  router.get(
    AGENTS,
    {
      ...scoped,
      summary: "List agents",
      replies: { 200: { description: "Every agent, newest first.", schema: AgentList } },
      refusals: [],
    },
    async ({ caller }) => [200, { data: (await definitions.list(caller)).map(showAgent) }],
  );
  // agents.endpoints.agents.get_agents_id
  router.get(
    AGENT,
    {
      ...scoped,
      summary: "Read an agent",
      params: IdParams,
      replies: shown,
      refusals: ["agent_not_found"],
    },
    async ({ params, caller }) => [
      200,
      showAgentDetail(await definitions.require(params.id, caller), alias),
    ],
  );
}

function openChange(router: Router, definitions: Definitions, alias: string): void {
  router.patch(
    AGENT,
    {
      ...scoped,
      summary: "Change an agent",
      description: "Changes the agent itself; a new version changes what it does.",
      params: IdParams,
      body: AgentPatch,
      replies: shown,
      refusals: ["agent_not_found", "slug_taken", "agent_limit_reached"],
    },
    async ({ params, body, caller }) => [
      200,
      showAgentDetail(await definitions.change(params.id, body, caller), alias),
    ],
  );
}

function openCheck(router: Router, definitions: Definitions): void {
  router.post(
    `${AGENT}/check`,
    {
      ...scoped,
      summary: "Check which tools ask",
      description:
        "Tells for each tool of the current version whether its calls run or wait, and why; also " +
        "which scopes the calling key lacks for a run of its own.",
      params: IdParams,
      replies: { 200: { description: "Effects of calls.", schema: AgentCheck } },
      refusals: ["agent_not_found"],
    },
    async ({ params, caller }) => [200, await definitions.check(params.id, caller)],
  );
}

function openVersions(router: Router, definitions: Definitions, alias: string): void {
  // agents.endpoints.agents.get_agents_id_versions
  router.get(
    VERSIONS,
    {
      ...scoped,
      summary: "List an agent's versions",
      params: IdParams,
      query: VersionsQuery,
      replies: { 200: { description: "Versions, newest first.", schema: VersionList } },
      refusals: ["agent_not_found"],
    },
    async ({ params, query, caller }) => {
      const { limit = PAGE.default, before = null } = query;
      await definitions.require(params.id, caller);
      const rows = await definitions.listVersions(params.id, limit, before);
      const last = rows.at(-1)?.version ?? 1;
      const data = rows.map((row) => showVersion(row, alias));
      // A page that is short or ends with version 1 is the last.
      return [200, { data, next_before: rows.length < limit || last === 1 ? null : last }];
    },
  );
  // agents.endpoints.agents.post_agents_id_versions
  router.post(
    VERSIONS,
    {
      ...scoped,
      summary: "Make a new version",
      description:
        "The version becomes current; started runs keep theirs. The key must be able to call its " +
        "model, also an inherited one.",
      params: IdParams,
      body: NewVersion,
      replies: { 201: { description: "The new version.", schema: Version } },
      refusals: [
        "invalid_request",
        "model_not_permitted",
        "agent_not_found",
        "model_not_found",
        "slug_taken",
        "version_conflict",
        "version_limit_reached",
        "storage_limit_reached",
        "no_model_available",
      ],
    },
    async ({ params, body, caller }) => [
      201,
      showVersion(await definitions.addVersion(params.id, body, caller), alias),
    ],
  );
}

function showAgent({ agent, hold }: HeldAgent) {
  return show(Agent, { ...agent, operator_hold: showHold(hold) });
}

function showAgentDetail(found: FoundAgent, alias: string) {
  return { ...showAgent(found), version: showVersion(found.version, alias) };
}

function showVersion(row: VersionRow, alias: string) {
  return show(Version, { ...row, model: row.model ?? alias });
}

function showHold(hold: HoldRow | null): OperatorHold | null {
  if (!hold) return null;
  const { kind, reason, since } = hold;
  return { scope: kind, reason, since: new Date(since).toISOString() };
}
