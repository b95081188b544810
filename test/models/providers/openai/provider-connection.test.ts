// Tests servers that hang, die, redirect or never stop, and departing callers, over sockets.
import { afterEach, describe, expect, test } from "bun:test";
import type { OnChunk } from "../../../../src/models/providers/contract.ts";
import { findClosedPort } from "../../../support/ports.ts";
import {
  type AskedRequest,
  answerFrames,
  answerText,
  DONE,
  type ScriptedUpstream,
  startUpstream,
  writeFrame,
} from "../../../support/upstream.ts";
import { connectReplica, joinText } from "../replica.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A server for one request, which is a promise. */
function serve(answer: (asked: AskedRequest) => Response | Promise<Response>) {
  const asked = Promise.withResolvers<AskedRequest>();
  const upstream: ScriptedUpstream = startUpstream((one) => {
    asked.resolve(one);
    return answer(one);
  });
  stops.push(upstream.stop);
  return { url: upstream.url, upstream, asked: asked.promise };
}

/** A server that sends raw bytes, and hangs up on request. */
function serveRaw(text: string, end: "close" | "reset") {
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.write(text);
        if (end === "close") socket.end();
        else socket.terminate();
      },
    },
  });
  stops.push(() => server.stop(true));
  return `http://127.0.0.1:${server.port}/v1`;
}

const never = () => new Promise<Response>(() => undefined);
/** A stream that sends this and then nothing more. */
const sayAndHang = (...frames: string[]) => {
  const body = new ReadableStream({
    start(controller) {
      for (const frame of frames) controller.enqueue(new TextEncoder().encode(frame));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};
const aborted = ({ signal }: AskedRequest) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

describe("a server that", () => {
  const BROKEN: [title: string, url: () => string, stream: boolean][] = [
    ["refuses connections", () => "http://127.0.0.1:1/v1", false],
    ["has no address", () => "http://nowhere.invalid/v1", false],
    ["hangs up at once", () => serveRaw("", "close"), false],
    ["resets at once", () => serveRaw("", "reset"), true],
    ["sends garbage", () => serveRaw("What?\r\n\r\n", "close"), false],
    [
      "hangs up in the middle of a reply",
      () => serveRaw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", "close"),
      false,
    ],
    [
      "hangs up in the middle of a stream",
      () =>
        serveRaw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\n: hi\n\n\r\n", "reset"),
      true,
    ],
  ];
  for (const [title, url, stream] of BROKEN) {
    test(`${title} is an upstream error`, async () => {
      const { completion } = connectReplica(url()).ask({ stream });
      expect(await completion).toMatchObject({
        ok: false,
        code: "upstream_error",
        retryable: true,
      });
    });
  }

  test("redirects is an upstream error, and is not followed", async () => {
    const { url, upstream } = serve(() => Response.redirect(`${upstream.url}/elsewhere`, 307));
    const { completion } = connectReplica(url).ask();
    expect(await completion).toMatchObject({ code: "upstream_error", upstreamStatus: 307 });
    expect(upstream.asked.length).toBe(1);
  });

  test("does not answer in time is timed out, and its connection closed", async () => {
    for (const stream of [false, true]) {
      const { url, asked } = serve(never);
      const replica = connectReplica(url, { first_token_timeout_ms: 5_000 });
      const { completion } = replica.ask({ stream });
      const one = await asked;
      await replica.clock.advance(5_000);
      // A whole reply has no head before its end: its server may be working on it.
      const noResponse = stream ? "surely" : "perhaps";
      expect(await completion).toMatchObject({
        code: "upstream_timeout",
        retryable: false,
        noResponse,
      });
      await aborted(one);
    }
  });

  test("sends only comments and its role is timed out all the same", async () => {
    const { url, asked } = serve(() => sayAndHang(": hi\n\n", writeFrame({ role: "assistant" })));
    const replica = connectReplica(url, { first_token_timeout_ms: 5_000, stall_timeout_ms: 1_000 });
    const { completion, heard } = replica.ask({ stream: true });
    await asked;
    await replica.clock.advance(4_999);
    expect(Bun.peek.status(completion)).toBe("pending");
    await replica.clock.advance(1);
    expect(await completion).toMatchObject({ code: "upstream_timeout" });
    expect(heard).toEqual([]);
  });

  test("stalls after it began is an upstream error", async () => {
    const { url, asked } = serve(() => sayAndHang(writeFrame({ content: "Hel" })));
    const replica = connectReplica(url, { stall_timeout_ms: 1_000 });
    const { completion, began } = replica.ask({ stream: true });
    await began;
    await replica.clock.advance(1_000);
    expect(await completion).toMatchObject({
      code: "upstream_error",
      reason: "its stream stalled",
    });
    await aborted(await asked);
  });

  test("stalls after its caller has read on is an upstream error, and the caller is not blamed", async () => {
    const { url } = serve(() => sayAndHang(writeFrame({ content: "Hel" })));
    const replica = connectReplica(url, { stall_timeout_ms: 1_000 });
    const read = Promise.withResolvers<void>();
    const { completion, began } = replica.ask({ stream: true }, () => read.promise);
    await began;
    await replica.clock.advance(999);
    read.resolve();
    await replica.clock.advance(999);
    expect(Bun.peek.status(completion)).toBe("pending");
    await replica.clock.advance(1);
    expect(await completion).toMatchObject({
      code: "upstream_error",
      reason: "its stream stalled",
    });
  });

  for (const [title, ...end] of [
    ["its reason", writeFrame({ content: "Hello" }, "stop")],
    ["[DONE]", writeFrame({ content: "Hello" }) + DONE],
  ] as const) {
    test(`keeps its connection after ${title} is not waited for`, async () => {
      const { url, asked } = serve(() => sayAndHang(...end));
      const replica = connectReplica(url);
      const { completion, began } = replica.ask({ stream: true });
      await began;
      await replica.clock.advance(2_000);
      expect(await completion).toMatchObject({ ok: true, finishReason: "stop" });
      await aborted(await asked);
    });
  }

  test("keeps its connection after [DONE] has completed all the same", async () => {
    const { url, asked } = serve(() => sayAndHang(writeFrame({ content: "Hello" }), DONE));
    const replica = connectReplica(url);
    expect(await replica.ask({ stream: true }).completion).toMatchObject({ ok: true });
    await replica.clock.advance(2_000);
    await aborted(await asked);
    expect(replica.clock.pending()).toBe(0);
  });

  test("sends more after its end is not waited for either", async () => {
    const chunk = new TextEncoder().encode('data: {"choices":[]}\n\n');
    let talk = () => {};
    const { url, asked } = serve(() => {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(writeFrame({ content: "Hello" }, "stop")));
          talk = () => controller.enqueue(chunk);
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const replica = connectReplica(url);
    const { completion, began } = replica.ask({ stream: true });
    await began;
    for (let second = 0; second < 2; second++) {
      talk();
      await replica.clock.advance(1_000);
    }
    expect(await completion).toMatchObject({ ok: true, finishReason: "stop" });
    await aborted(await asked);
  });

  for (const stream of [false, true]) {
    test(`sends 100 MB as ${stream ? "a stream" : "a reply"} is cut off at 16`, async () => {
      const piece = new TextEncoder().encode(`: ${"x".repeat(1_000_000)}`);
      let sent = 0;
      const { url, asked } = serve(() => {
        const body = new ReadableStream({
          pull(controller) {
            sent += piece.length;
            if (sent > 100_000_000) controller.close();
            else controller.enqueue(piece);
          },
        });
        const type = stream ? "text/event-stream" : "application/json";
        return new Response(body, { headers: { "content-type": type } });
      });
      const { completion } = connectReplica(url).ask({ stream });
      const reason = `its ${stream ? "stream" : "reply"} is larger than 16 MB`;
      expect(await completion).toMatchObject({ code: "upstream_error", reason });
      await aborted(await asked);
      expect(sent).toBeLessThan(50_000_000);
    });
  }

  test("cannot be reached in time is timed out", async () => {
    const asked = Promise.withResolvers<void>();
    const listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: () => asked.resolve() },
    });
    stops.push(() => listener.stop(true));
    const url = `https://127.0.0.1:${listener.port}/v1`;
    const replica = connectReplica(url, { connect_timeout_ms: 700 });
    const { completion } = replica.ask();
    await asked.promise;
    await replica.clock.advance(700);
    const reason = "it could not be reached in time";
    expect(await completion).toMatchObject({ code: "upstream_timeout", retryable: true, reason });
  });

  test("announces 100 MB is not read at all", async () => {
    const head = "HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n{";
    const { completion } = connectReplica(serveRaw(head, "close")).ask();
    expect(await completion).toMatchObject({ reason: "its reply is larger than 16 MB" });
  });
});

test("a failure tells whether the server sent any response, and whether it got the request", async () => {
  const failing = new ReadableStream({
    pull(controller) {
      controller.error(new Error("broken"));
    },
  });
  const fail = (server: Parameters<typeof connectReplica>[0]) =>
    connectReplica(server).ask().completion;
  const refused = await fail(`http://127.0.0.1:${findClosedPort()}/v1`);
  expect(refused).toMatchObject({ code: "upstream_error", noResponse: "surely", isUnsent: true });
  const silent = await fail(() => Promise.reject(new Error("broken")));
  expect(silent).toMatchObject({ code: "upstream_error", noResponse: "surely" });
  expect(silent).not.toHaveProperty("isUnsent");
  const broken = await fail(() => new Response(failing));
  expect(broken).toMatchObject({ code: "upstream_error", retryable: true });
  expect(broken).not.toHaveProperty("noResponse");
});

describe("a caller who leaves ends the request at once", () => {
  test("before any output", async () => {
    const { url, asked } = serve(never);
    const { completion, caller } = connectReplica(url).ask();
    const one = await asked;
    caller.abort();
    expect(await completion).toMatchObject({ code: "client_closed_request", retryable: false });
    await aborted(one);
  });

  test("during a stream", async () => {
    const { url, asked } = serve(() => sayAndHang(writeFrame({ content: "Hel" })));
    const { completion, caller, heard, began } = connectReplica(url).ask({ stream: true });
    await began;
    caller.abort();
    expect(await completion).toMatchObject({ code: "client_closed_request" });
    expect(joinText(heard)).toBe("Hel");
    await aborted(await asked);
  });

  test("and gets nothing more once the chunk that it held back is taken", async () => {
    const frames = [writeFrame({ content: "a" }) + writeFrame({ content: "b" })];
    const { url } = serve(() => sayAndHang(...frames));
    const read = Promise.withResolvers<void>();
    const replica = connectReplica(url);
    const { completion, caller, heard, began } = replica.ask({ stream: true }, () => read.promise);
    await began;
    caller.abort();
    expect(await completion).toMatchObject({ code: "client_closed_request" });
    read.resolve();
    await replica.clock.advance(0);
    expect(joinText(heard)).toBe("a");
  });

  test("during an error", async () => {
    const replica = connectReplica(() => new Response(new ReadableStream({}), { status: 500 }));
    const { completion, caller } = replica.ask();
    // The status has arrived, and its body is waited for.
    await replica.clock.advance(1_999);
    caller.abort();
    expect(await completion).toMatchObject({ code: "client_closed_request" });
  });

  test("before it was sent", async () => {
    const replica = connectReplica("http://127.0.0.1:1/v1");
    const { completion, caller } = replica.ask();
    caller.abort();
    expect(await completion).toMatchObject({ code: "client_closed_request" });
  });

  test("and one who no longer reads counts as departed", async () => {
    const { url, asked } = serve(() => sayAndHang(writeFrame({ content: "a" })));
    const replica = connectReplica(url, { stall_timeout_ms: 1_000 });
    const neverReads: OnChunk = () => new Promise(() => undefined);
    const { completion, began } = replica.ask({ stream: true }, neverReads);
    await began;
    await replica.clock.advance(1_000);
    expect(await completion).toMatchObject({
      code: "client_closed_request",
      reason: "the caller stopped reading",
    });
    await aborted(await asked);
  });
});

test("a connection is reused after a whole reply and after a whole stream", async () => {
  const ports = new Set<number>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request, self) {
      ports.add(self.requestIP(request)!.port);
      const { stream } = (await request.json()) as { stream?: boolean };
      return stream ? answerFrames([writeFrame({ content: "a" }, "stop"), DONE]) : answerText("a");
    },
  });
  stops.push(() => server.stop(true));
  const replica = connectReplica(`http://127.0.0.1:${server.port}/v1`);
  for (const stream of [false, true, false, true, true]) {
    expect(await replica.ask({ stream }).completion).toMatchObject({ ok: true });
    await replica.clock.advance(20);
  }
  expect(ports.size).toBe(1);
});

test("no timer and no listener is left", async () => {
  const { url } = serve(() => answerFrames([writeFrame({ content: "a" }, "stop"), DONE]));
  const replica = connectReplica(url);
  await replica.ask({ stream: true }).completion;
  replica.egress.close();
  expect(replica.clock.pending()).toBe(0);
});
