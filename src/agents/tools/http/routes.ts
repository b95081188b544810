// The routes that change tools of an account: register, revise, switch and test them.
import { Type } from "@sinclair/typebox";
import { accountOf, type Caller, requireScope } from "../../../access/index.ts";
import type { Router } from "../../../http/index.ts";
import { ConcurrencyLimit } from "../../../platform/concurrency-limit.ts";
import { apiError } from "../../../platform/errors.ts";
import { NO_ID } from "../../../platform/ids.ts";
import { show } from "../../../platform/schema.ts";
import { shorten, writeOneLine } from "../../../platform/text.ts";
import { createArgumentsCheck } from "../arguments.ts";
import type { Tool, ToolUse } from "../contract.ts";
import { cutOutput } from "../output.ts";
import { isToolName, ToolRevision, type ToolRevisionRow, ToolTrial } from "../revision.ts";
import { findOwn, NameParams, showRevision, type ToolsDeps, toolError } from "../routes.ts";
import {
  type InputChecks,
  NewTool,
  NewToolRevision,
  readRevision,
  validateRevision,
  validateToolName,
} from "./input.ts";

const route = { scope: "agents", feature: "http_tools" } as const;

export function openRegistrationRoutes(router: Router, deps: ToolsDeps, checks: InputChecks): void {
  openRegistration(router, deps, checks);
  openRevision(router, deps, checks);
  openSwitch(router, deps, "disable");
  openSwitch(router, deps, "enable");
}

/** agents.endpoints.tools.post_tools */
function openRegistration(router: Router, deps: ToolsDeps, checks: InputChecks): void {
  const { tools, catalog, clock, disk, settings } = deps;
  const isBuiltin = (name: string) => catalog.find(name) !== undefined;
  router.post(
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
        "invalid_request",
        "url_refused",
        "connection_not_found",
        "tool_exists",
        "tool_limit_reached",
        "storage_limit_reached",
      ],
    },
    async ({ body, caller: { account_id } }) => {
      // agents.errors.permission_denied: a key without an account owns no tools.
      if (account_id === null) throw apiError("permission_denied");
      const { name } = body;
      validateToolName(name, isBuiltin);
      const host = await validateRevision(body, account_id, checks);
      const revision = readRevision(body, { account_id, name, created_at: clock.now() });
      disk.require();
      const made = await tools.register(revision, host, settings().limits);
      return [201, showRevision(made)];
    },
  );
}

/** agents.endpoints.tools.p1 */
function openRevision(router: Router, deps: ToolsDeps, checks: InputChecks): void {
  const { tools, clock, disk, settings } = deps;
  router.post(
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
        "invalid_request",
        "url_refused",
        "tool_not_found",
        "connection_not_found",
        "tool_limit_reached",
        "storage_limit_reached",
      ],
    },
    async ({ params: { name }, body, caller }) => {
      const revise = async (account_id: string) => {
        // A missing tool is reported before invalid fields.
        const found = await tools.find(account_id, name);
        if (!found) return undefined;
        if (found.mcp) throw listedError(name);
        const host = await validateRevision(body, account_id, checks);
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

function openSwitch(router: Router, deps: ToolsDeps, verb: keyof typeof SWITCHES): void {
  const { tools, settings } = deps;
  router.post(
    `/v1/tools/:name/${verb}`,
    {
      ...route,
      ...SWITCHES[verb],
      params: NameParams,
      replies: { 200: { description: "Its latest revision.", schema: ToolRevision } },
      refusals: verb === "enable" ? ["tool_not_found", "tool_limit_reached"] : ["tool_not_found"],
    },
    async ({ params: { name }, caller }) => {
      const setStatus = (account_id: string) =>
        verb === "enable"
          ? tools.enable(account_id, name, settings().limits.tools)
          : tools.disable(account_id, name);
      return [200, showRevision(await forOwner(deps, name, caller, setStatus))];
    },
  );
}

export async function forOwner(
  deps: ToolsDeps,
  name: string,
  caller: Caller,
  work: (account_id: string) => Promise<ToolRevisionRow | undefined>,
): Promise<ToolRevisionRow> {
  const row = isToolName(name) ? await work(accountOf(caller)) : undefined;
  if (!row) throw toolError(deps, name);
  return row;
}

/** Maximum concurrent tests of an account; each may take as long as its tool. */
const TRIALS_AT_ONCE = 8;
const BUSY_RETRY_S = "1";
const FAULT_CHARACTERS_MAX = 200;

const Trial = Type.Object(
  {
    arguments: Type.Unsafe<Record<string, unknown>>(
      Type.Object({}, { description: "What a model would send, valid by the tool's parameters." }),
    ),
  },
  {
    additionalProperties: false,
    $id: "NewToolTrial",
    description: "One call of a tool.",
    examples: [{ arguments: { to: "Ada", text: "Hello." } }],
  },
);

export function openTrialRoute(
  router: Router,
  deps: ToolsDeps,
  createTool: (revision: ToolRevisionRow) => Tool,
): void {
  const trials = new ConcurrencyLimit(TRIALS_AT_ONCE);
  const checkArguments = createArgumentsCheck(deps.compute);
  router.post(
    "/v1/tools/:name/test",
    {
      summary: "Test a tool",
      description:
        "Calls its latest revision once, as a run would, without asking anybody: so it needs the " +
        "scope `agents.approve` as well. It counts as no run and costs nothing.",
      scope: "agents",
      feature: "http_tools",
      params: NameParams,
      // agents.authentication.2: a scope never includes another.
      async authorize({ caller }) {
        requireScope(caller, "agents.approve");
      },
      body: Trial,
      isSlow: true,
      replies: { 200: { description: "What became of the call.", schema: ToolTrial } },
      refusals: ["invalid_request", "tool_not_found", "scope_required", "tool_changed"],
    },
    async ({ params: { name }, body, caller, request, requestId }) => {
      const found = await findOwn(deps, name, caller);
      if (!found) throw toolError(deps, name);
      await requireCallable(deps, found);
      const tool = createTool(found);
      const { account_id } = found;
      const { signal } = request;
      const text = JSON.stringify(body.arguments);
      const checked = await checkArguments(tool.parameters, text, { account: account_id, signal });
      if (!checked.ok) throw argumentsError(checked.faults);
      const release = trials.take(account_id);
      if (!release) throw busyError();
      const use = { account_id, caller, request_id: requestId, arguments: checked.value, signal };
      try {
        return [200, await runTrial(deps, tool, use)];
      } finally {
        release();
      }
    },
  );
}

async function runTrial(
  { clock, ids }: Pick<ToolsDeps, "clock" | "ids">,
  tool: Tool,
  use: Pick<ToolUse, "account_id" | "caller" | "request_id" | "arguments" | "signal">,
) {
  const startMs = clock.monotonic();
  const result = await tool.run({
    ...use,
    agent_id: NO_ID,
    run: null,
    tool_call_id: `call_${ids.token(24)}`,
    readOutput: async () => undefined,
    hasExternal: false,
    isKnownAddress: async () => false,
    now: clock.now,
  });
  const { shown, truncated } = cutOutput(result.content, null);
  return show(ToolTrial, {
    outcome: result.outcome,
    content: shown,
    truncated,
    http_status: result.http_status ?? null,
    duration_ms: Math.round(clock.monotonic() - startMs),
    external: result.external,
  });
}

function busyError() {
  const message = `At most ${TRIALS_AT_ONCE} tests of an account run at once.`;
  return apiError("rate_limit_exceeded", { message, headers: { "retry-after": BUSY_RETRY_S } });
}

function disabledError(name: string) {
  const message = `The tool \`${name}\` is switched off: enable it first.`;
  return apiError("invalid_request", { param: "name", message });
}

async function requireCallable(
  { tools, settings }: Pick<ToolsDeps, "tools" | "settings">,
  { account_id, name, status, mcp }: ToolRevisionRow,
): Promise<void> {
  if (status === "disabled") throw disabledError(name);
  if (mcp === null) return;
  // agents.errors.not_enabled
  if (!settings().agents.mcp) throw apiError("not_enabled");
  const [standing] = await tools.listStandings(account_id, [name]);
  if (standing?.is_changed) throw apiError("tool_changed", { param: "name" });
}

function listedError(name: string) {
  const message = `\`${name}\` is a tool of an MCP server, which alone describes it.`;
  return apiError("invalid_request", { param: "name", message });
}

function argumentsError(faults: readonly string[]) {
  const fault = writeOneLine(shorten(faults[0]!, FAULT_CHARACTERS_MAX)).replace(/\.$/, "");
  const message = `The arguments do not fit the tool's parameters (${fault}).`;
  return apiError("invalid_request", { param: "arguments", message });
}
