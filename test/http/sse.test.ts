// Tests server-sent events to one caller: bytes, backpressure, and a departing caller.
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { type EventStream, openEventStream, watchIdle } from "../../src/http/sse.ts";
import { createManualClock } from "../support/clock.ts";
import { openRaw } from "./raw-client.ts";
import { createTestServer, describeRoute, type TestServer } from "./test-server.ts";

const KB = 1_024;
const failOnBug = (bug: unknown) => {
  throw bug;
};
/** A frame of this many bytes. */
const makeFrame = (bytes: number) => "x".repeat(bytes - "data: \n\n".length);

/** Reports whether a promise is settled once all pending turns have run. */
async function isPending(promise: void | Promise<void>): Promise<boolean> {
  let isSettled = false;
  void Promise.resolve(promise).then(() => {
    isSettled = true;
  });
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  return !isSettled;
}

test("gateway.events.1 frames and comments are sent unchanged, in order", async () => {
  const stream = openEventStream(new AbortController().signal, failOnBug);
  stream.send('{"a":"ü"}');
  stream.comment("keep-alive");
  stream.send("[DONE]");
  stream.close();
  const response = stream.answer(201, { "x-request-id": "mine", "content-type": "text/plain" });
  const text = 'data: {"a":"ü"}\n\n: keep-alive\n\ndata: [DONE]\n\n';
  // Known at the close, before the caller has read any.
  expect(stream.countSent()).toBe(Buffer.byteLength(text));
  expect(await response.text()).toBe(text);
  expect(response.status).toBe(201);
  expect(Object.fromEntries(response.headers)).toEqual({
    "cache-control": "no-cache, no-transform",
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no",
    "x-request-id": "mine",
  });
});

describe("a caller that does not read", () => {
  test("holds the source back from 64 KB on, and resumes it by reading", async () => {
    const stream = openEventStream(new AbortController().signal, failOnBug);
    const reader = stream.answer(200, {}).body!.getReader();
    expect(stream.send(makeFrame(63 * KB))).toBeUndefined();
    const first = stream.send(makeFrame(KB));
    const second = stream.send(makeFrame(KB));
    expect(first).toBeInstanceOf(Promise);
    expect([await isPending(first), await isPending(second)]).toEqual([true, true]);
    await reader.read();
    await Promise.all([first, second]);
    // The unread rest is far below the mark.
    expect(stream.send(makeFrame(KB))).toBeUndefined();
  });

  test("releases the source at the end of the stream", async () => {
    const stream = openEventStream(new AbortController().signal, failOnBug);
    const held = stream.send(makeFrame(64 * KB));
    expect(await isPending(held)).toBe(true);
    stream.close();
    expect(await isPending(held)).toBe(false);
  });

  test("gets nothing of what is sent because it has left", () => {
    const request = new AbortController();
    const stream = openEventStream(request.signal, failOnBug);
    stream.left.addEventListener("abort", () => void stream.send("late"));
    request.abort();
    expect(stream.countUnread()).toBe(0);
  });

  test("releases the source when it leaves, and receives no more", async () => {
    const stream = openEventStream(new AbortController().signal, failOnBug);
    const reader = stream.answer(200, {}).body!.getReader();
    const held = stream.send(makeFrame(64 * KB));
    expect(await isPending(held)).toBe(true);
    await reader.cancel();
    await held;
    expect(stream.left.aborted).toBe(true);
    expect(stream.send("more")).toBeUndefined();
    stream.comment("more");
    stream.close();
    stream.close();
  });
});

describe("a caller that leaves", () => {
  test("before the reply has begun aborts its request's signal", () => {
    const request = new AbortController();
    const stream = openEventStream(request.signal, failOnBug);
    expect(stream.left.aborted).toBe(false);
    request.abort();
    expect(stream.left.aborted).toBe(true);
    expect(stream.send("late")).toBeUndefined();
    stream.close();
  });

  test("before the stream was opened has left", () => {
    const stream = openEventStream(AbortSignal.abort(), failOnBug);
    expect(stream.left.aborted).toBe(true);
    expect(stream.send("late")).toBeUndefined();
    stream.close();
  });

  test("after the end has no effect", () => {
    const request = new AbortController();
    const stream = openEventStream(request.signal, failOnBug);
    stream.close();
    request.abort();
    expect(stream.left.aborted).toBe(false);
    expect(stream.send("late")).toBeUndefined();
  });
});

describe("over a socket", () => {
  const bugs: unknown[] = [];
  let http: TestServer;
  let opened: PromiseWithResolvers<EventStream>;
  /** The reply is sent once this resolves. */
  let answered: PromiseWithResolvers<void>;
  const request = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\n\r\n";

  beforeAll(async () => {
    http = createTestServer((router) =>
      router.get(
        "/v1/events",
        { ...describeRoute<never>(), isSlow: true },
        async ({ request, requestId }) => {
          const stream = openEventStream(request.signal, (bug) => void bugs.push(bug));
          opened.resolve(stream);
          await answered.promise;
          return stream.answer(200, { "x-request-id": requestId });
        },
      ),
    );
    await http.server.start();
  });
  afterAll(() => http.server.stop(0));

  const ask = async () => {
    opened = Promise.withResolvers();
    answered = Promise.withResolvers();
    const client = await openRaw(http.server.url);
    client.write(request);
    return { client, stream: await opened.promise };
  };
  test.each(["the pull of its reply", "the end of a turn"])(
    "a bug in %s is logged, and ends that stream alone",
    async (when) => {
      const { client, stream } = await ask();
      const bug = new Error("a bug");
      const breakFlush = () =>
        spyOn(Buffer, "byteLength").mockImplementationOnce(() => {
          throw bug;
        });
      if (when === "the pull of its reply") {
        stream.send("first");
        // Written once the socket is ready.
        await Promise.resolve();
        breakFlush();
        answered.resolve();
      } else {
        answered.resolve();
        stream.send("first");
        while (stream.countSent() === 0) await new Promise((resolve) => setImmediate(resolve));
        breakFlush();
        stream.send("second");
      }
      await hasLeft(stream);
      expect(bugs.splice(0)).toEqual([bug]);
      expect(stream.send("more")).toBeUndefined();
      client.leave();
      const other = await ask();
      answered.resolve();
      other.stream.send("unharmed");
      other.stream.close();
      expect(await other.client.read()).toMatchObject({ body: "data: unharmed\n\n" });
      other.client.leave();
    },
  );

  const hasLeft = (stream: EventStream) =>
    new Promise<void>((resolve) => {
      if (stream.left.aborted) resolve();
      stream.left.addEventListener("abort", () => resolve());
    });

  test("a caller that leaves before the reply is noticed", async () => {
    const { client, stream } = await ask();
    client.leave();
    await hasLeft(stream);
    stream.close();
    answered.resolve();
  });

  test("a caller that leaves during the stream is noticed", async () => {
    const { client, stream } = await ask();
    stream.send("first");
    answered.resolve();
    while (!client.rest().includes("first")) {
      await new Promise((resolve) => client.socket.once("data", resolve));
    }
    client.leave();
    await hasLeft(stream);
    stream.close();
  });

  test("a stream that ends leaves the connection for the next request", async () => {
    const { client, stream } = await ask();
    answered.resolve();
    stream.send("only");
    stream.close();
    expect(await client.read()).toMatchObject({ status: 200, body: "data: only\n\n" });
    opened = Promise.withResolvers();
    client.write(request);
    (await opened.promise).close();
    expect(await client.read()).toMatchObject({ status: 200, body: "" });
    client.leave();
  });

  test("a caller that does not read holds the source back, and gets all of it in the end", async () => {
    const { client, stream } = await ask();
    client.socket.pause();
    answered.resolve();
    const frame = makeFrame(64 * KB);
    const frames_max = 256;
    let sent = 0;
    let held: void | Promise<void>;
    do {
      held = stream.send(frame);
      sent++;
    } while (sent < frames_max && !(held && (await isPending(held))));
    expect(sent).toBeLessThan(frames_max);

    client.socket.resume();
    await held;
    stream.send("last");
    stream.close();
    const { body } = (await client.read())!;
    expect(body.match(/data: x/g)).toHaveLength(sent);
    expect(body).toEndWith("data: last\n\n");
    client.leave();
  });

  test("the caller's unread bytes are counted, including many small frames", async () => {
    const { client, stream } = await ask();
    client.socket.pause();
    answered.resolve();
    const frames = `data: ${makeFrame(64 * KB)}\n\n`;
    let sent = 0;
    while (stream.countUnread() <= 1_024 * KB) {
      void stream.pass(frames);
      sent++;
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.socket.resume();
    while (stream.countUnread() > 0) await new Promise((resolve) => setImmediate(resolve));
    stream.close();
    const { body } = (await client.read())!;
    expect(body).toBe(frames.repeat(sent));
    client.leave();
  });

  test("bytes of a piece that the socket could not take whole are unread, too", async () => {
    const { client, stream } = await ask();
    client.socket.pause();
    answered.resolve();
    const letters = 6 * KB * KB;
    void stream.pass("ä".repeat(letters));
    while (stream.countSent() === 0) await new Promise((resolve) => setImmediate(resolve));
    expect([stream.countSent(), stream.countUnread()]).toEqual([2 * letters, 2 * letters]);
    client.leave();
    await hasLeft(stream);
    stream.close();
  });
});

describe("a watch of silence", () => {
  const SILENCE_MS = 15_000;

  test("tells of each silence of fifteen seconds, and leaves no timer behind", async () => {
    const clock = createManualClock();
    let silences = 0;
    const idle = watchIdle(clock, () => {
      silences += 1;
    });
    await clock.advance(SILENCE_MS - 1);
    idle.end();
    await clock.advance(SILENCE_MS - 1);
    expect(silences).toBe(0);
    await clock.advance(1);
    expect(silences).toBe(1);
    await clock.advance(SILENCE_MS);
    expect(silences).toBe(2);
    idle.stop();
    expect(clock.pending()).toBe(0);
  });

  test("may be stopped by whom it tells", async () => {
    const clock = createManualClock();
    const idle = watchIdle(clock, () => idle.stop());
    await clock.advance(SILENCE_MS);
    expect(clock.pending()).toBe(0);
  });
});
