// An app whose agents are tools of MCP, and requests to it as clients of each revision send them.
import { expect } from "bun:test";
import { startAsking } from "../../spec/agents/approvals-front.ts";
import type { Json, RunsFront } from "../../spec/agents/runs-front.ts";
import type { AskOptions, TestAppOptions } from "../../support/app.ts";

const META = "io.modelcontextprotocol/";
export const TASKS = { extensions: { [`${META}tasks`]: {} } };

export interface McpFront extends RunsFront {
  asking: Json;
  /** Sends a request as a client of the stateless revision does. */
  send(method: string, params?: Json, capabilities?: object, more?: AskOptions): Promise<Reply>;
  /** Sends one as a client with a handshake does. */
  sendOld(method: string, params?: Json, more?: AskOptions): Promise<Reply>;
}

export interface Reply {
  status: number;
  /** Messages in the order of the stream; of JSON the only one. */
  messages: Json[];
  result: Json;
  error: Json;
}

/** Two agents are exposed: `free`, and `asking`, whose calculator waits for a person. */
export async function startMcp(options: TestAppOptions = {}): Promise<McpFront> {
  const env = { WADI_AGENTS__MCP_SERVER: "true", ...options.env };
  const front = await startAsking({}, { ...options, env });
  const expose = (id: string, slug: string) =>
    front.ask("PATCH", `/v1/agents/${id}`, { body: { expose: true, slug } });
  await expose(front.agent.id, "free");
  await expose(front.asking.id, "asking");
  const post = async (body: Json, headers: Record<string, string>, more: AskOptions) => {
    const all = { "content-type": "application/json", ...headers, ...more.headers };
    return readReply(await front.post("/mcp", body, { ...more, headers: all }));
  };
  return {
    ...front,
    send: (method, params = {}, capabilities = {}, more = {}) => {
      const name = params.name ?? params.taskId;
      const headers = {
        ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": method },
        ...(name && { "mcp-name": name }),
      };
      return post(makeStateless(method, params, capabilities), headers, more);
    },
    sendOld: (method, params = {}, more = {}) => {
      const headers = { "mcp-protocol-version": "2025-11-25" };
      return post({ jsonrpc: "2.0", id: 7, method, params }, headers, more);
    },
  };
}

export function makeStateless(method: string, params: Json = {}, capabilities: object = {}): Json {
  const _meta = {
    [`${META}protocolVersion`]: "2026-07-28",
    [`${META}clientInfo`]: { name: "test", version: "1" },
    [`${META}clientCapabilities`]: capabilities,
    ...params._meta,
  };
  return { jsonrpc: "2.0", id: "one", method, params: { ...params, _meta } };
}

/** Asks for a run until its end; resolves as soon as the server waits for it, too. */
export function beginWait(
  front: McpFront,
  run_id: string,
  more: AskOptions = {},
): Promise<Response> {
  const params = {
    ...{ name: "get_run", arguments: { run_id, wait_seconds: 50 } },
    _meta: { progressToken: 1 },
  };
  return front.post("/mcp", { jsonrpc: "2.0", id: 7, method: "tools/call", params }, more);
}

export async function readReply(response: Response): Promise<Reply> {
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const parts = isStream ? text.split("\n\n").filter((part) => part.startsWith("data: ")) : [text];
  const messages = parts
    .filter((part) => part !== "")
    .map((part) => JSON.parse(part.replace(/^data: /, "")) as Json);
  const { result, error } = messages.at(-1) ?? {};
  return { status: response.status, messages, result, error };
}

export const textOf = (result: Json): string => result.content[0].text;

/** Starts a task, and returns its id. */
export async function startTask(front: McpFront, name: string, message: string): Promise<string> {
  const { result } = await front.send("tools/call", { name, arguments: { message } }, TASKS);
  expect(result).toMatchObject({ resultType: "task", status: "working" });
  return result.taskId;
}

/** Polls a task until its status is that. */
export async function pollTask(front: McpFront, taskId: string, status: string): Promise<Json> {
  for (;;) {
    const { result } = await front.send("tasks/get", { taskId }, TASKS);
    if (result.status === status) return result;
    await front.clock.advance(0);
  }
}
