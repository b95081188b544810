// Streams that break off, and the older of the two revisions with sessions.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startRun } from "../../../spec/agents/population.ts";
import { type Json, readJson } from "../../../spec/agents/service.ts";
import { KEY, type TestApp } from "../../../support/app.ts";
import { addServer, endOf, follow, makeAgent, setRisk, startMcp, until } from "./front.ts";
import { ECHO } from "./peers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMcp();
});
afterAll(() => app.stop());

/** A server of revision 2025-06-18 whose calls are answered by `call`, and resumed by `resume`. */
function openOld(call: (id: number) => Response, resume: (lastId: string) => Response) {
  const versions = new Set<string | null>();
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    async fetch(request) {
      if (request.method === "GET") return resume(request.headers.get("last-event-id")!);
      const { id, method } = (await request.json()) as Json;
      if (method === "server/discover") {
        const error = { code: -32601, message: "Method not found" };
        return Response.json({ jsonrpc: "2.0", id, error });
      }
      if (method === "initialize") {
        const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} };
        return Response.json({ jsonrpc: "2.0", id, result });
      }
      versions.add(request.headers.get("mcp-protocol-version"));
      if (method === "tools/list") {
        return Response.json({ jsonrpc: "2.0", id, result: { tools: [ECHO] } });
      }
      return method === "tools/call" ? call(id) : new Response(null, { status: 202 });
    },
  });
  return {
    url: `${server.url.origin}/mcp`,
    versions,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

const stream = (text: string) =>
  new Response(text, { headers: { "content-type": "text/event-stream" } });
const answer = (id: number, text: string) =>
  `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })}\n\n`;

async function begin(name: string, url: string, risk = "read"): Promise<Json> {
  await addServer(app, url, { name, timeout_ms: 10_000 });
  await setRisk(app, `${name}_echo`, risk);
  const agent = await makeAgent(app, [`${name}_echo`]);
  const message = `!tool ${name}_echo {"text":"a"}\n!next\n!say Done.`;
  return startRun(app, agent.id, { input: { message } });
}

test("a stream that its server ends is resumed behind its last event", async () => {
  const resumed: string[] = [];
  let asked = 0;
  const again = Promise.withResolvers<void>();
  using server = openOld(
    (id) => {
      asked = id;
      return stream("id: e1\nretry: 500\ndata:\n\n");
    },
    (lastId) => {
      resumed.push(lastId);
      again.resolve();
      if (resumed.length === 1) return stream("id: e2\n\n");
      return stream(answer(asked, "Resumed."));
    },
  );
  const { id } = await begin("resumed", server.url);
  const ended = endOf(app, id);
  let isOver = false;
  void ended.finally(() => {
    isOver = true;
  });
  while (!isOver) await app.clock.advance(100);
  expect((await ended).result).toMatchObject({ outcome: "ok", content: "Resumed." });
  expect(resumed).toEqual(["e1", "e2"]);
  expect([...server.versions]).toEqual(["2025-06-18"]);
});

test("a stream that is resumed without end is given up with the call's time", async () => {
  let resumes = 0;
  using server = openOld(
    () => stream("id: e1\nretry: 1\ndata:\n\n"),
    () => {
      resumes++;
      return stream("id: e2\nretry: 1\ndata:\n\n");
    },
  );
  const { id } = await begin("endless", server.url);
  const ended = endOf(app, id);
  let isOver = false;
  void ended.finally(() => {
    isOver = true;
  });
  while (!isOver) await app.clock.advance(100);
  expect((await ended).result).toMatchObject({ outcome: expect.stringMatching(/timeout|error/) });
  expect(resumes).toBeLessThanOrEqual(100);
});

test("a stream that breaks off without an event id leaves the outcome of a write unknown", async () => {
  const asked: number[] = [];
  using server = openOld(
    (id) => {
      asked.push(id);
      return stream(": nothing\n\n");
    },
    () => new Response(null, { status: 405 }),
  );
  const { id } = await begin("broken", server.url, "write");
  const waiting = ({ status }: Json) => status === "waiting_approval";
  const pending = async (why: string): Promise<string> => {
    const run = await follow(app, id, waiting);
    const approval = await readJson(await app.get(`/v1/approvals/${run.pending_approvals[0]}`));
    expect(approval.why).toEqual([why]);
    return approval.id;
  };
  const first = await pending("write");
  const key = `${KEY}-approver`;
  await readJson(await app.post(`/v1/approvals/${first}/approve`, {}, { key }));
  await until(async () => asked.length > 0);
  const again = await follow(app, id, (run) => waiting(run) && run.pending_approvals[0] !== first);
  expect(await pending("outcome_unknown")).toBe(again.pending_approvals[0]);
  // Sent once: only a person may have it sent again.
  expect(asked).toHaveLength(1);
});
