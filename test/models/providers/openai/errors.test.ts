// Tests the meaning of each known server's errors for the caller.
import { describe, expect, test } from "bun:test";
import { EVENT_ERRORS, SERVER_ERRORS } from "../../../support/server-errors.ts";
import { answerFrames, DONE } from "../../../support/upstream.ts";
import { connectReplica } from "../replica.ts";

describe("a server's error is classified by its status and its text:", () => {
  for (const [title, status, body, code, retryable] of SERVER_ERRORS) {
    for (const stream of [false, true]) {
      test(`${title}${stream ? ", for a stream" : ""}`, async () => {
        const headers = { "retry-after": "7", server: "nginx" };
        const replica = connectReplica(() => new Response(body, { status, headers }));
        const { heard, completion } = replica.ask({ stream });
        expect(await completion).toEqual({
          ok: false,
          code,
          retryable,
          reason: expect.any(String),
          upstreamStatus: status,
          // With another status the text would mean something else.
          ...(status === 429 || status === 503 ? { retryAfterMs: 7_000 } : {}),
        } as never);
        expect(heard).toEqual([]);
      });
    }
  }
});

describe("an error with status 200 is classified by its text, and by the status in it:", () => {
  for (const [title, event, code] of EVENT_ERRORS) {
    test(title, async () => {
      const whole = connectReplica(() => new Response(event)).ask();
      expect(await whole.completion).toMatchObject({ ok: false, code });
      const server = () => answerFrames([`data: ${event}\n\n`, DONE]);
      const streamed = connectReplica(server).ask({ stream: true });
      expect(await streamed.completion).toMatchObject({ ok: false, code });
    });
  }
});

test("a huge error body is not read", async () => {
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      sent += 65_536;
      controller.enqueue(new Uint8Array(65_536));
    },
  });
  const { completion } = connectReplica(() => new Response(body, { status: 400 })).ask();
  expect(await completion).toMatchObject({ code: "upstream_error", upstreamStatus: 400 });
  expect(sent).toBeLessThan(1_000_000);
});

test("an error whose body breaks off is classified by its status", async () => {
  const body = new ReadableStream({
    pull(controller) {
      controller.error(new Error("broken"));
    },
  });
  const { completion } = connectReplica(() => new Response(body, { status: 429 })).ask();
  expect(await completion).toMatchObject({ code: "upstream_rate_limited" });
});

test("an error whose body never arrives is classified by its status too, after two seconds", async () => {
  const replica = connectReplica(() => new Response(new ReadableStream({}), { status: 429 }));
  const { completion } = replica.ask();
  await replica.clock.advance(1_999);
  expect(Bun.peek.status(completion)).toBe("pending");
  await replica.clock.advance(1);
  expect(await completion).toMatchObject({ code: "upstream_rate_limited", upstreamStatus: 429 });
});

test("a status of 400 inside a reply of 200 is a refusal, which no other replica is asked after", async () => {
  const server = () => Response.json({ error: { code: 400, message: "a wrong field" } });
  expect(await connectReplica(server).ask().completion).toMatchObject({
    ...{ ok: false, code: "upstream_error", upstreamStatus: 400, retryable: false },
  });
});
