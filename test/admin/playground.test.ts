// Tests that an operator chats as a key with nothing but its rights, and that the row says so.
import { afterEach, describe, expect, test } from "bun:test";
import { startApp, type TestAppOptions } from "../support/app.ts";
import { readRequestLog } from "../support/request-log.ts";

const CHAT = "/operator/v1/playground/chat";
const MODELS = ["one", "two"]
  .map((id) => `[[models]]\nid = "${id}"\nself_hosted = true\nupstream = { kind = "stub" }\n`)
  .join("");

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

async function open(options: TestAppOptions = {}) {
  const started = await startApp(options);
  endings.push(started.stop);
  const { app, clock, ask } = started;
  const { token } = await app.admin.operators.create({ name: "noura", role: "operator" });
  const make = async (fields: object = {}) => {
    const request = { account: "dev", name: "phone", is_internal: false, scopes: [], models: null };
    return (
      await app.admin.keys.create({
        ...{ ...request, max_output_tokens: null, lifetimeMs: null },
        ...fields,
      })
    ).key.id;
  };
  const chat = (key: string, fields: object = {}, signal?: AbortSignal, as = token) => {
    const request = { messages: [{ role: "user", content: "Hello" }], ...fields };
    return ask("POST", CHAT, { key: as, body: { key, request }, signal });
  };
  /** Rows are written behind the reply. */
  const readRows = async () => {
    await clock.advance(25);
    return readRequestLog(app.database).entries();
  };
  return { ...started, make, chat, readRows };
}

const codeOf = async (reply: Response) => {
  const { error } = (await reply.json()) as { error: { code: string } };
  return [reply.status, error.code];
};

test("answers as the gateway does, and marks the row with the operator", async () => {
  const { app, chat, make, readRows } = await open();
  const key = await make();
  const reply = await chat(key);
  expect(reply.status).toBe(201);
  expect(await reply.json()).toMatchObject({ object: "chat.completion", usage: {} });
  const [row] = await readRows();
  const id = reply.headers.get("x-request-id")!;
  expect(row).toMatchObject({
    key_id: key,
    sent_by_operator: "noura",
    request_id: id,
    status: 201,
  });
  const [explained] = await app.admin.requests.explain(id);
  expect(explained!.explanation[0]).toEndWith('sent from the playground by the operator "noura"');
  const [entry] = await app.admin.audit.list({ limit: 1 } as never);
  expect(entry).toMatchObject({
    ...{ operation: "keys chat", actor: "noura", target: key, outcome: "done" },
  });
  expect(JSON.stringify(entry)).not.toContain("Hello");
});

test("streams the frames of the gateway, and ends a request whose operator leaves", async () => {
  const { chat, make, readRows, logged } = await open({ listens: true });
  const key = await make();
  const reply = await chat(key, { stream: true, stream_options: { include_usage: true } });
  expect(reply.headers.get("content-type")).toStartWith("text/event-stream");
  const frames = (await reply.text()).trim().split("\n\n");
  expect(frames.at(-1)).toBe("data: [DONE]");
  expect(frames.at(-2)).toContain('"usage":{');
  const leaving = new AbortController();
  const messages = [{ role: "user", content: "!tokens 3\n!stall" }];
  const stalled = await chat(key, { stream: true, messages }, leaving.signal);
  const reader = stalled.body!.getReader();
  await reader.read();
  leaving.abort();
  await reader.read().catch(() => {});
  await logged("client_closed_request");
  const rows = await readRows();
  expect(rows.map(({ status, is_stream }) => [status, is_stream])).toEqual([
    [201, true],
    [499, true],
  ]);
});

describe("a key's bounds bind the playground", () => {
  test("its models, scopes and output cap", async () => {
    const { chat, make, readRows } = await open({ settings: MODELS });
    const key = await make({ models: ["one"], max_output_tokens: 7 });
    expect(await codeOf(await chat(key, { model: "two" }))).toEqual([403, "model_not_permitted"]);
    expect(await codeOf(await chat(key, { think: true }))).toEqual([403, "scope_required"]);
    expect((await chat(key, { model: "one", max_tokens: 50 })).status).toBe(201);
    expect((await readRows()).at(-1)).toMatchObject({ max_tokens: 7, max_tokens_by: "key" });
  });

  test("its limits, those of its account, and the rate limit", async () => {
    const { app, chat, make } = await open({ settings: "[limits]\nrequests_per_minute = 3\n" });
    const key = await make();
    await app.admin.limits.limitKey(key, { requests_day: 1 });
    expect((await chat(key)).status).toBe(201);
    expect((await chat(key)).status).toBe(429);
    const other = await make();
    expect((await chat(other)).status).toBe(201);
    expect(await codeOf(await chat(other))).toEqual([429, "rate_limit_exceeded"]);
  });

  test("its end, and that of an internal key", async () => {
    const { app, chat, make } = await open();
    const key = await make();
    await app.admin.keys.revoke(key);
    expect(await codeOf(await chat(key))).toEqual([401, "invalid_api_key"]);
    const internal = await make({ is_internal: true });
    expect(await codeOf(await chat(internal))).toEqual([403, "permission_denied"]);
    const unknown = "0198f000-0000-7000-8000-000000000001";
    expect(await codeOf(await chat(unknown))).toEqual([404, "not_found"]);
  });

  test("the form of a chat, and the size of a body", async () => {
    const { chat, make, readRows } = await open();
    const key = await make();
    expect(await codeOf(await chat(key, { messages: [] }))).toEqual([400, "invalid_request"]);
    const content = "x".repeat(300 * 1024);
    const large = await chat(key, { messages: [{ role: "user", content }] });
    expect(await codeOf(large)).toEqual([413, "request_too_large"]);
    expect(await readRows()).toHaveLength(1);
  });
});

test("is closed to approvers, and does not count as a use of the key", async () => {
  const { app, chat, make } = await open();
  const key = await make();
  const { token } = await app.admin.operators.create({ name: "sami", role: "approver" });
  expect(await codeOf(await chat(key, {}, undefined, token))).toEqual([403, "permission_denied"]);
  expect((await chat(key)).status).toBe(201);
  expect(await app.admin.keys.show(key)).toMatchObject({ last_used_at: null });
});
