// The routes of an agent's versions: a new one, and pages of what there was.
import { Type } from "@sinclair/typebox";
import type { Caller } from "../../access/index.ts";
import { IdParams, type Router } from "../../http/index.ts";
import { apiError } from "../../platform/errors.ts";
import { inherit } from "./inheritance.ts";
import { NewVersion, readAgentChange, readChange } from "./input.ts";
import type { Definitions } from "./routes.ts";
import {
  pinTools,
  requireGuarded,
  requireModel,
  requireToolUse,
  storeModel,
} from "./validation.ts";
import { Version, type VersionRow } from "./version.ts";
import { showVersion, VersionList } from "./view.ts";

/** agents.limits.versions_page */
const PAGE = 20;
const PAGE_MAX = 100;
const VERSION_MAX = 2_147_483_647;

/** How often others may change model or tools while one request is judged. */
const ATTEMPTS_MAX = 10;

const VersionsQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      description: "At most so many.",
      minimum: 1,
      maximum: PAGE_MAX,
      default: PAGE,
    }),
  ),
  before: Type.Optional(
    Type.Integer({
      description: "The last `version` of the page before.",
      minimum: 1,
      maximum: VERSION_MAX,
    }),
  ),
});

export function openVersionRoutes(door: Router, definitions: Definitions): void {
  const { agents, alias, require } = definitions;
  // agents.endpoints.agents.get_agents_id_versions
  door.get(
    "/v1/agents/:id/versions",
    {
      summary: "List an agent's versions",
      scope: "agents",
      params: IdParams,
      query: VersionsQuery,
      replies: { 200: { description: "Versions, newest first.", schema: VersionList } },
      refusals: ["agent_not_found"],
    },
    async ({ params, query, caller }) => {
      const { limit = PAGE, before = null } = query;
      await require(params.id, caller);
      const rows = await agents.listVersions(params.id, limit, before);
      const last = rows.at(-1)?.version ?? 1;
      const data = rows.map((row) => showVersion(row, alias));
      // A shorter page is the last, and so is one that ends with version 1.
      return [200, { data, next_before: rows.length < limit || last === 1 ? null : last }];
    },
  );
  // agents.endpoints.agents.post_agents_id_versions
  door.post(
    "/v1/agents/:id/versions",
    {
      summary: "Make a new version",
      description:
        "It becomes current; runs that were started keep theirs. The key must be able to call " +
        "its model, also an inherited one.",
      scope: "agents",
      params: IdParams,
      body: NewVersion,
      replies: { 201: { description: "The new version.", schema: Version } },
      refusals: [
        ...(["invalid_request", "model_not_permitted", "agent_not_found"] as const),
        ...(["model_not_found", "slug_taken", "version_conflict"] as const),
        ...(["version_limit_reached", "storage_limit_reached", "no_model_available"] as const),
      ],
    },
    async ({ params, body, caller }) => [
      201,
      showVersion(await addVersion(definitions, params.id, body, caller), alias),
    ],
  );
}

async function addVersion(
  { agents, lookupTools, chat, alias, clock, disk, limits, require }: Definitions,
  agent_id: string,
  body: NewVersion,
  caller: Caller,
): Promise<VersionRow> {
  const change = { ...readChange(body), model: storeModel(body.model, alias) };
  const agent_change = readAgentChange(body);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const { version: old, account_id } = await require(agent_id, caller);
    const { model, tools } = inherit(old, change);
    const inherited = change.tools === undefined ? old.tool_revisions : [];
    const guarded = body.policy?.require_approval;
    const findTool = await lookupTools(account_id, [...tools, ...(guarded ?? [])]);
    const tool_revisions = pinTools(findTool, tools, inherited);
    requireGuarded(findTool, guarded);
    requireToolUse(await requireModel(chat, model, alias, caller), tools);
    disk.require();
    const made = await agents.addVersion({
      ...{ agent_id, account_id, change, agent_change, model, tool_revisions },
      expected_version: body.expected_version ?? null,
      created_by_key_id: caller.key_id,
      now: clock.now(),
      limits: limits(),
    });
    if (made) return made;
  }
  throw apiError("version_conflict");
}
