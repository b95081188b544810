// A tool of one revision, and an endpoint on loopback that counts what it receives.

import type { OpenCredentials } from "../../../../src/agents/tools/connections/connections.ts";
import type { ToolResult, ToolUse } from "../../../../src/agents/tools/contract.ts";
import { createHttpTool } from "../../../../src/agents/tools/http/endpoint.ts";
import type { StoredRevision } from "../../../../src/agents/tools/revision.ts";
import { dial } from "../../../../src/net/http-dial.ts";
import { guard } from "../../../net/guard.ts";
import type { ManualClock } from "../../../support/clock.ts";
import { createUse, NOW } from "../use.ts";

export const SECRET = "sk_canary_1f9d/a+b=c&d%20e";

export interface Received {
  path: string;
  method: string;
  headers: Record<string, string>;
  body: string;
}

export interface Receiver {
  origin: string;
  /** The host with its port. */
  host: string;
  received: Received[];
  [Symbol.dispose](): void;
}

/** Answers each request by `answer`; by default echoes it. */
export function openReceiver(
  answer: (request: Received) => Response | Promise<Response> = ({ body }) =>
    new Response(body, { headers: { "content-type": "application/json" } }),
): Receiver {
  const received: Received[] = [];
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const one = {
        ...{ path: pathname + search, method: request.method, body: await request.text() },
        headers: Object.fromEntries(request.headers),
      };
      received.push(one);
      return answer(one);
    },
  });
  return {
    origin: server.url.origin,
    host: server.url.host,
    received,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

export interface CallOptions {
  revision?: Partial<StoredRevision>;
  /** null means no connection; by default a bearer connection with the canary. */
  connection?: OpenCredentials | null;
  arguments?: Record<string, unknown>;
  use?: Partial<ToolUse>;
  /** The clock of time-outs; by default it stands still. */
  clock?: ManualClock;
  /** Called when the head of a reply arrives. */
  onHead?(): void;
}

export const bearer: OpenCredentials = async () => ({
  ok: true,
  connection: { kind: "bearer", header_name: null, secret: SECRET },
});

/** Registers a tool for an endpoint; by default a write that carries the canary. */
export function createTool(endpoint: string, options: CallOptions = {}) {
  const { revision, connection = bearer, clock, onHead } = options;
  const stored: StoredRevision = {
    ...{ account_id: "a-1", name: "send", revision: 3, risk: "write", title: null },
    ...{ description: "Sends.", parameters: { type: "object" }, endpoint },
    ...{ connection_id: connection && "c-1", timeout_ms: 30_000 },
    ...{ external_content: true, idempotent: false, created_at: NOW, mcp: null },
    ...revision,
  };
  const egress = guard(["127.0.0.1:*"], { ...(clock && { clock }), dial: overhear(onHead) });
  return createHttpTool(stored, { egress, openConnection: connection ?? bearer });
}

/** Dials, and reports the heads of replies. */
function overhear(onHead: CallOptions["onHead"]): typeof dial {
  return (target, options) =>
    dial(target, {
      ...options,
      onOpen(made) {
        const send = made.send.bind(made);
        made.send = (request, listener) => {
          const hear = listener.onHead.bind(listener);
          listener.onHead = (head) => {
            hear(head);
            onHead?.();
          };
          send(request, listener);
        };
        options.onOpen(made);
      },
    });
}

export function call(endpoint: string, options: CallOptions = {}): Promise<ToolResult> {
  const { arguments: sent = { to: "ä" }, use } = options;
  return createTool(endpoint, options).run(createUse(sent, use));
}
