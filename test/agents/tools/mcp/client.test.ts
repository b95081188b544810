// Requests to MCP servers with sessions: what is refused, cancelled and sent again, and its time.
import { expect, test } from "bun:test";
import { McpClient } from "../../../../src/agents/tools/mcp/client.ts";
import type { McpTarget } from "../../../../src/agents/tools/mcp/wire.ts";
import { createManualClock } from "../../../support/clock.ts";

// biome-ignore lint/suspicious/noExplicitAny: messages of JSON-RPC.
type Json = any;
type ReadPiece = (bytes: Uint8Array, head: { header(name: string): string | null }) => boolean;

const TARGET: McpTarget = { session: "one", url: "https://far.example.com/mcp", connection: null };
const CALL = { method: "tools/call", params: { name: "t" }, timeoutMs: 60_000 } as const;

const reply = (value: object | null, status = 200) => ({
  ...{ ok: true, status, truncated: false },
  headers: new Headers({ "content-type": "application/json", "mcp-session-id": "ours" }),
  body: new TextEncoder().encode(value === null ? "" : JSON.stringify(value)),
});

/** A server that answers calls so; `sent` has all messages, each with its time. */
function openPeer(answer: (id: number, readPiece: ReadPiece) => object) {
  const sent: Json[] = [];
  const egress = {
    async request({ body, timeoutMs, headers, readPiece }: Json) {
      const message = JSON.parse(body);
      const { id, method } = message;
      sent.push({ ...message, timeoutMs, session: headers["mcp-session-id"] });
      if (id === undefined || method === undefined) return reply(null, 202);
      const own = { jsonrpc: "2.0", id };
      if (method === "server/discover") return reply({ ...own, error: { code: -32_601 } });
      const result = { protocolVersion: "2025-11-25" };
      return method === "initialize" ? reply({ ...own, result }) : answer(id, readPiece);
    },
  };
  const client = new McpClient({ egress, clock: createManualClock() } as never);
  return { client, sent, methodsOf: () => sent.map(({ method }) => method) };
}

test("of the requests of a server beside a call sixteen are refused, and others ignored", async () => {
  const { client, sent } = openPeer((id, readPiece) => {
    const asks = Array.from({ length: 17 }, (_, n) => ({ id: `s${n}`, method: "roots/list" }));
    const events = [...asks, { id, result: {} }].map((one) => ({ jsonrpc: "2.0", ...one }));
    const text = events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
    readPiece(new TextEncoder().encode(text), { header: () => "text/event-stream" });
    return reply(null);
  });
  expect(await client.request(TARGET, CALL)).toMatchObject({ ok: true });
  expect(sent.filter(({ error }) => error?.code === -32_601)).toHaveLength(16);
});

test.each([
  ["timeout", true, 1],
  ["aborted", true, 1],
  ["timeout", false, 0],
  ["unreachable", true, 0],
])("a call that ended by %s, sent: %p, is cancelled %d times", async (code, isSent, times) => {
  const { client, sent } = openPeer(() => {
    return { ok: false, code, sent: isSent, status: null, message: "" };
  });
  expect(await client.request(TARGET, CALL)).toMatchObject({ ok: false, code });
  const { id } = sent.find(({ method }) => method === CALL.method);
  const cancels = sent.filter(({ method }) => method === "notifications/cancelled");
  expect(cancels).toHaveLength(times);
  for (const { params, timeoutMs } of cancels) {
    expect([params.requestId, timeoutMs]).toEqual([id, 5_000]);
  }
});

test("a session that its server has forgotten is begun once more, though it was taken over", async () => {
  const { client, sent, methodsOf } = openPeer(() => reply({}, 404));
  const outcome = await client.request({ ...TARGET, adopted: "theirs" }, CALL);
  expect(outcome).toMatchObject({ ok: false, status: 404 });
  const handshake = ["server/discover", "initialize", "notifications/initialized"];
  expect(methodsOf()).toEqual([CALL.method, ...handshake, CALL.method]);
  expect([sent[0].session, sent.at(-1).session]).toEqual(["theirs", "ours"]);
});

test("a handshake has the time of its call, and a notification five seconds of it", async () => {
  for (const timeoutMs of [60_000, 3_000]) {
    const { client, sent } = openPeer((id) => reply({ jsonrpc: "2.0", id, result: {} }));
    await client.request(TARGET, { ...CALL, timeoutMs });
    const noted = Math.min(timeoutMs, 5_000);
    expect(sent.map((one) => one.timeoutMs)).toEqual([timeoutMs, timeoutMs, noted, timeoutMs]);
  }
});
