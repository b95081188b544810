// The routes that change tools of an account: registered, revised, switched off and on.
import type { Caller } from "../../../access/index.ts";
import type { Door } from "../../../http/index.ts";
import { refuse } from "../../../platform/refusal.ts";
import { refuseTool, type ToolsAround } from "../around.ts";
import { NameParams, showRevision } from "../routes.ts";
import { ToolRevision } from "../tool.ts";
import {
  type Judges,
  judgeName,
  judgeRevision,
  NewTool,
  NewToolRevision,
  readRevision,
} from "./body.ts";
import { isToolName, type ToolRevisionRow } from "./revision.ts";

const route = { scope: "agents", feature: "http_tools" } as const;

export function openRegistrationRoutes(door: Door, around: ToolsAround, judges: Judges): void {
  openRegistration(door, around, judges);
  openRevision(door, around, judges);
  openSwitch(door, around, "disable");
  openSwitch(door, around, "enable");
}

/** agents.endpoints.tools.post_tools */
function openRegistration(door: Door, around: ToolsAround, judges: Judges): void {
  const { tools, catalog, clock, disk, settings } = around;
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
      if (account_id === null) throw refuse("permission_denied");
      const { name } = body;
      judgeName(name, isBuiltin);
      const host = await judgeRevision(body, account_id, judges);
      const revision = readRevision(body, { account_id, name, created_at: clock.now() });
      disk.require();
      const made = await tools.register(revision, host, settings().limits);
      return [201, showRevision(made)];
    },
  );
}

/** agents.endpoints.tools.p1 */
function openRevision(door: Door, around: ToolsAround, judges: Judges): void {
  const { tools, clock, disk, settings } = around;
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
        const host = await judgeRevision(body, account_id, judges);
        disk.require();
        const revision = readRevision(body, { account_id, name, created_at: clock.now() });
        return tools.revise(revision, host, settings().limits.stored_bytes);
      };
      return [201, showRevision(await forOwner(around, name, caller, revise))];
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

function openSwitch(door: Door, around: ToolsAround, verb: keyof typeof SWITCHES): void {
  const { tools, settings } = around;
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
      return [200, showRevision(await forOwner(around, name, caller, turn))];
    },
  );
}

/** What it makes of a tool of the caller's; refuses where there is none. */
async function forOwner(
  around: ToolsAround,
  name: string,
  { account_id }: Caller,
  work: (account_id: string) => Promise<ToolRevisionRow | undefined>,
): Promise<ToolRevisionRow> {
  const done = account_id === null || !isToolName(name) ? undefined : await work(account_id);
  if (!done) throw refuseTool(around, name);
  return done;
}
