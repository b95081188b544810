// An MCP server of revision 2025-11-25 on loopback, by version 1 of the official SDK: its tool runs
// as a task only, and a task belongs to the session in which it began.
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";

// biome-ignore lint/suspicious/noExplicitAny: messages of every shape.
type Json = any;

export interface SessionTaskPeer {
  url: string;
  host: string;
  /** Ids of the tasks that calls became. */
  tasks: string[];
  /** Parameters of the calls. */
  calls: Json[];
  /** Methods about tasks, in order, each with its task. */
  asked: string[];
  /** Answers by method in place of the server's own; undefined: its own. */
  instead(message: Json): Json;
  end(status: "completed" | "failed", result: CallToolResult): Promise<void>;
  needInput(): Promise<void>;
  statusOf(task: string): Promise<string | undefined>;
  /** Resolves once that method has been asked so often. */
  came(method: string, count?: number): Promise<void>;
  [Symbol.dispose](): void;
}

export const says = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });

export function openSessionTaskPeer(taskSupport: "required" | "optional" = "required") {
  const store = new InMemoryTaskStore();
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const waiting = new Set<() => void>();
  const lookAgain = () => {
    for (const look of waiting) look();
  };
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    async fetch(request) {
      const text = await request.clone().text();
      const message: Json = text === "" ? {} : JSON.parse(text);
      const { id, method = "", params } = message;
      const instead = peer.instead(message);
      if (method === "tools/call") peer.calls.push(params);
      if (method.startsWith("tasks/")) peer.asked.push(`${method} ${params.taskId}`);
      const reply = instead
        ? Response.json({ jsonrpc: "2.0", id, ...instead })
        : await answer(request);
      lookAgain();
      return reply;
    },
  });

  async function answer(request: Request): Promise<Response> {
    const session = request.headers.get("mcp-session-id");
    const known = transports.get(session ?? "");
    if (known) return known.handleRequest(request);
    if (session !== null) return new Response("gone", { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    await openServer().connect(transport);
    return transport.handleRequest(request);
  }

  function openServer(): McpServer {
    const calls = { tools: { call: {} } };
    const capabilities = { tasks: { cancel: {}, list: {}, requests: calls } };
    const made = new McpServer({ name: "peer", version: "1" }, { capabilities, taskStore: store });
    const about = { description: "Pays.", execution: { taskSupport } };
    made.experimental.tasks.registerToolTask("pay", about, {
      async createTask({ taskStore, taskRequestedTtl }) {
        const task = await taskStore.createTask({ ttl: taskRequestedTtl });
        peer.tasks.push(task.taskId);
        lookAgain();
        return { task };
      },
      getTask: ({ taskStore, taskId }) => taskStore.getTask(taskId),
      getTaskResult: ({ taskStore, taskId }) =>
        taskStore.getTaskResult(taskId) as Promise<CallToolResult>,
    });
    return made;
  }

  const count = (method: string) =>
    method === "tools/call"
      ? peer.tasks.length
      : peer.asked.filter((one) => one.startsWith(method)).length;
  const peer: SessionTaskPeer = {
    ...{ url: `${server.url.origin}/mcp`, host: server.url.host, tasks: [], calls: [], asked: [] },
    instead: () => undefined,
    end: (status, result) => store.storeTaskResult(peer.tasks.at(-1)!, status, result),
    needInput: () => store.updateTaskStatus(peer.tasks.at(-1)!, "input_required"),
    statusOf: async (task) => (await store.getTask(task))?.status,
    came: (method, times = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (count(method) >= times && waiting.delete(look)) resolve();
        };
        waiting.add(look);
        look();
      }),
    [Symbol.dispose]: () => {
      store.cleanup();
      void server.stop(true);
    },
  };
  return peer;
}
