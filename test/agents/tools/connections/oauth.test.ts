// Connections that buy their tokens: the client credentials grant of OAuth 2.0.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectRefusal } from "../../../spec/agents/refusal.ts";
import { createConnection, type Json, readJson } from "../../../spec/agents/service.ts";
import { register } from "../../../spec/agents/tools-bodies.ts";
import { KEY, type TestApp } from "../../../support/app.ts";
import { openReceiver } from "../http/receiver.ts";
import { addServer, listTools, refresh, startMcp } from "../mcp/front.ts";
import { ECHO, openSessionPeer, openStatelessPeer } from "../mcp/peers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMcp();
});
afterAll(() => app.stop());

const SECRET = "sk_of_client_77:%+";
const key = `${KEY}-approver`;
let count = 0;

/** A server of tokens; each has a number, and lives for `expires_in` seconds. */
function openTokens(answer: (n: number) => Json = () => ({ expires_in: 600 })) {
  const asked: { authorization: string | null; body: string }[] = [];
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    async fetch(request) {
      const authorization = request.headers.get("authorization");
      asked.push({ authorization, body: await request.text() });
      const n = asked.length;
      const reply = answer(n);
      if (reply instanceof Response) return reply;
      return Response.json({ access_token: `token-${n}-5f1c`, token_type: "Bearer", ...reply });
    },
  });
  return { url: server.url.href, asked, [Symbol.dispose]: () => void server.stop(true) };
}

async function connect(token_url: string, oauth: Json = {}): Promise<Json> {
  return createConnection(app, {
    ...{ name: `Client ${++count}`, kind: "client_credentials", secret: SECRET },
    oauth: { token_url, client_id: "wadi client", ...oauth },
  });
}

/** A tool of an MCP server with the connection, and a call of it. */
async function openTool(connection: Json) {
  const call = () => ({ content: [{ type: "text", text: "token-1-5f1c is yours." }] });
  const peer = openStatelessPeer({ tools: [ECHO], call });
  const name = `o${++count}`;
  const server = await addServer(app, peer.url, { name, connection_id: connection.id });
  const use = async () =>
    readJson(await app.post(`/v1/tools/${name}_echo/test`, { arguments: { text: "a" } }, { key }));
  return { peer, server, use, sent: () => peer.requests.at(-1)!.headers.authorization };
}

describe("a connection of kind client_credentials", () => {
  test("asks for a token once for many requests, and sends it as a bearer", async () => {
    using tokens = openTokens();
    const connection = await connect(tokens.url, { scope: "read write" });
    expect(connection).toMatchObject({ kind: "client_credentials", header_name: null });
    const path = `/v1/tools/connections/${connection.id}/oauth`;
    expect(await readJson(await app.get(path))).toEqual({
      ...{ token_url: tokens.url, client_id: "wadi client", scope: "read write" },
    });
    const other = await createConnection(app, { name: `Bearer ${++count}` });
    const none = await app.get(`/v1/tools/connections/${other.id}/oauth`);
    await expectRefusal(none, 404, "connection_not_found");
    const { peer, use, sent } = await openTool(connection);
    using _peer = peer;
    expect((await use()).content).toBe("[secret] is yours.");
    expect(sent()).toBe("Bearer token-1-5f1c");
    const basic = btoa("wadi+client:sk_of_client_77%3A%25%2B");
    expect(tokens.asked).toEqual([
      { authorization: `Basic ${basic}`, body: "grant_type=client_credentials&scope=read+write" },
    ]);
    for (const { headers, body } of peer.requests) {
      expect(JSON.stringify([headers, body])).not.toContain("sk_of_client");
    }
  });

  test("asks again within the hour, however long a token is said to live", async () => {
    using tokens = openTokens(() => ({ expires_in: 1e9 }));
    const { peer, use, sent } = await openTool(await connect(tokens.url));
    using _peer = peer;
    await app.clock.advance(3_569_000);
    await use();
    expect(sent()).toBe("Bearer token-1-5f1c");
    await app.clock.advance(1_000);
    await use();
    expect(sent()).toBe("Bearer token-2-5f1c");
  });

  test("asks again shortly before a token ends, and when its secret was set anew", async () => {
    using tokens = openTokens(() => ({ expires_in: 100 }));
    const connection = await connect(tokens.url);
    const { peer, use, sent } = await openTool(connection);
    using _peer = peer;
    await app.clock.advance(69_000);
    await use();
    expect(sent()).toBe("Bearer token-1-5f1c");
    await app.clock.advance(1_000);
    await use();
    expect(sent()).toBe("Bearer token-2-5f1c");
    await app.clock.advance(1);
    const set = await app.ask("PUT", `/v1/tools/connections/${connection.id}/secret`, {
      body: { secret: "another_secret" },
    });
    await readJson(set);
    await use();
    expect(sent()).toBe("Bearer token-3-5f1c");
    expect(tokens.asked.at(-1)!.authorization).toBe(`Basic ${btoa("wadi+client:another_secret")}`);
  });

  test.each([
    ["refuses", () => Response.json({ error: "invalid_client" }, { status: 401 })],
    ["answers no JSON", () => new Response("token")],
    ["gives no bearer", () => ({ token_type: "mac" })],
    ["gives a token that no header holds", () => ({ access_token: "a\r\nb: c" })],
    [
      "redirects",
      () => new Response(null, { status: 307, headers: { location: "https://x.example.com" } }),
    ],
  ])("sends nothing where the server of tokens %s", async (_, answer) => {
    using tokens = openTokens(answer as () => Json);
    const { peer, server } = await openTool(await connect(tokens.url));
    using _peer = peer;
    expect(server.problem).toMatch(/^No token was given: its server answered \d+\.$/);
    expect(await listTools(app, server.id)).toEqual([]);
    expect(peer.requests).toEqual([]);
  });

  test("agents.errors.url_refused names a server of tokens that is public, or allowed", async () => {
    const urls = [
      ...["http://169.254.169.254/t", "https://10.0.0.1/token", "http://login.example.com/token"],
      ...["https://login.example.com:8443/token", "https://login.local/token"],
      ...["ftp://login.example.com/token", "https://a:b@login.example.com/token", "token"],
    ];
    for (const token_url of urls) {
      const oauth = { token_url, client_id: "a" };
      const body = { name: "Wrong", kind: "client_credentials", secret: "a-secret", oauth };
      const reply = await app.post("/v1/tools/connections", body);
      await expectRefusal(reply, 400, "url_refused", "oauth.token_url");
    }
    await connect("https://login.example.com/token?tenant=a");
  });

  test("needs to be told where tokens are, and other kinds do not", async () => {
    const body = { name: "Wrong", secret: "a-secret" };
    const oauth = { token_url: "https://login.example.com/token", client_id: "a" };
    const wrong = [
      { ...body, kind: "client_credentials" },
      { ...body, kind: "bearer", oauth },
    ];
    for (const one of wrong) {
      const reply = await app.post("/v1/tools/connections", one);
      await expectRefusal(reply, 400, "invalid_request", "oauth");
    }
    const header = { ...body, kind: "client_credentials", oauth, header_name: "X-Key" };
    const reply = await app.post("/v1/tools/connections", header);
    await expectRefusal(reply, 400, "invalid_request", "header_name");
  });
});

describe("a token that is refused with 401", () => {
  const carries = ({ headers }: Request, tokens: readonly number[]) =>
    tokens.some((n) => headers.get("authorization") === `Bearer token-${n}-5f1c`);

  test("is replaced by a new one, with which the call of an MCP server is sent again", async () => {
    using tokens = openTokens();
    const { peer, use, sent } = await openTool(await connect(tokens.url));
    using _peer = peer;
    await use();
    peer.behaviour.refuses = (request) => carries(request, [1]);
    peer.behaviour.call = () => ({ content: [{ type: "text", text: "token-2-5f1c is yours." }] });
    const [one, other] = await Promise.all([use(), use()]);
    for (const { outcome, content } of [one, other]) {
      expect([outcome, content]).toEqual(["ok", "[secret] is yours."]);
    }
    await use();
    expect([sent(), tokens.asked.length]).toEqual(["Bearer token-2-5f1c", 2]);
    expect(peer.calls).toHaveLength(4);
  });

  test("is given up where the new one is refused, too, and the next call asks again", async () => {
    using tokens = openTokens();
    const { peer, use, sent } = await openTool(await connect(tokens.url));
    using _peer = peer;
    peer.behaviour.refuses = (request) => carries(request, [1, 2, 3]);
    const before = peer.requests.length;
    expect(await use()).toMatchObject({ outcome: "error", content: "The server answered 401." });
    expect([peer.requests.length - before, tokens.asked.length]).toEqual([2, 2]);
    // A token that is new is not replaced, since the next would be refused as well.
    expect((await use()).outcome).toBe("error");
    expect([peer.requests.length - before, tokens.asked.length]).toEqual([3, 3]);
    expect((await use()).outcome).toBe("ok");
    expect([sent(), tokens.asked.length]).toEqual(["Bearer token-4-5f1c", 4]);
  });

  test("is replaced for the list of an MCP server, and for a new session", async () => {
    using tokens = openTokens();
    using peer = openSessionPeer({ tools: [ECHO] });
    const { id: connection_id } = await connect(tokens.url);
    const name = `o${++count}`;
    const server = await addServer(app, peer.url, { name, connection_id });
    peer.behaviour.refuses = (request) => carries(request, [1]);
    expect((await refresh(app, server.id)).problem).toBeNull();
    expect(tokens.asked).toHaveLength(2);
    expect(peer.requests.at(-1)!.headers.authorization).toBe("Bearer token-2-5f1c");
  });

  test("is replaced for an endpoint, once, and its call is signed with the new one", async () => {
    using tokens = openTokens();
    let refused = [1];
    using receiver = openReceiver(({ headers }) => {
      const isRefused = refused.some((n) => headers.authorization === `Bearer token-${n}-5f1c`);
      return new Response(isRefused ? "no" : "token-2-5f1c", { status: isRefused ? 401 : 200 });
    });
    const { id: connection_id } = await connect(tokens.url);
    const endpoint = `${receiver.origin}/letters`;
    const { name } = await register(app, { name: `e${++count}`, endpoint, connection_id });
    const path = `/v1/tools/${name}/test`;
    const use = async () => readJson(await app.post(path, { arguments: { to: "a" } }, { key }));
    // Its first token is new, so that another one is not asked for.
    expect(await use()).toMatchObject({ outcome: "error", http_status: 401 });
    refused = [];
    expect((await use()).outcome).toBe("ok");
    refused = [2, 3];
    const { length } = receiver.received;
    expect(await use()).toMatchObject({ outcome: "error", http_status: 401 });
    const [before, after] = receiver.received.slice(length).map(({ headers }) => headers);
    expect(receiver.received).toHaveLength(length + 2);
    expect(after!["idempotency-key"]).toBe(before!["idempotency-key"]!);
    expect(after!["webhook-signature"]).not.toBe(before!["webhook-signature"]!);
    expect((await use()).outcome).toBe("ok");
    expect(tokens.asked).toHaveLength(4);
  });

  test("stays refused where no other is given, and the next call asks again", async () => {
    const refusal = () => Response.json({ error: "invalid_client" }, { status: 401 });
    using tokens = openTokens((n) => (n === 2 ? refusal() : { expires_in: 600 }));
    const { peer, use } = await openTool(await connect(tokens.url));
    using _peer = peer;
    peer.behaviour.refuses = (request) => carries(request, [1]);
    expect(await use()).toMatchObject({ outcome: "error", content: "The server answered 401." });
    expect((await use()).outcome).toBe("ok");
    expect(tokens.asked).toHaveLength(3);
  });

  test("is not asked for where the connection sends its own secret", async () => {
    using receiver = openReceiver(() => new Response("no", { status: 401 }));
    const { id: connection_id } = await createConnection(app, { name: `Bearer ${++count}` });
    const endpoint = `${receiver.origin}/letters`;
    const { name } = await register(app, { name: `e${++count}`, endpoint, connection_id });
    const reply = await app.post(`/v1/tools/${name}/test`, { arguments: { to: "a" } }, { key });
    expect(await readJson(reply)).toMatchObject({ outcome: "error", http_status: 401 });
    expect(receiver.received).toHaveLength(1);
  });
});
