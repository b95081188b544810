// Tests what becomes of a request to the collector, by its reply or without one.
import { expect, test } from "bun:test";
import type { ReplyHead, ReplyListener, TrustedEgress } from "../../src/net/index.ts";
import { openCollector } from "../../src/telemetry/collector.ts";
import { createManualClock } from "../support/clock.ts";

function open() {
  const clock = createManualClock();
  const seen = { url: "", headers: {}, body: "", cuts: 0 };
  let listener: ReplyListener | undefined;
  const server = {
    post(body: string, _: object, given: ReplyListener) {
      listener = given;
      seen.body = body;
      return { cut: () => void seen.cuts++ };
    },
  };
  const egress = {
    open(url: string, { headers }: { headers: object }) {
      Object.assign(seen, { url, headers });
      return server;
    },
  } as unknown as TrustedEgress;
  const otlp = { otlp: "http://collector:4318", headers: { "x-tenant": "one" } };
  const send = openCollector("/v1/traces", otlp, { egress, clock });
  /** Sends a body, which is answered with this status and these pieces. */
  const answer = (status: number, ...pieces: string[]) => {
    const sent = send("{}");
    listener!.onHead({ status } as ReplyHead);
    for (const piece of pieces) listener!.onBody(Buffer.from(piece));
    listener!.onEnd();
    return sent;
  };
  return { clock, seen, send, answer, fail: () => listener!.onFailure("reset") };
}

test("a request goes to the path below the address, with the settings' headers", async () => {
  const { seen, answer } = open();
  await answer(200);
  expect(seen).toMatchObject({ url: "http://collector:4318/v1/traces", body: "{}", cuts: 0 });
  expect(seen.headers).toMatchObject({ "content-type": "application/json", "x-tenant": "one" });
});

test("a status tells whether the same is sent again", async () => {
  const { answer } = open();
  for (const status of [429, 502, 503, 504]) {
    expect(await answer(status)).toEqual({ kind: "later", reason: `status ${status}` });
  }
  for (const status of [199, 300, 302, 400, 401, 500]) {
    expect(await answer(status)).toEqual({ kind: "refused", reason: `status ${status}` });
  }
  for (const status of [200, 202, 299]) {
    expect(await answer(status)).toEqual({ kind: "taken", rejected: 0 });
  }
});

test("a part that was not taken is counted, in any form of its number", async () => {
  const { answer } = open();
  const rejectedOf = async (partialSuccess: unknown) => {
    const sent = await answer(200, JSON.stringify({ partialSuccess }));
    return sent.kind === "taken" && sent.rejected;
  };
  expect(await rejectedOf({ rejectedSpans: 3 })).toBe(3);
  expect(await rejectedOf({ rejectedSpans: "4" })).toBe(4);
  expect(await rejectedOf({ rejectedDataPoints: 5 })).toBe(5);
  for (const none of [{}, undefined, { rejectedSpans: -1 }, { rejectedSpans: "many" }]) {
    expect(await rejectedOf(none)).toBe(0);
  }
  expect(await answer(200, "no JSON")).toEqual({ kind: "taken", rejected: 0 });
});

test("a reply is read up to 65,536 characters", async () => {
  const { answer } = open();
  const told = '{"partialSuccess":{"rejectedSpans":3}}';
  expect(await answer(200, " ".repeat(1_000), told)).toEqual({ kind: "taken", rejected: 3 });
  expect(await answer(200, " ".repeat(65_536), told)).toEqual({ kind: "taken", rejected: 0 });
});

test("a request without a reply is sent again, and ended after ten seconds", async () => {
  const { clock, seen, send, fail } = open();
  const broken = send("{}");
  fail();
  expect(await broken).toEqual({ kind: "later", reason: "reset" });
  expect(clock.pending()).toBe(0);
  const silent = send("{}");
  await clock.advance(9_999);
  expect(seen.cuts).toBe(0);
  await clock.advance(1);
  expect([await silent, seen.cuts]).toEqual([{ kind: "later", reason: "timeout" }, 1]);
});
