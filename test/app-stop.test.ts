// The stop of the whole app: requests get time to end, and at the deadline every caller gets an
// error.
import { expect, test } from "bun:test";
import { openRaw } from "./http/raw-client.ts";
import { KEY, startApp, type TestApp } from "./support/app.ts";
import { answerFrames, startUpstream, writeFrame, writeSettings } from "./support/upstream.ts";

const STOP_MS = 30_000;

/** The frames of a stream, read to its end. */
const readFrames = async (response: Response) =>
  (await response.text()).split("\n\n").filter((frame) => frame.startsWith("data: "));

/** Stops an app whose deadline has passed, and the second for last replies. */
async function stopLate({ app, clock }: TestApp, stop_ms = STOP_MS): Promise<void> {
  const stopping = app.stop(stop_ms);
  await clock.advance(stop_ms);
  await clock.advance(1_000);
  await stopping;
}

test("gateway.events.4, gateway.events.1 a stream that is open at the deadline ends with an error and [DONE]", async () => {
  const app = await startApp({ listens: true });
  const response = await app.chat("!say Hello\n!stall", { stream: true });
  expect(response.status).toBe(201);
  const frames = readFrames(response);
  await stopLate(app);
  const all = await frames;
  expect(all.at(-1)).toBe("data: [DONE]");
  const { error, request_id } = JSON.parse(all.at(-2)!.slice("data: ".length));
  expect(error).toMatchObject({ code: "upstream_error", type: "server_error" });
  expect(request_id).toBe(response.headers.get("x-request-id"));
  // No frame reports a regular end.
  expect(all.join("")).not.toContain('"finish_reason":"');
  expect(await app.logged("upstream_error")).toMatchObject({
    level: "info",
    message: "the program stopped before the answer was whole",
  });
});

test("gateway.errors.upstream_error a request that waits for anything at the deadline gets an ordinary 502", async () => {
  const arrived = Promise.withResolvers<void>();
  let aborted = 0;
  const gone = Promise.withResolvers<void>();
  const upstream = startUpstream(({ signal }) => {
    if (upstream.asked.length === 2) arrived.resolve();
    signal.addEventListener("abort", () => {
      if (++aborted === 2) gone.resolve();
    });
    return new Promise<Response>(() => {});
  });
  const app = await startApp({ listens: true, settings: writeSettings(upstream.url) });
  const replies = Promise.all([app.chat("Hello"), app.chat("Hello", { stream: true })]);
  await arrived.promise;
  // Before the first keep-alive, with which a stream begins.
  await stopLate(app, 14_000);
  for (const reply of await replies) {
    expect(reply.status).toBe(502);
    expect(((await reply.json()) as { code: string }).code).toBe("upstream_error");
  }
  // The model server's request is cancelled, too.
  await gone.promise;
  await upstream.stop();
});

test("a stream whose model finishes before the deadline ends normally", async () => {
  const end = Promise.withResolvers<void>();
  const upstream = startUpstream(() => {
    const frames = answerFrames([writeFrame({ content: "a" })]);
    const tail = answerFrames([writeFrame({ content: "b" }), writeFrame({}, "stop")]);
    const body = async function* () {
      yield* frames.body!;
      await end.promise;
      yield* tail.body!;
    };
    return new Response(body(), { headers: { "content-type": "text/event-stream" } });
  });
  const app = await startApp({ listens: true, settings: writeSettings(upstream.url) });
  const response = await app.chat("Hello", { stream: true });
  const stopping = app.app.stop(STOP_MS);
  await app.clock.advance(STOP_MS - 1);
  end.resolve();
  const all = await readFrames(response);
  await stopping;
  expect(all.join("")).toContain('"finish_reason":"stop"');
  expect(all.at(-1)).toBe("data: [DONE]");
  await upstream.stop();
});

test("a caller that reads nothing does not keep the process alive", async () => {
  const gone = Promise.withResolvers<void>();
  const upstream = startUpstream(({ signal }) => {
    signal.addEventListener("abort", () => gone.resolve());
    const frame = writeFrame({ content: "x".repeat(60_000) });
    const body = async function* () {
      while (!signal.aborted) yield frame;
    };
    return new Response(body(), { headers: { "content-type": "text/event-stream" } });
  });
  const app = await startApp({ listens: true, settings: writeSettings(upstream.url) });
  const client = await openRaw(app.url);
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hello" }], stream: true });
  client.write(
    "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" +
      `Authorization: Bearer ${KEY}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await new Promise((resolve) => client.socket.once("data", resolve));
  client.socket.pause();
  await stopLate(app);
  await gone.promise;
  client.socket.destroy();
  await upstream.stop();
});

test("/readyz reports the stop", async () => {
  const app = await startApp();
  expect((await app.get("/readyz")).status).toBe(200);
  await app.app.start();
  const stopping = app.app.stop(STOP_MS);
  expect((await app.get("/readyz")).status).toBe(503);
  expect((await app.get("/healthz")).status).toBe(200);
  const refused = await app.chat("Hello");
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { code: "service_unavailable" },
  ]);
  await stopping;
});
