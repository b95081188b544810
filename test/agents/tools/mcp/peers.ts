// MCP servers of the official SDKs on loopback, each with the same tools.
import { Server as SessionServer } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  ResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler, Server as StatelessServer } from "@modelcontextprotocol/server";
import type { Json } from "../../../spec/agents/service.ts";

export interface ListedTool {
  name: string;
  [field: string]: unknown;
}

/** What a tool is asked with, and how the request arrived. */
export interface PeerCall {
  name: string;
  arguments: Json;
  meta: Json;
  /** Aborts when the client gives the call up. */
  signal: AbortSignal;
  notify(method: string): Promise<void>;
  /** Asks the client for something. */
  ask(method: string, params: Json): Promise<Json>;
}

export interface PeerBehaviour {
  tools: ListedTool[];
  call?(call: PeerCall): Json | Promise<Json>;
  /** Tools of one page. */
  page?: number;
  /** Answers 401 to such a request. */
  refuses?(request: Request): boolean;
}

export interface Peer {
  url: string;
  host: string;
  /** Method and headers of every HTTP request, in order. */
  requests: { method: string; headers: Record<string, string>; body: Json }[];
  calls: Pick<PeerCall, "name" | "arguments" | "meta">[];
  behaviour: PeerBehaviour;
  [Symbol.dispose](): void;
}

export const ECHO: ListedTool = {
  name: "echo",
  description: "Says it again.",
  inputSchema: {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
  },
  annotations: { readOnlyHint: true },
};

type Answer = (request: Request) => Response | Promise<Response>;

/** Serves HTTP, and notes what arrives. */
function listen(behaviour: PeerBehaviour, answer: (peer: Peer) => Answer): Peer {
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    async fetch(request) {
      const text = await request.clone().text();
      const body = text === "" ? null : JSON.parse(text);
      const { method, headers } = request;
      peer.requests.push({ method, headers: Object.fromEntries(headers), body });
      if (behaviour.refuses?.(request)) return new Response("no", { status: 401 });
      return reply(request);
    },
  });
  const { host, origin } = server.url;
  const peer: Peer = {
    ...{ url: `${origin}/mcp`, host, requests: [], calls: [], behaviour },
    [Symbol.dispose]: () => void server.stop(true),
  };
  const reply = answer(peer);
  return peer;
}

function listTools({ behaviour: { tools, page = tools.length } }: Peer, cursor?: string) {
  const from = Number(cursor ?? 0);
  const next = from + page < tools.length ? { nextCursor: String(from + page) } : {};
  return { tools: tools.slice(from, from + page), ...next } as never;
}

async function callTool(peer: Peer, call: PeerCall): Promise<never> {
  const { name, arguments: args, meta } = call;
  peer.calls.push({ name, arguments: args, meta });
  const echo = () => ({ content: [{ type: "text", text: String(args?.text) }] });
  return (await (peer.behaviour.call ?? echo)(call)) as never;
}

/** Revisions 2025-11-25 and 2025-06-18, by version 1 of the SDK, with sessions. */
export function openSessionPeer(
  behaviour: PeerBehaviour,
  { isJson = false }: { isJson?: boolean } = {},
): Peer {
  return listen(behaviour, (peer) => {
    const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
    return async (request) => {
      const known = transports.get(request.headers.get("mcp-session-id") ?? "");
      if (known) return known.handleRequest(request);
      if (request.headers.has("mcp-session-id")) return new Response("gone", { status: 404 });
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        enableJsonResponse: isJson,
        onsessioninitialized: (id) => void transports.set(id, transport),
        onsessionclosed: (id) => void transports.delete(id),
      });
      const info = { name: "peer", version: "1" };
      const server = new SessionServer(info, {
        capabilities: { tools: { listChanged: true }, logging: {} },
      });
      server.setRequestHandler(ListToolsRequestSchema, async ({ params }) =>
        listTools(peer, params?.cursor),
      );
      server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
        callTool(peer, {
          ...{ name: params.name, arguments: params.arguments, meta: params._meta },
          signal: extra.signal,
          notify: (method) => extra.sendNotification({ method } as never),
          ask: (method, asked) =>
            extra.sendRequest({ method, params: asked } as never, ResultSchema),
        }),
      );
      await server.connect(transport);
      return transport.handleRequest(request);
    };
  });
}

/** Revision 2026-07-28, by version 2 of the SDK. */
export function openStatelessPeer(behaviour: PeerBehaviour): Peer {
  return listen(behaviour, (peer) => {
    const handler = createMcpHandler(
      () => {
        const info = { name: "peer", version: "2" };
        const server = new StatelessServer(info, { capabilities: { tools: {}, logging: {} } });
        server.setRequestHandler("tools/list", async ({ params }) =>
          listTools(peer, params?.cursor),
        );
        server.setRequestHandler("tools/call", async ({ params }, context) =>
          callTool(peer, {
            ...{ name: params.name, arguments: params.arguments, meta: params._meta },
            signal: context.mcpReq.signal,
            notify: (method) => context.mcpReq.notify({ method } as never),
            ask: () => Promise.reject(new Error("A stateless server cannot ask.")),
          }),
        );
        return server;
      },
      { legacy: "reject" },
    );
    return (request) => handler.fetch(request);
  });
}
