// Tests what a probe sends, and what it reads of a reply.
import { expect, test } from "bun:test";
import { createProbeClient, readCount, readWord } from "../../../src/models/probe/client.ts";
import { OWN_ACCOUNT, type TrustedEgress } from "../../../src/net/index.ts";
import { createManualClock } from "../../support/clock.ts";

/** A client of a server that answers each request with this status and text. */
function open(status: number | null, text: string) {
  const clock = createManualClock();
  const sent: unknown[] = [];
  const egress: TrustedEgress = {
    open(url, { headers }) {
      const send: ReturnType<TrustedEgress["open"]>["get"] = (_, listener, account) => {
        sent.push([url, headers.authorization, headers["x-team"], account]);
        queueMicrotask(() => {
          if (status === null) return;
          const header = (name: string) =>
            name === "date" ? "Sat, 28 Nov 2026 12:00:00 GMT" : null;
          listener.onHead({ status, header, length: null, isChunked: true, isKept: true });
          listener.onBody(Buffer.from(text));
          listener.onEnd();
        });
        return { cut() {}, pause() {}, resume() {} };
      };
      return {
        post: (body, headers, listener, account) => {
          sent.push(body);
          return send(headers, listener, account);
        },
        get: send,
      };
    },
    close() {},
  };
  const options = { api_key: "secret", headers: { "X-Team": "one" }, egress, clock };
  return { clock, sent, client: createProbeClient({ ...options, totalMs: 30_000 }) };
}

test("each request has the key and headers of the settings, and leaves no timer", async () => {
  const { client, sent, clock } = open(200, '{"a":1}');
  const date = Date.UTC(2026, 10, 28, 12);
  const reply = { status: 200, failure: null, text: '{"a":1}', json: { a: 1 }, date, tookMs: 0 };
  expect([await client.get("http://h/a"), await client.post("http://h/b", { b: 2 })]).toEqual([
    ...[reply, reply],
  ]);
  expect(sent).toEqual([
    ["http://h/a", "Bearer secret", "one", OWN_ACCOUNT],
    '{"b":2}',
    ["http://h/b", "Bearer secret", "one", OWN_ACCOUNT],
  ]);
  client.end();
  expect(clock.pending()).toBe(0);
});

test("JSON is read of good replies only, up to 1 MB", async () => {
  expect((await open(404, '{"a":1}').client.get("http://h")).json).toBeNull();
  const whole = await open(200, "x".repeat(1_048_576)).client.get("http://h");
  const more = await open(200, "x".repeat(1_048_577)).client.get("http://h");
  expect([whole.text?.length, more.text, more.status]).toEqual([1_048_576, null, 200]);
});

test("a question has five seconds, one to a model twenty, and all of them thirty", async () => {
  const { client, clock } = open(null, "");
  const asked = [client.get("http://h"), client.post("http://h", {})];
  const isOver = () => asked.map((reply) => Bun.peek.status(reply) !== "pending");
  await clock.advance(4_999);
  expect(isOver()).toEqual([false, false]);
  await clock.advance(1);
  expect(isOver()).toEqual([true, false]);
  await clock.advance(14_999);
  expect(isOver()).toEqual([true, false]);
  await clock.advance(1);
  expect(isOver()).toEqual([true, true]);
  const last = client.post("http://h", {});
  await clock.advance(10_000);
  expect(await last).toMatchObject({ status: null, failure: "left" });
});

test("words are short, on one line and safe on a terminal; counts are believable", () => {
  const x = "x".repeat(256);
  const words = [x, `${x}x`, "", "a b", "a\nb", "\u001b[31m", "\u202e", "\u2028", 7].map(readWord);
  expect(words).toEqual([x, null, null, "a b", null, null, null, null, null]);
  const counts = [0, 1, 100_000_000, 100_000_001, 1.5, -1, "1", null].map(readCount);
  expect(counts).toEqual([null, 1, 100_000_000, null, null, null, null, null]);
});
