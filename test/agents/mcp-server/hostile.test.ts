// What /mcp refuses: strangers, foreign pages, other accounts, malformed and unbounded messages.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { add } from "../../spec/agents/approvals-front.ts";
import { createKey } from "../../spec/gateway/keys.ts";
import { KEY, startApp } from "../../support/app.ts";
import {
  beginWait,
  type McpFront,
  makeStateless,
  pollTask,
  readReply,
  startMcp,
  startTask,
  TASKS,
} from "./front.ts";

let front: McpFront;
beforeEach(async () => {
  front = await startMcp();
});
afterEach(() => front.stop());

const LIST = makeStateless("tools/list");
const HEADERS = {
  ...{ "content-type": "application/json", "mcp-protocol-version": "2026-07-28" },
  "mcp-method": "tools/list",
};
const post = (body: unknown, headers: Record<string, string> = {}, key: string | null = KEY) =>
  front.post("/mcp", body, { key, headers: { ...HEADERS, ...headers } });
const explain = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: number; data?: unknown } };
  return [response.status, error.code];
};

describe("before a message is read", () => {
  test("a stranger is told where it is said how a key is sent", async () => {
    const reply = await post(LIST, {}, null);
    const challenge = reply.headers.get("www-authenticate")!;
    const [, place] = /^Bearer resource_metadata="(.+)"$/.exec(challenge)!;
    expect(await reply.json()).toMatchObject({
      ...{ jsonrpc: "2.0", error: { code: -32_000, data: { code: "missing_api_key" } } },
    });
    expect(reply.status).toBe(401);
    expect(place).toBe(`${front.url}/.well-known/oauth-protected-resource/mcp`);
    const metadata = await fetch(place!);
    expect(await metadata.json()).toMatchObject({
      ...{ resource: `${front.url}/mcp`, bearer_methods_supported: ["header"] },
    });
  });

  test.each(["none", "revoked", "expired", "internal"])(
    "a key -%s gets no answer",
    async (kind) => {
      const reply = await post(LIST, {}, `${KEY}-${kind}`);
      expect([401, 403]).toContain(reply.status);
      expect(await reply.json()).toMatchObject({ jsonrpc: "2.0", error: { code: -32_000 } });
    },
  );

  test("a scope, a limit and a closed service refuse as on every route of agents", async () => {
    const codeOf = async (reply: Response) => {
      const { error } = (await reply.json()) as { error: { data: { code: string } } };
      return [reply.status, error.data.code];
    };
    expect(await codeOf(await post(LIST, {}, `${KEY}-none`))).toEqual([403, "scope_required"]);
    const env = { WADI_AGENTS__MCP_SERVER: "true" };
    const limited = await startApp({ env, settings: "[limits]\nrequests_per_minute = 1\n" });
    const ask = () => limited.post("/mcp", LIST, { headers: HEADERS });
    expect((await ask()).status).toBe(200);
    const refused = await ask();
    expect([refused.headers.get("retry-after"), ...(await codeOf(refused))]).toEqual([
      ...["60", 429, "rate_limit_exceeded"],
    ]);
    await limited.stop();
    const closed = await startApp({ env, settings: "[agents]\nopen = false\n" });
    const reply = await closed.post("/mcp", LIST, { headers: HEADERS });
    expect(await codeOf(reply)).toEqual([503, "not_enabled"]);
    await closed.stop();
  });

  test("without the scope the costs are not shown in the grace period", async () => {
    const env = { WADI_AGENTS__MCP_SERVER: "true", WADI_AGENTS__ENFORCE_SCOPE: "false" };
    const graceful = await startApp({ env });
    const approver = await createKey(graceful, { account_id: null, scopes: ["agents.approve"] });
    for (const key of [`${KEY}-none`, approver]) {
      const reply = await graceful.post("/mcp", LIST, { headers: HEADERS, key });
      const { result } = (await reply.json()) as { result: { tools: { name: string }[] } };
      expect(result.tools.map(({ name }) => name)).toEqual([
        ...["get_run", "list_runs", "cancel_run", "list_approvals"],
      ]);
    }
    await graceful.stop();
  });

  test("a foreign Host and the page of a foreign Origin are refused", async () => {
    expect((await post(LIST, { host: "evil.example" })).status).toBe(403);
    expect((await post(LIST, { origin: "https://evil.example" })).status).toBe(403);
    expect((await post(LIST, { origin: "null" })).status).toBe(403);
    expect((await post(LIST, { origin: front.url })).status).toBe(200);
  });

  test("a body is bounded, and is JSON", async () => {
    expect((await post("x".repeat(300_000))).status).toBe(413);
    expect(await explain(await post("{"))).toEqual([400, -32_700]);
    expect(await explain(await post(`${"[".repeat(80)}`))).toEqual([400, -32_700]);
  });

  test("a closed server knows no such path; a client opens no stream and ends no session", async () => {
    for (const method of ["GET", "DELETE"] as const) {
      const refused = await front.ask(method, "/mcp");
      expect([refused.status, refused.headers.get("allow")]).toEqual([405, "POST"]);
    }
    const closed = await startApp();
    const paths = ["/mcp", "/.well-known/oauth-protected-resource/mcp"];
    const statuses = await Promise.all(paths.map(async (path) => (await closed.get(path)).status));
    expect([...statuses, (await closed.post("/mcp", LIST)).status]).toEqual([404, 404, 404]);
    expect((await closed.ask("DELETE", "/mcp")).status).toBe(404);
    await closed.stop();
  });
});

describe("a message", () => {
  test("is one: no batch, whatever its size", async () => {
    expect(await explain(await post([LIST, LIST]))).toEqual([400, -32_600]);
    expect(await explain(await post([]))).toEqual([400, -32_600]);
  });

  test.each([
    {},
    { jsonrpc: "1.0", id: 1, method: "tools/list" },
    { jsonrpc: "2.0", id: 1 },
    { jsonrpc: "2.0", id: { a: 1 }, method: "tools/list" },
    { jsonrpc: "2.0", id: 1.5, method: "tools/list" },
    { jsonrpc: "2.0", id: "x".repeat(300), method: "tools/list" },
    { jsonrpc: "2.0", id: 1, method: "x".repeat(300) },
    { jsonrpc: "2.0", id: 1, method: "tools/list", params: [] },
  ])("of this form is refused: %j", async (body) => {
    expect(await explain(await post(body))).toEqual([400, -32_600]);
  });

  test("without an id is taken and not answered", async () => {
    for (const body of [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 1, result: {} },
    ]) {
      const reply = await post(body);
      expect([reply.status, await reply.text()]).toEqual([202, ""]);
    }
  });

  test("says in its headers what it says in its body", async () => {
    const mismatches: Record<string, string>[] = [
      { "mcp-method": "tools/call" },
      { "mcp-method": "" },
      { "mcp-protocol-version": "2025-11-25" },
    ];
    for (const headers of mismatches) {
      expect(await explain(await post(LIST, headers))).toEqual([400, -32_020]);
    }
    const call = makeStateless("tools/call", { name: "free", arguments: { message: "Hello" } });
    for (const name of ["asking", "=?base64?YXNraW5n?="]) {
      const headers = { "mcp-method": "tools/call", "mcp-name": name };
      expect(await explain(await post(call, headers))).toEqual([400, -32_020]);
    }
    const task = makeStateless("tasks/get", { taskId: front.agent.id }, TASKS);
    const headers = { "mcp-method": "tasks/get", "mcp-name": front.asking.id };
    expect(await explain(await post(task, headers))).toEqual([400, -32_020]);
    expect(await explain(await post(call, { "mcp-method": "tools/call" }))).toEqual([400, -32_020]);
    expect((await front.read("/v1/runs")).data).toEqual([]);
    const encoded = { "mcp-method": "tools/call", "mcp-name": "=?base64?ZnJlZQ==?=" };
    expect((await post(call, encoded)).status).toBe(200);
  });

  test("of an unknown revision is told the known ones", async () => {
    const reply = await post(
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { "mcp-protocol-version": "1999-01-01" },
    );
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      { error: { code: -32_022, data: { supported: ["2026-07-28", "2025-11-25", "2025-06-18"] } } },
    ]);
  });

  test("without a client's name or abilities is refused by the stateless revision", async () => {
    const bare = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    expect((await post(bare)).status).toBe(400);
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    expect(await explain(await post({ ...bare, params: { _meta } }))).toEqual([400, -32_602]);
  });

  test("of an unknown method is told so, in the manner of its revision", async () => {
    for (const method of ["resources/list", "__proto__", "constructor"]) {
      const modern = await front.send(method);
      const old = await front.sendOld(method);
      expect([modern.status, modern.error.code]).toEqual([404, -32_601]);
      expect([old.status, old.error.code]).toEqual([200, -32_601]);
    }
  });
});

describe("a call", () => {
  const call = (name: string, args?: unknown) =>
    front.send("tools/call", { name, arguments: args });

  test("of an unknown, hidden or foreign agent is of no tool", async () => {
    const other = { key: `${KEY}-other` };
    await front.createAgent({ slug: "hidden" });
    await front.createAgent({ slug: "theirs", expose: true }, other);
    for (const name of ["nothing", "hidden", "theirs", "__proto__"]) {
      expect((await call(name, { message: "x" })).error.code).toBe(-32_602);
    }
    const theirs = await front.send("tools/list", {}, {}, other);
    expect(theirs.result.tools.at(-1).name).toBe("theirs");
  });

  test("with other arguments starts no run", async () => {
    for (const args of [
      ...[undefined, [], {}, { message: "" }, { message: 7 }],
      ...[{ message: "x".repeat(100_001) }, { message: "x", thread_id: "../x" }],
      { message: "x", approve: true },
    ]) {
      const { result } = await call("free", args);
      expect([result.isError, result.content[0].text]).toEqual([
        true,
        expect.stringMatching(/^invalid_arguments: /),
      ]);
    }
    expect((await front.read("/v1/runs")).data).toEqual([]);
  });

  test("that the route of starts would refuse is refused for the same reason", async () => {
    const thread_id = crypto.randomUUID();
    const { result } = await call("free", { message: "x", thread_id });
    expect(result.content[0].text).toStartWith("thread_not_found");
  });

  test("waits at most twenty times for a key, and starts no run beyond that", async () => {
    const run_id = await startTask(front, "asking", `${add("2 + 3")}\n!next\n!say Done.`);
    await pollTask(front, run_id, "input_required");
    const leave = new AbortController();
    const begin = () => beginWait(front, run_id, { signal: leave.signal });
    const waits = await Promise.all(Array.from({ length: 20 }, begin));
    const { status, error } = await call("free", { message: "x" });
    expect([status, error.data.code]).toEqual([429, "too_many_streams"]);
    expect((await front.read("/v1/runs")).data).toHaveLength(1);
    leave.abort();
    await Promise.allSettled(waits.map((one) => one.text()));
    // A place is free as soon as the server sees that one has left.
    while ((await beginWait(front, run_id)).status === 429) await front.clock.advance(0);
  });

  test("takes its place before its run starts, however many come at once", async () => {
    const run_id = await startTask(front, "asking", `${add("2 + 3")}\n!next\n!say Done.`);
    await pollTask(front, run_id, "input_required");
    const leave = new AbortController();
    const { signal } = leave;
    const waits = await Promise.all(
      Array.from({ length: 15 }, () => beginWait(front, run_id, { signal })),
    );
    const params = {
      ...{ name: "free", arguments: { message: "!delay 60s\n!say Late." } },
      _meta: { progressToken: 1 },
    };
    const body = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
    const begin = () => front.post("/mcp", body, { signal });
    const replies = await Promise.all(Array.from({ length: 10 }, begin));
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(5);
    expect((await front.read("/v1/runs")).data).toHaveLength(1 + 5);
    leave.abort();
    await Promise.allSettled([...waits, ...replies].map((one) => one.text()));
  });

  test("of a key that is revoked ends its wait without an answer", async () => {
    const run_id = await startTask(front, "asking", `${add("2 + 3")}\n!next\n!say Done.`);
    await pollTask(front, run_id, "input_required");
    const waiting = await beginWait(front, run_id);
    const { started_by_key_id } = await front.read(`/v1/runs/${run_id}`);
    await front.app.admin.keys.revoke(started_by_key_id);
    const { messages } = await readReply(waiting);
    expect(messages.map(({ method }) => method)).toEqual(["notifications/progress"]);
  });

  test("is among the open streams of its key while it waits", async () => {
    const alone = await startMcp({ isDoubled: false });
    const run_id = await startTask(alone, "asking", `${add("2 + 3")}\n!next\n!say Done.`);
    await pollTask(alone, run_id, "input_required");
    const waiting = await beginWait(alone, run_id);
    const events = await alone.get(`/v1/runs/${run_id}/events`);
    const { started_by_key_id } = await alone.read(`/v1/runs/${run_id}`);
    const { keys } = alone.app.admin;
    expect(await keys.show(started_by_key_id)).toMatchObject({ open_streams: 2 });
    await Promise.all([waiting.body!.cancel(), events.body!.cancel()]);
    await alone.stop();
  });
});

describe("a task", () => {
  test("of another account, of no run, or of a client without tasks is not shown", async () => {
    const taskId = await startTask(front, "free", "Hello");
    const others = { key: `${KEY}-other` };
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      const foreign = await front.send(method, { taskId }, TASKS, others);
      const unknown = await front.send(method, { taskId: crypto.randomUUID() }, TASKS);
      const odd = await front.send(method, { taskId: "../runs" }, TASKS);
      const unable = await front.send(method, { taskId });
      expect([foreign, unknown, odd].map(({ error }) => error.code)).toEqual([
        ...[-32_602, -32_602, -32_602],
      ]);
      expect([unable.status, unable.error.code]).toEqual([400, -32_021]);
    }
    const listed = { name: "get_run", arguments: { run_id: taskId } };
    const { result } = await front.send("tools/call", listed, {}, others);
    expect(result.content[0].text).toStartWith("run_not_found");
  });

  test("is not made for a client that does not know tasks", async () => {
    const { result } = await front.send("tools/call", {
      name: "free",
      arguments: { message: "x" },
    });
    expect(result.resultType).toBe("complete");
  });
});
