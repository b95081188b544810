// The routes that read tools: the catalogue, one tool, and its revisions.
import { Type } from "@sinclair/typebox";
import { accountOf, type Caller } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import { ITEMS_AT_ONCE, type ListParts, type Router, streamList } from "../../http/index.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import { show } from "../../platform/schema.ts";
import type { AgentsDeps } from "../deps.ts";
import type { Catalog } from "./catalog.ts";
import type { toolStore } from "./http/store/index.ts";
import {
  describeOwnRevision,
  isToolName,
  ToolList,
  ToolRevision,
  ToolRevisionList,
  type ToolRevisionRow,
} from "./revision.ts";

export interface ToolsDeps extends AgentsDeps {
  catalog: Catalog;
  tools: Bound<typeof toolStore>;
}

export async function findOwn(
  { tools }: Pick<ToolsDeps, "tools">,
  name: string,
  caller: Caller,
): Promise<ToolRevisionRow | undefined> {
  return isToolName(name) ? tools.find(accountOf(caller), name) : undefined;
}

/** agents.errors.tool_not_found, agents.authentication.6: built-in tools belong to no account. */
export function toolError({ catalog }: Pick<ToolsDeps, "catalog">, name: string): ApiError {
  if (!catalog.find(name)) return apiError("tool_not_found");
  const message = `\`${name}\` is a tool of the platform: it is neither changed nor tested.`;
  return apiError("tool_not_found", { message });
}

const PAGE = 20;
const PAGE_MAX = 100;
const REVISION_MAX = 2_147_483_647;

/** Any text is taken; one that is no tool's name is not found. */
export const NameParams = Type.Object({ name: Type.String({ description: "The tool's name." }) });

const RevisionsQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ description: "At most so many.", minimum: 1, maximum: PAGE_MAX, default: PAGE }),
  ),
  before: Type.Optional(
    Type.Integer({
      description: "The last `revision` of the page before.",
      minimum: 1,
      maximum: REVISION_MAX,
    }),
  ),
});

export function openToolRoutes(router: Router, deps: ToolsDeps): void {
  openCatalog(router, deps);
  openReads(router, deps);
}

/** agents.resources.tool */
export function showRevision(row: ToolRevisionRow) {
  return show(ToolRevision, describeOwnRevision(row));
}

/** agents.does.cost.2: present prices; a run keeps those of its start. */
function listBuiltins({ catalog, settings }: ToolsDeps) {
  return catalog.list(new Map(Object.entries(settings().agents.tool_prices)));
}

/** agents.endpoints.tools.get_tools */
function openCatalog(router: Router, deps: ToolsDeps): void {
  const { tools, log } = deps;
  router.get(
    "/v1/tools",
    {
      summary: "List tools",
      description: "Those of the platform, then those of the account in the order of their names.",
      scope: "agents",
      replies: { 200: { description: "What an agent version may use.", schema: ToolList } },
      refusals: [],
    },
    async ({ caller, request, requestId }) => {
      const account_id = accountOf(caller);
      const builtins = listBuiltins(deps);
      const display = (one: ToolRevision) => show(ToolRevision, one);
      const standings = await tools.listStandings(
        account_id,
        builtins.map(({ name }) => name),
      );
      // An account's own tool hides a built-in one of its name.
      const taken = new Set(standings.map(({ name }) => name));
      const shown = builtins.filter(({ name }) => !taken.has(name)).map(display);
      const first = await tools.list(account_id, null, ITEMS_AT_ONCE);
      if (first.length < ITEMS_AT_ONCE) {
        return [200, { data: [...shown, ...first.map(showRevision)] }];
      }
      async function* listParts(): ListParts {
        yield shown;
        for (let rows = first; rows.length > 0; ) {
          yield rows.map(showRevision);
          rows = await tools.list(account_id, rows.at(-1)!.name, ITEMS_AT_ONCE);
        }
        return {};
      }
      return streamList(listParts(), { request, requestId, log });
    },
  );
}

/** agents.endpoints.tools.p1 */
function openReads(router: Router, deps: ToolsDeps): void {
  const { tools } = deps;
  const find = async (name: string, caller: Caller) => {
    const own = await findOwn(deps, name, caller);
    if (own) return describeOwnRevision(own);
    const builtin = listBuiltins(deps).find((one) => one.name === name);
    // agents.errors.tool_not_found
    if (!builtin) throw apiError("tool_not_found");
    return builtin;
  };
  router.get(
    "/v1/tools/:name",
    {
      summary: "Read a tool",
      scope: "agents",
      params: NameParams,
      replies: { 200: { description: "Its latest revision.", schema: ToolRevision } },
      refusals: ["tool_not_found"],
    },
    async ({ params, caller }) => [200, show(ToolRevision, await find(params.name, caller))],
  );
  router.get(
    "/v1/tools/:name/revisions",
    {
      summary: "List a tool's revisions",
      scope: "agents",
      params: NameParams,
      query: RevisionsQuery,
      replies: { 200: { description: "Revisions, newest first.", schema: ToolRevisionList } },
      refusals: ["tool_not_found"],
    },
    async ({ params: { name }, query, caller }) => {
      const { limit = PAGE, before = null } = query;
      const latest = await find(name, caller);
      if (latest.kind === "builtin") {
        const isLater = before !== null && before <= latest.revision;
        return [200, { data: isLater ? [] : [show(ToolRevision, latest)], next_before: null }];
      }
      const rows = await tools.listRevisions(accountOf(caller), name, { limit, before });
      const last = rows.at(-1)?.revision ?? 1;
      // A shorter page is the last, and so is one that ends with revision 1.
      const next_before = rows.length < limit || last === 1 ? null : last;
      return [200, { data: rows.map(showRevision), next_before }];
    },
  );
}
