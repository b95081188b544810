// POST /mcp: agents as tools of the Model Context Protocol, without sessions.
import { Type } from "@sinclair/typebox";
import {
  type HandlerReply,
  isLocalName,
  type OwnAddresses,
  type Router,
  readUuid,
  requireOwnClient,
  type StaticPage,
} from "../../http/index.ts";
import { ApiError, apiError } from "../../platform/errors.ts";
import type { Settings } from "../../settings/index.ts";
import { hasEnded } from "../runs/waits.ts";
import { SESSION_REVISIONS, STATELESS_REVISION } from "../tools/mcp/messages.ts";
import { META, TASKS } from "../tools/mcp/wire.ts";
import { createCalls, type McpCalls } from "./calls.ts";
import type { McpCallsDeps, McpExchange } from "./exchange.ts";
import { type McpCall, McpFault, NEWEST_HANDSHAKE, readCall, readForm } from "./protocol.ts";
import { describeAgent, describeRead, errorResultOf, listReads, requireText } from "./tools.ts";
import { completed, detailedTask, runResult, taskOf } from "./views.ts";

const PATH = "/mcp";
const METADATA = "/.well-known/oauth-protected-resource";
const AGENTS_AT_ONCE = 100;
const RESULT_WAIT_MS = 600_000;
const SERVER = { name: "wadi", title: "Wadi", version: "1" };
const INSTRUCTIONS =
  "Each agent is a tool whose call starts a durable run: it goes on when you leave, and get_run " +
  "reads its result. A call that waits for approval is decided by a person at the address given, " +
  "never by you.";

/** Checked by hand, as faults are answered in the protocol's own form. */
const McpMessage = Type.Unknown({
  $id: "McpMessage",
  description: "One request or notification of JSON-RPC 2.0; batches are refused.",
  examples: [{ jsonrpc: "2.0", id: 1, method: "tools/list" }],
});
const McpAnswer = Type.Object(
  {
    jsonrpc: Type.Literal("2.0", { description: "Always `2.0`." }),
    id: Type.Optional(Type.Unknown({ description: "Id of the request." })),
    result: Type.Optional(Type.Unknown({ description: "As the protocol says for the method." })),
    error: Type.Optional(Type.Unknown({ description: "A code and a message of JSON-RPC." })),
  },
  { $id: "McpAnswer", description: "An answer of JSON-RPC 2.0, or a notification of progress." },
);

export function openMcpEndpoint(router: Router, deps: McpCallsDeps): void {
  const calls = createCalls(deps);
  const { settings } = deps;
  router.post(
    PATH,
    {
      summary: "Use agents as tools of MCP",
      description:
        "The Model Context Protocol over Streamable HTTP, in revisions " +
        `${[STATELESS_REVISION, ...SESSION_REVISIONS].join(", ")}. ` +
        "404 unless `agents.mcp_server` is set.",
      scope: "agents",
      dialect: "mcp",
      isOpen: () => settings().agents.mcp_server,
      challenge: (request) =>
        `Bearer resource_metadata="${originOf(request, settings())}${METADATA}${PATH}"`,
      body: McpMessage,
      replies: {
        200: {
          description: "The answer; a call that waits for a run is a stream that ends with it.",
          schema: McpAnswer,
          stream: McpAnswer,
        },
        202: { description: "A notification has arrived." },
      },
      refusals: ["too_many_streams"],
    },
    async ({ caller, request, requestId, body }) => {
      const origin = requireOwnClient(
        request,
        ownAddresses(settings()),
        settings().server.cors_origins,
      );
      const consoleUrl = findConsole(settings(), origin);
      return answer(calls, body, { caller, request, requestId, consoleUrl });
    },
  );
}

async function answer(
  calls: McpCalls,
  body: unknown,
  sent: Pick<McpExchange, "caller" | "request" | "requestId" | "consoleUrl">,
): Promise<HandlerReply> {
  let id: string | number | undefined;
  let isStateless = true;
  try {
    const call = readCall(body);
    const headers = { "x-request-id": sent.requestId };
    if (!call) return new Response(null, { status: 202, headers });
    id = call.id;
    const form = readForm(call, sent.request.headers);
    isStateless = form.isStateless;
    const wrap = (result: object) => ({
      jsonrpc: "2.0",
      id: call.id,
      result: sign(result, isStateless),
    });
    const write = (result: object) => JSON.stringify(wrap(result));
    const outcome = await perform(calls, { ...sent, call, form, write });
    return outcome instanceof Response ? outcome : [200, wrap(outcome)];
  } catch (failure) {
    if (!(failure instanceof McpFault)) throw failure;
    const { error } = failure;
    return [
      failure.statusFor(isStateless),
      { jsonrpc: "2.0", ...(id !== undefined && { id }), error },
    ];
  }
}

/** Results of the stateless revision name their kind and who made them. */
function sign(result: object, isStateless: boolean): object {
  if (!isStateless) return result;
  return { ...completed(result), _meta: { [`${META}serverInfo`]: SERVER } };
}

function perform(calls: McpCalls, exchange: McpExchange): Promise<object> | object {
  const { method } = exchange.call;
  const methods = exchange.form.isStateless ? STATELESS_METHODS : HANDSHAKE_METHODS;
  const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (!run) throw new McpFault("method", "There is no such method.");
  return run(calls, exchange);
}

type McpMethod = (calls: McpCalls, exchange: McpExchange) => Promise<object> | object;

/** The cursors of both lists; that of tools has a word in front, as any text could be a slug. */
const TOOLS_CURSOR = /^after:([a-z0-9-]{1,64})$/;
const TASKS_CURSOR = /^(\d{1,15})$/;

/** Reads where a page begins; null: it is the first one. */
function readCursor({ params: { cursor = null } }: McpCall, form: RegExp): string | null {
  if (cursor === null) return null;
  const found = typeof cursor === "string" ? form.exec(cursor)?.[1] : undefined;
  if (found !== undefined) return found;
  throw new McpFault("params", "`cursor` must be that of an earlier page.");
}

async function listTools({ listAgents }: McpCalls, { call, caller, form }: McpExchange) {
  const after = readCursor(call, TOOLS_CURSOR) ?? "";
  const found = await listAgents(caller, after, AGENTS_AT_ONCE + 1);
  const page = found.slice(0, AGENTS_AT_ONCE);
  const reads = after === "" ? listReads(caller.scopes).map(describeRead) : [];
  return {
    tools: [...reads, ...page.map((agent) => describeAgent(agent, form))],
    ...(found.length > AGENTS_AT_ONCE && { nextCursor: `after:${page.at(-1)!.slug}` }),
    ...(form.isStateless && { ttlMs: 0, cacheScope: "private" }),
  };
}

const callTool: McpMethod = (calls, exchange) => calls.call(exchange).catch(errorResultOf);

function taskId({ call, form }: McpExchange): string {
  if (form.isStateless && !form.hasTasks) {
    const requiredCapabilities = { extensions: { [TASKS]: {} } };
    throw new McpFault("capability", "The client must declare tasks.", { requiredCapabilities });
  }
  const id = readUuid(requireText(call.params.taskId, "taskId"));
  if (id === null) throw unknownTask();
  return id;
}

const unknownTask = () => new McpFault("params", "There is no such task.");

/** Tasks of others do not exist for a caller, like unknown ones. */
function onTask(
  act: (calls: McpCalls, exchange: McpExchange, id: string) => Promise<object>,
): McpMethod {
  return async (calls, exchange) => {
    try {
      return await act(calls, exchange, taskId(exchange));
    } catch (failure) {
      if (failure instanceof ApiError && failure.code === "run_not_found") throw unknownTask();
      throw failure;
    }
  };
}

const STATELESS_METHODS: Readonly<Record<string, McpMethod>> = {
  "server/discover": () => ({
    supportedVersions: [STATELESS_REVISION],
    capabilities: { tools: {}, extensions: { [TASKS]: {} } },
    instructions: INSTRUCTIONS,
    ...{ ttlMs: 0, cacheScope: "private" },
  }),
  "tools/list": listTools,
  "tools/call": callTool,
  "tasks/get": onTask(async (calls, exchange, id) =>
    detailedTask(await calls.see(id, exchange), calls.ttl(), exchange.form),
  ),
  // A person decides in the console: no answer of a client does.
  "tasks/update": onTask(async (calls, exchange, id) => {
    await calls.see(id, exchange);
    return {};
  }),
  "tasks/cancel": onTask(async (calls, exchange, id) => {
    await calls.cancel(id, exchange);
    return {};
  }),
};

const HANDSHAKE_METHODS: Readonly<Record<string, McpMethod>> = {
  initialize: (_, { call: { params } }) => {
    const revision =
      SESSION_REVISIONS.find((one) => one === params.protocolVersion) ?? NEWEST_HANDSHAKE;
    const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    return {
      protocolVersion: revision,
      capabilities: { tools: {}, ...(revision === NEWEST_HANDSHAKE && { tasks }) },
      serverInfo: SERVER,
      instructions: INSTRUCTIONS,
    };
  },
  ping: () => ({}),
  "tools/list": listTools,
  "tools/call": callTool,
  "tasks/get": onTask(async (calls, exchange, id) =>
    taskOf(await calls.see(id, exchange), calls.ttl(), exchange.form),
  ),
  "tasks/result": onTask(async (calls, exchange, id) => {
    const { run } = await calls.see(id, exchange);
    const _meta = { [`${META}related-task`]: { taskId: run.id } };
    const show = (seen: Parameters<typeof runResult>[0]) => ({ ...runResult(seen), _meta });
    return calls.wait(exchange, id, RESULT_WAIT_MS, hasEnded, show);
  }),
  "tasks/list": (calls, exchange) => {
    const before = readCursor(exchange.call, TASKS_CURSOR);
    return calls.listTasks(exchange, before === null ? null : Number(before));
  },
  "tasks/cancel": onTask(async (calls, exchange, id) =>
    taskOf(await calls.cancel(id, exchange), calls.ttl(), exchange.form),
  ),
};

function ownAddresses({ server, operator }: Settings): OwnAddresses {
  return {
    publicUrls: () => [server.public_url, operator.public_url],
    hosts: () => [server.host],
  };
}

/** Address at which clients find this server, for links to itself. */
function originOf(request: Request, { server }: Settings): string {
  const named = URL.parse(server.public_url)?.origin;
  if (named) return named;
  const { protocol, host } = new URL(request.url);
  return `${protocol}//${host}`;
}

/** People open the console at its public address; on this machine also at the server's own. */
function findConsole({ operator }: Settings, origin: string): string | null {
  if (!operator.enabled) return null;
  const named = URL.parse(operator.public_url)?.origin;
  if (named) return named;
  return operator.listen === "" && isLocalName(new URL(origin).hostname) ? origin : null;
}

/** Needs no key: how one is sent, and that there is no stream to open, nor a session to end. */
export function createMcpPages({ settings }: Pick<McpCallsDeps, "settings">): StaticPage[] {
  const requireOpen = () => {
    if (!settings().agents.mcp_server) throw apiError("not_found");
  };
  const describe = (request: Request) => {
    requireOpen();
    const origin = originOf(request, settings());
    return Response.json({
      resource: `${origin}${PATH}`,
      resource_name: "Wadi",
      bearer_methods_supported: ["header"],
      scopes_supported: ["agents"],
      resource_documentation: `${origin}/docs/mcp-server`,
    });
  };
  const refuse = () => {
    requireOpen();
    return new Response(null, { status: 405, headers: { allow: "POST" } });
  };
  return [
    { path: METADATA, answer: describe },
    { path: `${METADATA}${PATH}`, answer: describe },
    { path: PATH, answer: refuse },
    { path: PATH, method: "DELETE", answer: refuse },
  ];
}
