// Tests the meaning of each known server's errors for the caller.
import { describe, expect, test } from "bun:test";
import type { UpstreamError } from "../../../../src/models/providers/contract.ts";
import { connectionError, timeoutError } from "../../../../src/models/providers/openai/errors.ts";
import type { FetchFailure } from "../../../../src/net/index.ts";
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

test("an error's text is read up to 64 KB", async () => {
  const read = (bytes: number) => {
    const body = "context length".padEnd(bytes);
    return connectReplica(() => new Response(body, { status: 400 })).ask().completion;
  };
  expect(await read(65_536)).toMatchObject({ code: "context_length_exceeded" });
  expect(await read(65_537)).toMatchObject({ code: "upstream_error", upstreamStatus: 400 });
});

test("a failure tells whether its server has read the request, and another may do better", () => {
  const read = (failure: FetchFailure) => {
    const { code, retryable, isUnsent } = connectionError(failure);
    return [failure, code, retryable, isUnsent ?? false];
  };
  expect((["refused", "dns", "tls", "timeout", "reset", "other"] as const).map(read)).toEqual([
    ["refused", "upstream_error", true, true],
    ["dns", "upstream_error", true, true],
    ["tls", "upstream_error", true, true],
    ["timeout", "upstream_timeout", true, true],
    ["reset", "upstream_error", true, false],
    ["other", "upstream_error", true, false],
  ]);
  const ends = (["left", "deaf", "late", "stalled"] as const).map(timeoutError);
  expect(ends.map(({ code, retryable }) => [code, retryable])).toEqual([
    ["client_closed_request", false],
    ["client_closed_request", false],
    ["upstream_timeout", false],
    ["upstream_error", true],
  ]);
});

test("only a server that has sent no status counts as silent", async () => {
  const end = async (
    server: () => Response | Promise<Response>,
    act: (replica: ReturnType<typeof connectReplica>, caller: AbortController) => unknown,
    stream = true,
  ) => {
    const replica = connectReplica(server);
    const { completion, caller } = replica.ask({ stream });
    await replica.clock.advance(0);
    await act(replica, caller);
    const { code, noResponse } = (await completion) as UpstreamError;
    return [code, noResponse];
  };
  const never = () => new Promise<Response>(() => {});
  const late = ({ clock }: ReturnType<typeof connectReplica>) => clock.advance(120_000);
  expect(await end(never, late)).toEqual(["upstream_timeout", "surely"]);
  expect(await end(never, late, false)).toEqual(["upstream_timeout", "perhaps"]);
  const leave = (_: unknown, caller: AbortController) => caller.abort();
  expect(await end(never, leave)).toEqual(["client_closed_request", undefined]);
  const silent = () => new Response(new ReadableStream({}));
  expect(await end(silent, late)).toEqual(["upstream_timeout", undefined]);
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
  const others = [399, 599, 600].map((code) => () => Response.json({ error: { code } }));
  const statuses = others.map(async (other) => {
    const completion = await connectReplica(other).ask().completion;
    return completion.ok ? "ok" : completion.upstreamStatus;
  });
  expect(await Promise.all(statuses)).toEqual([undefined, 599, undefined]);
});
