// Traces of chats as a collector gets them: the request and each replica that was asked.
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeRequest } from "../../src/gateway/request-log/span.ts";
import { type AskOptions, startApp } from "../support/app.ts";
import { startCollector } from "../support/collector.ts";
import { findClosedPort } from "../support/ports.ts";
import { makeEntry } from "../support/request-log.ts";
import { answerText, startUpstream } from "../support/upstream.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const CLIENT = 3;
const SERVER = 2;
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const sampled = { headers: { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "a=1" } };

async function open(telemetry = "", more: readonly string[] = []) {
  const collector = startCollector();
  const upstream = startUpstream();
  const urls = JSON.stringify([...more, upstream.url]);
  const app = await startApp({
    settings: `[[models]]\nid = "m-1"\nprovider = "acme"\nself_hosted = true\n[models.upstream]
kind = "openai"\nmodel = "their-model"\nhealth_every = "0s"\nurls = ${urls}
[telemetry]\notlp = "${collector.url}"\n${telemetry}`,
    listens: true,
  });
  cleanups.push(collector.stop, upstream.stop, app.stop);
  const untilSpans = async (count: number) => {
    while (collector.spans().length < count) await app.clock.advance(1_000);
    return collector.spans().sort((one, other) => one.kind - other.kind);
  };
  const chat = async (fields: object = {}, options: AskOptions = {}) => {
    const reply = await app.chat("Hello", fields, options);
    await reply.text();
    return reply;
  };
  return { app, collector, upstream, chat, untilSpans };
}

test("a chat is a span below the caller's, with one of the replica below it", async () => {
  const { upstream, chat, untilSpans, app } = await open();
  expect((await chat({}, sampled)).status).toBe(201);
  const [server, client] = await untilSpans(2);
  expect(server).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    traceState: "a=1",
    name: "chat m-1",
    kind: SERVER,
    isError: false,
  });
  expect(server!.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m-1",
    "gen_ai.response.model": "m-1",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 3,
    "http.route": "/v1/chat/completions",
    "http.response.status_code": 201,
    "wadi.attempts": 1,
  });
  expect(server!.attributes).not.toHaveProperty(["error.type"]);
  const { hostname, port } = new URL(upstream.url);
  expect(client).toMatchObject({ name: "chat their-model", kind: CLIENT, traceId: TRACE });
  expect(client!.parentSpanId).toBe(server!.spanId);
  expect(client!.attributes).toMatchObject({
    "gen_ai.provider.name": "acme",
    "gen_ai.request.model": "their-model",
    "server.address": hostname,
    "server.port": Number(port),
  });
  const { headers } = upstream.asked[0]!;
  expect(headers.get("traceparent")).toBe(`00-${TRACE}-${client!.spanId}-01`);
  expect(headers.get("tracestate")).toBe("a=1");
  expect(JSON.stringify([server, client])).not.toContain("Hello");
  expect(app.lines.filter(({ level }) => level !== "info")).toEqual([]);
});

test("each replica that was asked has a span, and failures have their code", async () => {
  const dead = `http://127.0.0.1:${findClosedPort()}/v1`;
  const { upstream, chat, untilSpans } = await open("", [dead]);
  upstream.script = () => new Response("{}", { status: 500 });
  expect((await chat()).status).toBe(502);
  const [server, first, second] = await untilSpans(3);
  expect(server!.isError).toBeTrue();
  expect(server!.attributes).toMatchObject({
    "error.type": "upstream_error",
    "http.response.status_code": 502,
    "wadi.attempts": 2,
  });
  expect(server).not.toHaveProperty("parentSpanId");
  const ports = [first, second].map((span) => span!.attributes["server.port"]);
  expect(ports).toEqual([dead, upstream.url].map((url) => Number(new URL(url).port)));
  expect([first!.attributes, second!.attributes]).toMatchObject([
    { "error.type": expect.any(String) },
    { "error.type": "upstream_error", "http.response.status_code": 500 },
  ]);
});

test("a stream is one span that ends with its last frame, and has its whole text", async () => {
  const { upstream, chat, untilSpans } = await open("content = true\n");
  upstream.script = () => {
    const chunk = { choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] };
    const text = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  };
  expect((await chat({ stream: true })).status).toBe(201);
  const [server] = await untilSpans(2);
  expect(server!.attributes).toMatchObject({
    "wadi.request.is_stream": true,
    "gen_ai.response.finish_reasons": ["stop"],
  });
  expect(server!.attributes).toHaveProperty(["wadi.first_token.seconds"]);
  expect(JSON.parse(server!.attributes["gen_ai.output.messages"] as string)).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "Hi" }] },
  ]);
});

test("the spans of a stream hold no text of it without `content`", async () => {
  const { upstream, chat, untilSpans } = await open();
  upstream.script = () => answerText("Hello back");
  expect((await chat({ stream: true })).status).toBe(201);
  expect(JSON.stringify(await untilSpans(2))).not.toContain("Hello");
});

test("a refused chat is a span without attempts", async () => {
  const { app, chat, untilSpans } = await open();
  expect((await app.chat("Hello", { temperature: 9 })).status).toBe(400);
  expect((await chat()).status).toBe(201);
  const spans = await untilSpans(3);
  expect(spans.map(({ attributes }) => attributes["error.type"])).toEqual([
    "invalid_request",
    undefined,
    undefined,
  ]);
});

test("with `content` the messages are in the span, shortened", async () => {
  const { app, upstream, untilSpans } = await open("content = true\n");
  upstream.script = () => answerText("Hello back");
  expect((await app.chat("x".repeat(10_000))).status).toBe(201);
  const [server] = await untilSpans(2);
  const read = (name: string) => JSON.parse(server!.attributes[name] as string);
  expect(read("gen_ai.output.messages")).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "Hello back" }] },
  ]);
  const [{ parts }] = read("gen_ai.input.messages");
  expect(parts[0].content).toBe(`${"x".repeat(4_096)}…`);
  upstream.script = () => new Response("", { status: 500 });
  expect((await app.chat("Hello")).status).toBe(502);
  const failed = (await untilSpans(4)).find(({ attributes }) => attributes["error.type"])!;
  expect(failed.attributes).not.toHaveProperty(["gen_ai.output.messages"]);
});

describe("traces that are not recorded", () => {
  test("a caller that does not sample is passed on as it came", async () => {
    const { upstream, chat, collector, untilSpans } = await open();
    const traceparent = `00-${TRACE}-${PARENT}-00`;
    await chat({}, { headers: { traceparent } });
    await chat({}, sampled);
    await untilSpans(2);
    expect(upstream.asked[0]!.headers.get("traceparent")).toBe(traceparent);
    expect(collector.spans()).toHaveLength(2);
  });

  test("with a share of 0 nothing is sent", async () => {
    const { app, upstream, chat, collector } = await open("sample = 0\n");
    await chat({}, sampled);
    await chat();
    await app.clock.advance(10_000);
    expect(collector.requests).toEqual([]);
    expect(upstream.asked.map(({ headers }) => headers.get("traceparent"))).toEqual([
      sampled.headers.traceparent,
      null,
    ]);
  });
});

test("the collector's headers come from their file, and a stop sends what waits", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-headers-"));
  cleanups.push(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "headers");
  await Bun.write(file, "Authorization: Bearer secret-1\nx-scope: team-a\n");
  const { app, chat, collector } = await open(`headers_file = "${file}"\n`);
  await chat();
  await app.app.stop(0);
  const [request] = collector.requests;
  expect(request!.headers.get("authorization")).toBe("Bearer secret-1");
  expect(request!.headers.get("x-scope")).toBe("team-a");
  expect(request!.headers.get("content-type")).toBe("application/json");
  expect(collector.spans()).toHaveLength(2);
});

test("the log has the status of a collector that takes no spans, and none of its words", async () => {
  const { app, collector, chat } = await open("content = true\n");
  collector.reply(() => new Response(collector.requests.at(-1)!.text, { status: 400 }));
  await chat();
  const isComplaint = ({ message }: Record<string, unknown>) =>
    String(message).startsWith("telemetry:");
  while (!app.lines.some(isComplaint)) await app.clock.advance(1_000);
  expect(app.lines.filter(isComplaint)).toMatchObject([{ reason: "status 400" }]);
});

test("an image is named in the content of a span, without its address or bytes", () => {
  const image = { type: "image_url", image_url: { url: "https://private.example/face.png" } };
  const input = [{ role: "user", content: [{ type: "text", text: "Who?" }, image] }];
  const { content } = describeRequest(makeEntry("e-1"), { input, output: null } as never);
  expect(JSON.parse(content!["gen_ai.input.messages"] as string)).toEqual([
    { role: "user", parts: [{ type: "text", content: "Who?" }, { type: "image" }] },
  ]);
});
