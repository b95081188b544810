// Tests a caller's trace to the model server and the log, and the timing of replies.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeServerTiming } from "../../src/gateway/server-timing.ts";
import { startApp, type TestApp } from "../support/app.ts";
import {
  answerText,
  type ScriptedUpstream,
  startUpstream,
  writeSettings,
} from "../support/upstream.ts";

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

let upstream: ScriptedUpstream;
let app: TestApp;
beforeAll(async () => {
  upstream = startUpstream();
  app = await startApp({ settings: writeSettings(upstream.url) });
});
afterAll(async () => {
  await app.stop();
  await upstream.stop();
});

const sent = () => {
  const { headers } = upstream.asked.at(-1)!;
  return [headers.get("traceparent"), headers.get("tracestate")];
};

test("a trace is passed on unchanged, and a missing one stays missing", async () => {
  await app.chat("Hello", {}, { headers: { traceparent, tracestate: "a=1" } });
  expect(sent()).toEqual([traceparent, "a=1"]);
  await app.chat("Hello", {}, { headers: { traceparent } });
  expect(sent()).toEqual([traceparent, null]);
  await app.chat("Hello", {}, { headers: { tracestate: "a=1" } });
  expect(sent()).toEqual([null, null]);
});

test("a malformed trace is ignored, and the request succeeds", async () => {
  const reply = await app.chat("Hello", {}, { headers: { traceparent: "00-0-0-0" } });
  expect([reply.status, ...sent()]).toEqual([201, null, null]);
});

test("the log lines of a request name its trace", async () => {
  upstream.script = () => new Response("no", { status: 500 });
  await app.chat("Hello", {}, { headers: { traceparent } });
  expect(app.lines.at(-1)).toMatchObject({
    code: "upstream_error",
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
  });
  await app.chat("Hello");
  expect(app.lines.at(-1)).not.toHaveProperty("trace_id");
});

test("a JSON reply reports its timing, and other replies do not", async () => {
  upstream.script = () => answerText("Hello");
  const reply = await app.chat("Hello");
  expect(reply.headers.get("server-timing")).toBe("wait;dur=0, upstream;dur=0, total;dur=0");
  const refused = await app.post("/v1/chat/completions", {});
  const stream = await app.chat("Hello", { stream: true });
  await stream.text();
  for (const other of [refused, stream]) expect(other.headers.has("server-timing")).toBe(false);
});

test("waiting time is excluded from the server's time", () => {
  expect(writeServerTiming(1_000.04, 900.06, 200)).toBe(
    "wait;dur=200, upstream;dur=700.1, total;dur=1000",
  );
  expect(writeServerTiming(5, 4)).toBe("wait;dur=0, upstream;dur=4, total;dur=5");
});
