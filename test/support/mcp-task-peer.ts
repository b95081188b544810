// An MCP server of revision 2026-07-28 on loopback, whose calls become tasks. What it is asked, and
// what it answers by itself, is checked by the published schemas.
import {
  isCancelTaskRequestV2,
  isCreateTaskResultV2,
  isDetailedTaskV2,
  isGetTaskRequestV2,
  isUpdateTaskRequestV2,
} from "@modelcontextprotocol/ext-tasks/core/v2";

// biome-ignore lint/suspicious/noExplicitAny: messages of every shape.
type Json = any;

const REVISION = "2026-07-28";
const META = "io.modelcontextprotocol/";
const AT = "2026-11-28T00:00:00Z";
const TASK = { createdAt: AT, lastUpdatedAt: AT, ttlMs: null };
const ASKS: Record<string, (value: unknown) => boolean> = {
  "tasks/get": isGetTaskRequestV2,
  "tasks/update": isUpdateTaskRequestV2,
  "tasks/cancel": isCancelTaskRequestV2,
};

export interface TaskPeer {
  url: string;
  host: string;
  /** Methods about tasks, in order, each with its task. */
  asked: string[];
  calls: Json[];
  updates: Json[];
  /** Where each task stands; answers of a function are not checked, null: none. */
  state: Json | ((taskId: string) => Json);
  /** Fields of the answer by which a call becomes a task. */
  begin: Json;
  /** Resolves once that method has been asked so often. */
  came(method: string, count?: number): Promise<void>;
  [Symbol.dispose](): void;
}

export const working = { status: "working", pollIntervalMs: 1_000 };
export const completed = (text: string) => ({
  status: "completed",
  result: { content: [{ type: "text", text }] },
});

export function openTaskPeer(state: TaskPeer["state"] = working): TaskPeer {
  const waiting = new Set<() => void>();
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    async fetch(request) {
      const message = (await request.json()) as Json;
      const result = answer(message, request.headers);
      for (const look of waiting) look();
      if (result === null) return new Response("away", { status: 503 });
      return Response.json({ jsonrpc: "2.0", id: message.id, ...result });
    },
  });
  const methods = () => ["tools/call", ...peer.asked.map((one) => one.split(" ")[0]!)];
  const count = (method: string) =>
    method === "tools/call" ? peer.calls.length : methods().filter((one) => one === method).length;
  const peer: TaskPeer = {
    ...{ url: `${server.url.origin}/mcp`, host: server.url.host, state },
    ...{ asked: [], calls: [], updates: [], begin: {} },
    came: (method, times = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (count(method) >= times && waiting.delete(look)) resolve();
        };
        waiting.add(look);
        look();
      }),
    [Symbol.dispose]: () => void server.stop(true),
  };

  function answer(message: Json, headers: Headers): Json {
    const { method, params } = message;
    if (method === "server/discover") return { result: { supportedVersions: [REVISION] } };
    if (method === "tools/list") {
      const pay = { name: "pay", description: "Pays.", inputSchema: { type: "object" } };
      return { result: { tools: [pay] } };
    }
    if (method === "tools/call") return { result: beginTask(params) };
    const isKnown = ASKS[method]?.(message) && headers.get("mcp-name") === params.taskId;
    if (!isKnown) return { error: { code: -32_600, message: "Not of the schema." } };
    peer.asked.push(`${method} ${params.taskId}`);
    if (method === "tasks/update") peer.updates.push(params.inputResponses);
    if (method !== "tasks/get") return { result: { resultType: "complete" } };
    if (typeof peer.state === "function") return peer.state(params.taskId);
    const task = { ...TASK, taskId: params.taskId, ...peer.state };
    if (!isDetailedTaskV2(task)) throw new Error("the peer's task is not of the schema");
    return { result: { resultType: "complete", ...task } };
  }

  function beginTask(params: Json): Json {
    const { extensions } = params._meta[`${META}clientCapabilities`];
    if (!(`${META}tasks` in extensions)) throw new Error("the client takes no tasks");
    peer.calls.push(params);
    const task = { ...TASK, taskId: `task-${peer.calls.length}`, status: "working" };
    const result = { resultType: "task", ...task, ...peer.begin };
    if (Object.keys(peer.begin).length === 0 && !isCreateTaskResultV2(result)) {
      throw new Error("the peer's answer is not of the schema");
    }
    return result;
  }
  return peer;
}
