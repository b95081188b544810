// Tests models with a managed server: waiting callers, keep-alives and failed starts.
import { describe, expect, test } from "bun:test";
import { readRefusal } from "../../spec/gateway/refusal.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import {
  type AskedRequest,
  answerFrames,
  answerText,
  DONE,
  startUpstream,
  writeFrame,
} from "../../support/upstream.ts";

// Not in test/spec: a database in another process takes time that the manual clock does not
// have, so the order of events would be undefined.
const UNLIMITED = "[limits]\nrequests_per_minute = 1_000_000\n";
const STUB = `${UNLIMITED}
[[models]]
id = "idle-1"
self_hosted = true
upstream = { kind = "stub", start_delay = "40s" }
`;
const IS_STREAM = (n: number) => n % 5 < 3;
const LEAVES = (n: number) => n % 5 === 1 || n % 5 === 4;

/** Every caller sends its own number; three of five want a stream. */
async function callAll(app: TestApp, count: number) {
  const callers = Array.from({ length: count }, (_, n) => {
    const leaving = new AbortController();
    const replied = app
      .chat(`caller ${n}`, { stream: IS_STREAM(n) }, { signal: leaving.signal })
      .then(async (reply) => `${reply.status} ${await reply.text()}`);
    // A departed caller receives no more.
    return { n, leaving, replied: replied.catch(() => "left") };
  });
  await app.clock.advance(0);
  return callers;
}

describe("a managed server with a start of 40 s and fifty callers, twenty of whom leave", () => {
  test("gateway.limits.keep_alive is started once, answers thirty in their order, and sends comments meanwhile", async () => {
    const app = await startApp({ settings: STUB });
    const callers = await callAll(app, 50);
    const ended: number[] = [];
    for (const { n, replied } of callers) void replied.then(() => ended.push(n));
    const leavers = callers.filter(({ n }) => LEAVES(n));
    await app.clock.advance(10_000);
    // Half of them before the first comment, and half after it.
    for (const { leaving } of leavers.slice(0, 10)) leaving.abort();
    await app.clock.advance(10_000);
    for (const { leaving } of leavers.slice(10)) leaving.abort();
    await app.clock.advance(19_999);
    expect(new Set(ended)).toEqual(new Set(leavers.map(({ n }) => n)));
    await app.clock.advance(1);
    const stayed = callers.filter(({ n }) => !LEAVES(n));
    const replies = await Promise.all(stayed.map(({ replied }) => replied));
    for (const [i, { n }] of stayed.entries()) {
      const reply = replies[i]!;
      expect(reply).toStartWith("201 ");
      expect(joinContents(reply)).toBe(`You said: caller ${n}`);
      // At 15 and at 30 seconds.
      expect(reply.match(/^(201 )?: keep-alive$/gm)?.length).toBe(IS_STREAM(n) ? 2 : undefined);
    }
    for (const isStream of [true, false]) {
      const same = stayed.map(({ n }) => n).filter((n) => IS_STREAM(n) === isStream);
      expect(ended.filter((n) => same.includes(n))).toEqual(same);
    }
    const said = (message: string) => app.lines.filter((line) => line.message === message);
    expect(said("autostart: model server is being started")).toEqual([
      expect.objectContaining({ model: "idle-1" }),
    ]);
    expect(said("autostart: model server is up")).toMatchObject([{ usual_ms: 40_000 }]);
    expect(said("the caller left").map(({ status }) => status)).toEqual(Array(20).fill(499));
    await app.stop();
  });

  test("gateway.events.2 starts the same way on request, as its server sees it", async () => {
    const managed = await startManagedServer();
    const { app, upstream } = managed;
    const callers = await callAll(app, 50);
    await managed.pass(10_000);
    for (const { n, leaving } of callers) if (LEAVES(n)) leaving.abort();
    // The wake-up reaches its server at 0 or at 1 s of the manual clock.
    await managed.pass(29_000);
    expect(managed.paths("/v1/chat/completions")).toHaveLength(0);
    await managed.until(() => managed.paths("/v1/chat/completions").length === 30);
    const stayed = callers.filter(({ n }) => !LEAVES(n));
    const replies = await Promise.all(stayed.map(({ replied }) => replied));
    for (const [i, { n }] of stayed.entries()) {
      expect(joinContents(replies[i]!)).toBe(`you are caller ${n}.`);
      expect(replies[i]!.startsWith("201 : keep-alive\n\n: keep-alive\n\n")).toBe(IS_STREAM(n));
    }
    expect(managed.paths("/wake_up")).toHaveLength(1);
    // Each has its own socket, so the system decides which is read first.
    const asking = managed.paths("/v1/chat/completions").map(({ body }) => readCaller(body));
    expect(asking.sort()).toEqual(stayed.map(({ n }) => `caller ${n}`).sort());
    expect(upstream.asked.filter(({ path }) => path === "/ready").length).toBeWithin(10, 50);
    await managed.stop();
  });
});

test("gateway.states.model_status an idle managed server is on", async () => {
  const app = await startApp({ settings: STUB });
  const { data } = (await (await app.get("/v1/models")).json()) as { data: { status: string }[] };
  expect(data.map(({ status }) => status)).toEqual(["on", "on"]);
  expect((await app.get("/readyz", { key: null })).status).toBe(200);
  await app.stop();
});

describe("a managed server that does not start", () => {
  test("gateway.errors.model_offline gateway.errors.no_model_available is named only to callers that requested its model", async () => {
    const managed = await startManagedServer();
    managed.onWake = () => new Response("no such route", { status: 404 });
    const ask = (model?: string, stream = false) => managed.app.chat("Hi", { model, stream });
    const waiting = [ask("idle-1"), ask("svc"), ask(), ask("nobody-knows"), ask("idle-1", true)];
    await managed.until(() => managed.app.lines.length > 5);
    const gone = [503, "no_model_available", null];
    const offline = [503, "model_offline", null];
    const expected = [offline, gone, gone, gone, offline];
    expect(await Promise.all((await Promise.all(waiting)).map(readRefusal))).toEqual(
      expected as never,
    );
    // Meanwhile no caller waits, and no start is tried.
    expect(await readRefusal(await ask("idle-1"))).toEqual(offline as never);
    expect(await readRefusal(await ask())).toEqual(gone as never);
    expect(managed.paths("/wake_up")).toHaveLength(1);
    expect(managed.app.lines.at(-1)).toMatchObject({
      message: "chat: the model server failed",
      reason: "its unit did not start; not tried again for 5 s",
      code: "model_offline",
    });
    await managed.stop();
  });

  test("gateway.errors.upstream_timeout is a 504, and in a stream an error with that code", async () => {
    const managed = await startManagedServer('timeout = "30s"');
    const json = managed.app.chat("Hi", { model: "idle-1" });
    const stream = managed.app.chat("Hi", { model: "idle-1", stream: true });
    await managed.until(() => Bun.peek.status(json) !== "pending");
    expect(managed.app.clock.monotonic()).toBeWithin(30_000, 35_000);
    expect(await readRefusal(await json)).toEqual([504, "upstream_timeout", null]);
    const reply = await stream;
    expect(reply.status).toBe(201);
    const text = await reply.text();
    expect(text).toStartWith(": keep-alive\n\n");
    expect(text).toContain('"code":"upstream_timeout"');
    expect(text).toEndWith("data: [DONE]\n\n");
    await managed.stop();
  });
});

test("a managed server that vanished is started again for the request that found it gone", async () => {
  const managed = await startManagedServer();
  const first = managed.app.chat("Hi");
  await managed.until(() => Bun.peek.status(first) !== "pending");
  expect((await first).status).toBe(201);
  managed.die();
  const second = managed.app.chat("Hi");
  await managed.until(() => Bun.peek.status(second) !== "pending");
  expect((await second).status).toBe(201);
  expect(managed.paths("/wake_up")).toHaveLength(2);
  // Once: a server that every request kills is not restarted forever.
  managed.die();
  managed.answersNobody = true;
  const third = managed.app.chat("Hi");
  await managed.until(() => Bun.peek.status(third) !== "pending");
  expect(await readRefusal(await third)).toEqual([502, "upstream_error", null]);
  expect(managed.paths("/wake_up")).toHaveLength(3);
  await managed.stop();
});

/** The message of a request, as its caller wrote it. */
function readCaller({ messages }: AskedRequest["body"]): string {
  return (messages as { content: string }[]).at(-1)!.content;
}

/** The text of a reply, whole or in pieces. */
function joinContents(reply: string): string {
  return [...reply.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text).join("");
}

/** An app with a server that starts in 40 s after a wake-up; `lines` belong to its start table. */
async function startManagedServer(lines = "") {
  let woken_at_ms = Number.POSITIVE_INFINITY;
  const upstream = startUpstream((asked) => {
    const isUp = app.clock.monotonic() >= woken_at_ms + 40_000;
    if (asked.path === "/ping") return new Response();
    if (asked.path === "/wake_up") return managed.onWake();
    if (asked.path === "/ready") return new Response(null, { status: isUp ? 200 : 503 });
    // Behaves like a disconnected server.
    if (!isUp || managed.answersNobody)
      return new Response(null, { headers: { "content-length": "9" } });
    const says = `you are ${readCaller(asked.body)}.`;
    return asked.body.stream
      ? answerFrames([writeFrame({ content: says }, "stop"), DONE])
      : answerText(says);
  });
  const base = upstream.url.slice(0, -"/v1".length);
  const settings = `${UNLIMITED}
[[models]]
id = "idle-1"
self_hosted = true
[models.upstream]
kind = "openai"
urls = ["${upstream.url}"]
[models.upstream.start]
request = "POST ${base}/wake_up"
health = "${base}/ready"
${lines}
`;
  const app = await startApp({ settings });
  const step = async () => {
    await app.clock.advance(1_000);
    // By then any request to the server has been answered.
    await (await fetch(`${base}/ping`)).text();
  };
  const managed = {
    app,
    upstream,
    answersNobody: false,
    onWake(): Response {
      woken_at_ms = app.clock.monotonic();
      return new Response();
    },
    die() {
      woken_at_ms = Number.POSITIVE_INFINITY;
    },
    paths: (path: string) => upstream.asked.filter((asked) => asked.path === path),
    async pass(ms: number) {
      for (const endMs = app.clock.monotonic() + ms; app.clock.monotonic() < endMs; ) await step();
    },
    /** Advances the clock until a condition holds. */
    async until(hasHappened: () => boolean) {
      for (let seconds = 0; !hasHappened(); seconds++) {
        expect(seconds).toBeLessThan(120);
        await step();
      }
    },
    async stop() {
      await app.stop();
      await upstream.stop();
    },
  };
  return managed;
}
