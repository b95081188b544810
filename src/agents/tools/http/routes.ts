// The routes that change tools of an account: registered, revised, switched off and on.
import type { Caller } from "../../../access/index.ts";
import type { Router } from "../../../http/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { type ToolsDeps, toolError } from "../deps.ts";
import { NameParams, showRevision } from "../routes.ts";
import { ToolRevision } from "../tool.ts";
import {
  type InputChecks,
  NewTool,
  NewToolRevision,
  readRevision,
  validateRevision,
  validateToolName,
} from "./input.ts";
import { isToolName, type ToolRevisionRow } from "./revision.ts";

const route = { scope: "agents", feature: "http_tools" } as const;

export function openRegistrationRoutes(door: Router, deps: ToolsDeps, judges: InputChecks): void {
  openRegistration(door, deps, judges);
  openRevision(door, deps, judges);
  openSwitch(door, deps, "disable");
  openSwitch(door, deps, "enable");
}

/** agents.endpoints.tools.post_tools */
function openRegistration(door: Router, deps: ToolsDeps, judges: InputChecks): void {
  const { tools, catalog, clock, disk, settings } = deps;
  const isBuiltin = (name: string) => catalog.find(name) !== undefined;
  door.post(
    "/v1/tools",
    {
      ...route,
      summary: "Register a tool",
      description:
        "It calls an endpoint of yours with POST and the arguments as JSON. A new version of an " +
        "agent that names it can use it. A connection without hosts is bound to the endpoint's.",
      body: NewTool,
      replies: { 201: { description: "Its first revision.", schema: ToolRevision } },
      refusals: [
        ...(["invalid_request", "url_refused", "connection_not_found"] as const),
        ...(["tool_exists", "tool_limit_reached", "storage_limit_reached"] as const),
      ],
    },
    async ({ body, caller: { account_id } }) => {
      // agents.errors.permission_denied: nobody would own the tool.
      if (account_id === null) throw apiError("permission_denied");
      const { name } = body;
      validateToolName(name, isBuiltin);
      const host = await validateRevision(body, account_id, judges);
      const revision = readRevision(body, { account_id, name, created_at: clock.now() });
      disk.require();
      const made = await tools.register(revision, host, settings().limits);
      return [201, showRevision(made)];
    },
  );
}

/** agents.endpoints.tools.p1 */
function openRevision(door: Router, deps: ToolsDeps, judges: InputChecks): void {
  const { tools, clock, disk, settings } = deps;
  door.post(
    "/v1/tools/:name/revisions",
    {
      ...route,
      summary: "Add a revision of a tool",
      description:
        "Versions that have pinned an earlier one keep it; a version that names the tool from " +
        "now on pins this one. A tool that is disabled stays disabled.",
      params: NameParams,
      body: NewToolRevision,
      replies: { 201: { description: "The new revision.", schema: ToolRevision } },
      refusals: [
        ...(["invalid_request", "url_refused"] as const),
        ...(["tool_not_found", "connection_not_found", "tool_limit_reached"] as const),
        "storage_limit_reached",
      ],
    },
    async ({ params: { name }, body, caller }) => {
      const revise = async (account_id: string) => {
        // Before its fields: what is not there takes none.
        if (!(await tools.find(account_id, name))) return undefined;
        const host = await validateRevision(body, account_id, judges);
        disk.require();
        const revision = readRevision(body, { account_id, name, created_at: clock.now() });
        return tools.revise(revision, host, settings().limits.stored_bytes);
      };
      return [201, showRevision(await forOwner(deps, name, caller, revise))];
    },
  );
}

const SWITCHES = {
  disable: {
    summary: "Switch a tool off",
    description: "No run calls it any more, of whatever revision. Once more changes nothing.",
  },
  enable: {
    summary: "Switch a tool on",
    description: "It counts towards the limit again. Once more changes nothing.",
  },
} as const;

function openSwitch(door: Router, deps: ToolsDeps, verb: keyof typeof SWITCHES): void {
  const { tools, settings } = deps;
  door.post(
    `/v1/tools/:name/${verb}`,
    {
      ...route,
      ...SWITCHES[verb],
      params: NameParams,
      replies: { 200: { description: "Its latest revision.", schema: ToolRevision } },
      refusals: verb === "enable" ? ["tool_not_found", "tool_limit_reached"] : ["tool_not_found"],
    },
    async ({ params: { name }, caller }) => {
      const turn = (account_id: string) =>
        verb === "enable"
          ? tools.enable(account_id, name, settings().limits.tools)
          : tools.disable(account_id, name);
      return [200, showRevision(await forOwner(deps, name, caller, turn))];
    },
  );
}

/** What it makes of a tool of the caller's; refuses where there is none. */
async function forOwner(
  deps: ToolsDeps,
  name: string,
  { account_id }: Caller,
  work: (account_id: string) => Promise<ToolRevisionRow | undefined>,
): Promise<ToolRevisionRow> {
  const done = account_id === null || !isToolName(name) ? undefined : await work(account_id);
  if (!done) throw toolError(deps, name);
  return done;
}
