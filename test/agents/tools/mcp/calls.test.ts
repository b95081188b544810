// Calls of tools of MCP servers: what is sent, what the model is told, and how a call ends.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startRun } from "../../../spec/agents/population.ts";
import { createConnection, type Json, readJson } from "../../../spec/agents/service.ts";
import { KEY, type TestApp } from "../../../support/app.ts";
import {
  addServer,
  endOf,
  follow,
  listTools,
  makeAgent,
  runOnce,
  setRisk,
  startMcp,
  until,
} from "./front.ts";
import {
  ECHO,
  openSessionPeer,
  openStatelessPeer,
  type PeerBehaviour,
  type PeerCall,
} from "./peers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMcp();
});
afterAll(() => app.stop());

const key = `${KEY}-approver`;
const REVISIONS = [
  ["2026-07-28", openStatelessPeer],
  ["2025-11-25", openSessionPeer],
] as const;
let servers = 0;

/** A server, an agent with its tool `echo`, and the name of that. */
async function openEcho(
  open: (behaviour: PeerBehaviour) => ReturnType<typeof openStatelessPeer>,
  { call, tool = {}, risk = "read", fields = {} }: Json = {},
) {
  const peer = open({ tools: [{ ...ECHO, ...tool }], call });
  const server = await addServer(app, peer.url, { name: `s${++servers}`, ...fields });
  const name = `s${servers}_echo`;
  if (risk !== "irreversible") await setRisk(app, name, risk);
  return { peer, server, name, agent: await makeAgent(app, [name]) };
}

/** A run that waits for its call to be approved, and is approved. */
async function approve(agent: Json, name: string): Promise<string> {
  const message = `!tool ${name} {"text":"pay"}\n!next\n!say Done.`;
  const { id } = await startRun(app, agent.id, { input: { message } });
  const waiting = await follow(app, id, ({ status }) => status === "waiting_approval");
  await readJson(
    await app.post(`/v1/approvals/${waiting.pending_approvals[0]}/approve`, {}, { key }),
  );
  return id;
}

describe.each(REVISIONS)("with a server of revision %s", (_, open) => {
  test("a call waits for a person until the owner lowers the tool's risk, whatever its annotations say", async () => {
    const { peer, name, agent } = await openEcho(open, { risk: "irreversible" });
    using _peer = peer;
    const message = `!tool ${name} {"text":"pay"}\n!next\n!say Done.`;
    const { id } = await startRun(app, agent.id, { input: { message } });
    const waiting = await follow(app, id, ({ status }) => status === "waiting_approval");
    expect(peer.calls).toEqual([]);
    const [approval] = waiting.pending_approvals;
    expect(await readJson(await app.get(`/v1/approvals/${approval}`))).toMatchObject({
      ...{ tool: name, risk: "irreversible", why: ["irreversible"], arguments: { text: "pay" } },
    });
    await readJson(await app.post(`/v1/approvals/${approval}/approve`, {}, { key }));
    expect((await endOf(app, id)).result).toMatchObject({ outcome: "ok", content: "pay" });
    expect(peer.calls).toHaveLength(1);
  });

  test("a tool that fails is an error, with what it says", async () => {
    const call = () => ({ isError: true, content: [{ type: "text", text: "No such order." }] });
    const { peer, name, agent } = await openEcho(open, { call });
    using _peer = peer;
    const { run, result } = await runOnce(app, agent, name);
    expect(result).toMatchObject({
      ...{ outcome: "error", content: "The tool failed.\n\nNo such order.", external: true },
    });
    expect(run).toMatchObject({ status: "succeeded", external_content: true });
  });

  test("the source of its content is told by the server's address without the query, which may hold a secret", async () => {
    using peer = open({ tools: [ECHO] });
    const name = `s${++servers}_echo`;
    await addServer(app, `${peer.url}?token=secret-1`, { name: `s${servers}` });
    await setRisk(app, name, "read");
    const { run } = await runOnce(app, await makeAgent(app, [name]), name);
    const { data } = await readJson(await app.get(`/v1/runs/${run.id}/steps`));
    const told = data.find((step: Json) => step.data.event === "external_content");
    expect(told.data.detail.url).toBe(peer.url);
  });

  test("images, sounds and bytes are named by type and size, resources by their text", async () => {
    const call = () => ({
      content: [
        { type: "text", text: "First." },
        { type: "image", mimeType: "image/png", data: "AAAA" },
        { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
        { type: "audio", mimeType: "audio/wav", data: "AAAAAAAA" },
        { type: "audio", mimeType: "audio/ogg", data: "AA==" },
        { type: "resource_link", name: "Order", uri: "orders://7" },
        { type: "resource", resource: { uri: "orders://8", text: "Eight." } },
        {
          type: "resource",
          resource: { uri: "orders://9", mimeType: "application/pdf", blob: "AAAA" },
        },
      ],
    });
    const { peer, name, agent } = await openEcho(open, { call });
    using _peer = peer;
    expect((await runOnce(app, agent, name)).result.content.split("\n\n")).toEqual([
      "First.",
      "[image of image/png, 3 bytes, not shown]",
      "[image of image/png, 8 bytes, not shown]",
      "[audio of audio/wav, 6 bytes, not shown]",
      "[audio of audio/ogg, 1 byte, not shown]",
      "[resource Order at orders://7]",
      "[resource orders://8]\nEight.",
      "[resource orders://9 of application/pdf, 3 bytes, not shown]",
    ]);
  });

  test("structured content is checked by the tool's output schema", async () => {
    const outputSchema = {
      ...{ type: "object", properties: { total: { type: "number" } }, required: ["total"] },
    };
    const structured: Json[] = [{ total: 7 }, { total: "seven" }];
    const call = () => ({ content: [], structuredContent: structured.shift() });
    const { peer, name, agent } = await openEcho(open, { call, tool: { outputSchema } });
    using _peer = peer;
    const good = await runOnce(app, agent, name);
    expect(good.result).toMatchObject({ outcome: "ok", content: '{"total":7}' });
    const bad = await runOnce(app, agent, name);
    expect(bad.result.outcome).toBe("error");
    expect(bad.result.content).toContain("is not what the tool promises: /total: must be a number");
  });

  test("a call that never ends is given up after the server's time, which progress does not prolong", async () => {
    const begun = Promise.withResolvers<PeerCall>();
    const call = async (one: PeerCall) => {
      begun.resolve(one);
      await new Promise((resolve) => one.signal.addEventListener("abort", resolve));
      return { content: [] };
    };
    const { peer, name, agent } = await openEcho(open, {
      ...{ call, risk: "irreversible", fields: { timeout_ms: 5_000 } },
    });
    using _peer = peer;
    const id = await approve(agent, name);
    const { signal, notify } = await begun.promise;
    for (let second = 1; second < 5; second++) {
      await notify("notifications/message");
      await app.clock.advance(1_000);
    }
    expect(signal.aborted).toBe(false);
    await app.clock.advance(1_000);
    const asked = await follow(app, id, (run) => run.pending_approvals.length > 0);
    const approval = await readJson(await app.get(`/v1/approvals/${asked.pending_approvals[0]}`));
    expect(approval).toMatchObject({ tool: name, why: ["outcome_unknown"] });
    await until(async () => signal.aborted);
    expect(peer.calls).toHaveLength(1);
  });

  test("a run that is cancelled has its call cancelled on the server", async () => {
    const begun = Promise.withResolvers<PeerCall>();
    const call = async (one: PeerCall) => {
      begun.resolve(one);
      await new Promise((resolve) => one.signal.addEventListener("abort", resolve));
      return { content: [] };
    };
    const { peer, name, agent } = await openEcho(open, { call });
    using _peer = peer;
    const message = `!tool ${name} {"text":"a"}\n!next\n!say Done.`;
    const { id } = await startRun(app, agent.id, { input: { message } });
    const { signal } = await begun.promise;
    await readJson(await app.post(`/v1/runs/${id}/cancel`, undefined));
    await until(async () => signal.aborted);
    expect((await endOf(app, id)).run.status).toBe("cancelled");
  });

  test("the secret of a connection is sent to the server, and removed from what it answers", async () => {
    const secret = "sk_of_orders_81f2c0";
    const connection = await createConnection(app, { name: `c${servers}`, secret });
    // The secret stands across the end of the 4,000 characters that are shown of a failure.
    const long = "x".repeat(3_970);
    const replies: Json[] = [
      { content: [{ type: "text", text: `You sent ${secret}.` }] },
      { isError: true, content: [{ type: "text", text: `${long}${secret} and more` }] },
    ];
    const call = () => replies.shift()!;
    const fields = { connection_id: connection.id };
    const { peer, name, agent } = await openEcho(open, { call, fields });
    using _peer = peer;
    expect((await runOnce(app, agent, name)).result.content).toBe("You sent [secret].");
    const cut = (await runOnce(app, agent, name)).result;
    const content = `The tool failed.\n\n${long}[secret] and…`;
    expect(cut).toMatchObject({ outcome: "error", content });
    const sent = new Set(peer.requests.map(({ headers }) => headers.authorization));
    expect([...sent]).toEqual([`Bearer ${secret}`]);
    const bound = await readJson(await app.get(`/v1/tools/connections/${connection.id}`));
    expect(bound.allowed_hosts).toEqual([peer.host]);
  });

  test("a list of several pages is read whole", async () => {
    const tools = Array.from({ length: 7 }, (_, n) => ({ ...ECHO, name: `t${n}` }));
    using peer = open({ tools, page: 3 });
    const server = await addServer(app, peer.url, { name: `s${++servers}` });
    const listed = await listTools(app, server.id);
    expect(listed.map(({ tool }) => tool)).toEqual(tools.map(({ name }) => name));
  });

  test("tools that cannot be used are named, with the reason", async () => {
    const tools = [
      ECHO,
      { ...ECHO, name: "Echo" },
      { ...ECHO, name: "a".repeat(70) },
      { ...ECHO, name: "broken", inputSchema: { type: "object", properties: { a: 7 } } },
      { ...ECHO, name: "odd", outputSchema: { type: "array" } },
    ];
    using peer = open({ tools });
    const { id, skipped } = await addServer(app, peer.url, { name: `s${++servers}` });
    expect(skipped.map(({ tool }: Json) => tool)).toEqual([
      ...["Echo", "a".repeat(70)],
      "broken",
      "odd",
    ]);
    expect(skipped.map(({ problem }: Json) => problem)).toEqual([
      expect.stringMatching(/^Another tool is `s\d+_echo` here\.$/),
      expect.stringMatching(/^Its name here would be longer than 64 characters: /),
      expect.stringMatching(/^`inputSchema/),
      '`outputSchema` must have the `type` "object".',
    ]);
    expect(await listTools(app, id)).toHaveLength(1);
  });
});

describe("a server with sessions", () => {
  test("is asked for one session per run, which is ended when it rests", async () => {
    const { peer, name, agent } = await openEcho(openSessionPeer);
    using _peer = peer;
    const message = `!tool ${name} {"text":"a"}\n!next\n!tool ${name} {"text":"b"}\n!next\n!say Done.`;
    const { id } = await startRun(app, agent.id, { input: { message } });
    await endOf(app, id);
    const sessionOf = (text: string) =>
      peer.requests.find(({ body }) => body?.params?.arguments?.text === text)!.headers;
    expect(sessionOf("a")["mcp-session-id"]).toBe(sessionOf("b")["mcp-session-id"]!);
    expect(sessionOf("a")).toMatchObject({ "mcp-protocol-version": "2025-11-25" });
    const last = sessionOf("b")["mcp-session-id"];
    await app.clock.advance(300_000);
    await until(async () =>
      peer.requests.some(
        ({ method, headers }) => method === "DELETE" && headers["mcp-session-id"] === last,
      ),
    );
  });

  test("that forgot the session is asked for another, and gets the call once", async () => {
    let forgets = true;
    const { peer, name, agent } = await openEcho(openSessionPeer);
    using _peer = peer;
    using front = Bun.serve({
      ...{ hostname: "127.0.0.1", port: 0 },
      async fetch(request) {
        const text = await request.clone().text();
        if (text.includes("tools/call") && forgets) {
          forgets = false;
          return new Response("gone", { status: 404 });
        }
        const { method, headers } = request;
        return fetch(peer.url, { method, headers, ...(text !== "" && { body: text }) });
      },
    });
    await addServer(app, `${front.url.origin}/mcp`, { name: `s${++servers}` });
    const forgetful = `s${servers}_echo`;
    await setRisk(app, forgetful, "read");
    const other = await makeAgent(app, [forgetful]);
    expect((await runOnce(app, other, forgetful)).result).toMatchObject({ outcome: "ok" });
    expect(peer.calls).toHaveLength(1);
    expect((await runOnce(app, agent, name)).result).toMatchObject({ outcome: "ok" });
  });

  test("is refused sampling, elicitation and roots, and its tool goes on", async () => {
    const asked: string[] = [];
    const call = async ({ ask }: PeerCall) => {
      for (const method of ["sampling/createMessage", "elicitation/create", "roots/list"]) {
        await ask(method, {}).catch((error: Error) => asked.push(`${method} ${error.message}`));
      }
      await ask("ping", {});
      return { content: [{ type: "text", text: "Went on." }] };
    };
    const { peer, name, agent } = await openEcho(openSessionPeer, { call });
    using _peer = peer;
    expect((await runOnce(app, agent, name)).result).toMatchObject({
      ...{ outcome: "ok", content: "Went on." },
    });
    expect(asked).toHaveLength(3);
    for (const one of asked) expect(one).toContain("This client takes no requests of a server");
  });
});

describe("a stateless server", () => {
  test("is sent what its proxies route by, and the arguments that it wants as headers", async () => {
    const inputSchema = {
      type: "object",
      properties: {
        text: { type: "string", "x-mcp-header": "Text" },
        n: { type: "integer", "x-mcp-header": "N" },
      },
    };
    const { peer, name, agent } = await openEcho(openStatelessPeer, { tool: { inputSchema } });
    using _peer = peer;
    const { result } = await runOnce(app, agent, name, { text: "grüß\nGott", n: 7 });
    expect(result).toMatchObject({ outcome: "ok", content: "grüß\nGott" });
    const { headers, body } = peer.requests.at(-1)!;
    expect(headers).toMatchObject({
      ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo" },
      ...{ "mcp-param-text": `=?base64?${btoa("gr\u00c3\u00bc\u00c3\u009f\nGott")}?=` },
      ...{ "mcp-param-n": "7", "idempotency-key": result.tool_call_id },
    });
    expect(body.params._meta).toMatchObject({
      ...{ "idempotency-key": result.tool_call_id },
      ...{ "io.modelcontextprotocol/protocolVersion": "2026-07-28" },
      ...{ "io.modelcontextprotocol/clientCapabilities": {} },
    });
  });

  test("that asks for input in the middle of a call is given none", async () => {
    const call = () => ({
      resultType: "input_required",
      inputRequests: { a: { method: "elicitation/create", params: {} } },
    });
    const { peer, name, agent } = await openEcho(openStatelessPeer, { call });
    using _peer = peer;
    const { result } = await runOnce(app, agent, name);
    // The SDK does not even ask a client that offers nothing.
    expect(result).toMatchObject({ outcome: "error" });
    expect(result.content).toContain("client capabilities do not declare");
  });
});
