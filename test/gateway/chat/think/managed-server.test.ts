// Tests deep thinking with a managed server: one start, one wait, and keep-alives.
import { expect, test } from "bun:test";
import { readRefusal } from "../../../spec/gateway/refusal.ts";
import { startApp, type TestApp } from "../../../support/app.ts";
import { readRequestLog } from "../../../support/request-log.ts";
import { answerText, startUpstream } from "../../../support/upstream.ts";

const STUB = `[[models]]
id = "idle-1"
self_hosted = true
upstream = { kind = "stub", start_delay = "40s" }
`;

async function readRow({ app, clock }: TestApp) {
  await clock.advance(25);
  return (await readRequestLog(app.database).entries()).at(-1);
}

const countStarts = ({ lines }: TestApp) =>
  lines.filter(({ message }) => message === "autostart: model server is being started").length;

test("all attempts wait for one start, and a stream gets a comment every 15 s", async () => {
  const app = await startApp({ settings: STUB });
  const replied = app.chat("Hello", { think: true, stream: true });
  await app.clock.advance(40_000);
  const text = await (await replied).text();
  expect(text).toStartWith(": keep-alive\n\n: keep-alive\n\ndata: ");
  expect(text).toContain('"content":"You said: Hello"');
  expect(countStarts(app)).toBe(1);
  // The attempts wait in parallel, so the longest wait is the total.
  expect(await readRow(app)).toMatchObject({ status: 201, waited_ms: 40_000 });
  await app.stop();
});

/** Its prompt is so long that only its own server can count whether it fits. */
async function openCounted(timeout = "60s") {
  let isUp = false;
  const upstream = startUpstream(({ path }) => {
    if (path === "/ready") return new Response(null, { status: isUp ? 200 : 503 });
    if (path === "/wake_up") return new Response(null);
    if (path.endsWith("/completions")) return answerText("42");
    return Response.json({ count: 300, max_model_len: 1_000, tokens: [] });
  });
  const root = upstream.url.replace("/v1", "");
  const settings = `[[models]]
id = "idle-1"
self_hosted = true
context_window = 1_000
default_max_tokens = 100
[models.upstream]
kind = "openai"
urls = ["${upstream.url}"]
first_token_timeout = "600s"
[models.upstream.start]
request = "POST ${root}/wake_up"
health = "${root}/ready"
timeout = "${timeout}"
`;
  const app = await startApp({ settings });
  const countRequests = (path: string) =>
    upstream.asked.filter((one) => one.path.endsWith(path)).length;
  /** Advances time in steps, between which the sockets have a turn. */
  const until = async (isDone: () => boolean) => {
    while (!isDone()) {
      await app.clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return {
    app,
    countRequests,
    until,
    wake: () => {
      isUp = true;
    },
    async stop() {
      await app.stop();
      await upstream.stop();
    },
  };
}

test("a request that waited for the token count waits no more, and is counted once", async () => {
  const { app, countRequests, until, wake, stop } = await openCounted();
  const replied = app.chat("word ".repeat(150), { think: true });
  await until(() => countRequests("/wake_up") === 1 && app.clock.monotonic() >= 5_000);
  wake();
  await until(() => Bun.peek.status(replied) !== "pending");
  expect((await replied).status).toBe(201);
  expect([
    countRequests("/wake_up"),
    countRequests("/completions"),
    countRequests("/tokenize"),
  ]).toEqual([1, 3, 1]);
  const row = await readRow(app);
  expect(row).toMatchObject({ status: 201, attempts: 3 });
  expect(row!.waited_ms).toBeGreaterThanOrEqual(5_000);
  await stop();
});

test("a start that failed for the token count is reported once, and not retried by each attempt", async () => {
  const { app, countRequests, until, stop } = await openCounted("30s");
  const replied = app.chat("word ".repeat(150), { think: true });
  await until(() => Bun.peek.status(replied) !== "pending");
  expect(await readRefusal(await replied)).toEqual([504, "upstream_timeout", null]);
  expect([countRequests("/wake_up"), countRequests("/completions")]).toEqual([1, 0]);
  const row = await readRow(app);
  expect(row).toMatchObject({ status: 504, attempts: 0 });
  expect(row!.waited_ms).toBeGreaterThanOrEqual(30_000);
  await stop();
});
