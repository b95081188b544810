// The routes of MCP servers, and those by which the owner judges their tools.
import { accountOf, type Caller } from "../../../access/index.ts";
import { IdParams, type Router } from "../../../http/index.ts";
import { ConcurrencyLimit } from "../../../platform/concurrency-limit.ts";
import { apiError } from "../../../platform/errors.ts";
import { show } from "../../../platform/schema.ts";
import { forOwner } from "../http/routes.ts";
import { ToolRevision } from "../revision.ts";
import { NameParams, showRevision, type ToolsDeps, toolError } from "../routes.ts";
import { NewMcpServer, ToolAcceptance, ToolPatch } from "./input.ts";
import { McpServer, McpServerList, type McpServerRow, McpTool, McpToolList } from "./server.ts";
import type { McpServers } from "./servers.ts";

const PATH = "/v1/mcp/servers";
const ONE = `${PATH}/:id` as const;
const route = { scope: "agents", feature: "mcp" } as const;
const shown = { description: "With what is known of it.", schema: McpServer };
/** Maximum servers of an account that are read at once. */
const READS_AT_ONCE = 4;
const BUSY_RETRY_S = "1";

export function openMcpRoutes(router: Router, servers: McpServers, deps: ToolsDeps): void {
  const reads = new ConcurrencyLimit(READS_AT_ONCE);
  const readOnce = async <T>(account_id: string, read: () => Promise<T>): Promise<T> => {
    const release = reads.take(account_id);
    if (!release) throw busyError();
    try {
      return await read();
    } finally {
      release();
    }
  };
  openCreation(router, servers, deps, readOnce);
  openReads(router, servers);
  openChanges(router, servers, deps, readOnce);
  openJudgements(router, deps);
}

type ReadOnce = <T>(account_id: string, read: () => Promise<T>) => Promise<T>;

function openCreation(
  router: Router,
  servers: McpServers,
  { disk }: ToolsDeps,
  readOnce: ReadOnce,
): void {
  router.post(
    PATH,
    {
      ...route,
      summary: "Register an MCP server",
      description:
        "Its tools are read at once, and can be used by new versions of agents. A server that " +
        "cannot be read has a `problem`, and is read again. Every call waits for an approval " +
        "until you lower the risk of its tool. A connection without hosts is bound to the " +
        "server's.",
      body: NewMcpServer,
      isSlow: true,
      replies: { 201: { ...shown, description: "With its tools, or a `problem`." } },
      refusals: [
        "invalid_request",
        "url_refused",
        "connection_not_found",
        "mcp_server_exists",
        "mcp_server_limit_reached",
      ],
    },
    async ({ body, caller: { account_id } }) => {
      // agents.errors.permission_denied: a key without an account owns no servers.
      if (account_id === null) throw apiError("permission_denied");
      disk.require();
      const made = await readOnce(account_id, () => servers.create(account_id, body));
      return [201, show(McpServer, made)];
    },
  );
}

async function requireServer(
  { store }: McpServers,
  id: string,
  caller: Caller,
): Promise<McpServerRow> {
  const found = await store.find(id, accountOf(caller));
  if (!found) throw apiError("mcp_server_not_found");
  return found;
}

function openReads(router: Router, servers: McpServers): void {
  router.get(
    PATH,
    {
      summary: "List MCP servers",
      scope: "agents",
      replies: { 200: { description: "Every server of the account.", schema: McpServerList } },
      refusals: [],
    },
    async ({ caller }) => {
      const found = await servers.store.list(accountOf(caller));
      return [200, { data: found.map((row) => show(McpServer, row)) }];
    },
  );
  router.get(
    ONE,
    {
      summary: "Read an MCP server",
      scope: "agents",
      params: IdParams,
      replies: { 200: shown },
      refusals: ["mcp_server_not_found"],
    },
    async ({ params, caller }) => [
      200,
      show(McpServer, await requireServer(servers, params.id, caller)),
    ],
  );
  router.get(
    `${ONE}/tools`,
    {
      summary: "List the tools of an MCP server",
      description: "With what changed since you accepted them, and what the server claims of them.",
      scope: "agents",
      params: IdParams,
      replies: { 200: { description: "Its tools.", schema: McpToolList } },
      refusals: ["mcp_server_not_found"],
    },
    async ({ params, caller }) => {
      const { id, account_id } = await requireServer(servers, params.id, caller);
      const found = await servers.listTools(id, account_id);
      return [200, { data: found.map((tool) => show(McpTool, tool)) }];
    },
  );
}

function openChanges(
  router: Router,
  servers: McpServers,
  { clock, disk }: ToolsDeps,
  readOnce: ReadOnce,
): void {
  router.post(
    `${ONE}/refresh`,
    {
      ...route,
      summary: "Read the tools of an MCP server again",
      description:
        "It also happens once an hour. A tool that has changed is not called before you accept " +
        "its new revision. A server that cannot be read keeps its tools, with `problem` set.",
      params: IdParams,
      isSlow: true,
      replies: { 200: shown },
      refusals: ["mcp_server_not_found"],
    },
    async ({ params, caller }) => {
      const row = await requireServer(servers, params.id, caller);
      disk.require();
      const read = await readOnce(row.account_id, () => servers.refresh(row));
      if (!read) throw apiError("mcp_server_not_found");
      return [200, show(McpServer, read)];
    },
  );
  router.delete(
    ONE,
    {
      summary: "Delete an MCP server",
      description: "No run calls its tools any more; their names stay taken.",
      scope: "agents",
      params: IdParams,
      replies: { 204: { description: "It is gone." } },
      refusals: ["mcp_server_not_found"],
    },
    async ({ params, caller }) => {
      const isGone = await servers.store.remove(params.id, accountOf(caller), clock.now());
      if (!isGone) throw apiError("mcp_server_not_found");
      return [204, null];
    },
  );
}

function openJudgements(router: Router, deps: ToolsDeps): void {
  const { tools, clock, disk, settings } = deps;
  const reply = { 200: { description: "Its latest revision.", schema: ToolRevision } };
  const requireListed = async (name: string, caller: Caller) => {
    const find = (account_id: string) => tools.find(account_id, name);
    if (!(await forOwner(deps, name, caller, find)).mcp) throw toolError(deps, name);
  };
  router.post(
    "/v1/tools/:name/accept",
    {
      ...route,
      summary: "Accept a changed tool of an MCP server",
      description: "Its calls are sent again, those of versions with an earlier revision too.",
      params: NameParams,
      body: ToolAcceptance,
      replies: reply,
      refusals: ["invalid_request", "tool_not_found", "tool_changed"],
    },
    async ({ params: { name }, body, caller }) => {
      await requireListed(name, caller);
      const accept = (account_id: string) => tools.accept(account_id, name, body.revision);
      return [200, showRevision(await forOwner(deps, name, caller, accept))];
    },
  );
  router.patch(
    "/v1/tools/:name",
    {
      ...route,
      summary: "Set the risk of a tool of an MCP server",
      description: "Makes a new revision, which versions pin that name the tool from now on.",
      params: NameParams,
      body: ToolPatch,
      replies: reply,
      refusals: [
        ...(["invalid_request", "tool_not_found", "tool_changed"] as const),
        ...(["tool_limit_reached", "storage_limit_reached"] as const),
      ],
    },
    async ({ params: { name }, body: { risk }, caller }) => {
      await requireListed(name, caller);
      disk.require();
      const set = (account_id: string) => {
        const change = { account_id, name, risk, now: clock.now() };
        return tools.setRisk(change, settings().limits.stored_bytes);
      };
      return [200, showRevision(await forOwner(deps, name, caller, set))];
    },
  );
}

function busyError() {
  const message = `At most ${READS_AT_ONCE} MCP servers of an account are read at once.`;
  return apiError("rate_limit_exceeded", { message, headers: { "retry-after": BUSY_RETRY_S } });
}
