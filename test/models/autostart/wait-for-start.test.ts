// Tests the wait for a managed server: waiting callers, the noted wait, and repeated requests.
import { expect, test } from "bun:test";
import { waitForStart } from "../../../src/models/autostart/wait-for-start.ts";
import type {
  Complete,
  Completion,
  CountTokens,
  UpstreamError,
} from "../../../src/models/providers/contract.ts";
import { createAsk } from "../../support/ask.ts";
import { type BenchOptions, openBench } from "./bench.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const DONE: Completion = { ok: true, finishReason: "stop", usage: USAGE };
const REFUSED: UpstreamError = {
  ok: false,
  code: "upstream_error",
  retryable: true,
  reason: "the connection was refused",
};

/** A gate before scripted servers: one completion after another, then the last again. */
async function openGate(
  endings: (Completion | Complete)[],
  options: BenchOptions & { count?: CountTokens } = {},
) {
  const bench = await openBench(options);
  let asked = 0;
  const complete: Complete = (...given) => {
    const completion = endings[Math.min(asked++, endings.length - 1)]!;
    return typeof completion === "function" ? completion(...given) : Promise.resolve(completion);
  };
  const countTokens: CountTokens = options.count ?? (async () => 7);
  const gate = waitForStart(bench.managed, bench.clock, { complete, countTokens });
  const signal = new AbortController().signal;
  return {
    ...bench,
    gate,
    asked: () => asked,
    ask: (ask = createAsk("Hello")) => gate.complete(ask, () => {}, signal),
    count: (ask = createAsk("Hello")) => gate.countTokens(ask, signal),
  };
}

test("a server that is up is used without a wait", async () => {
  const { server, ask, count, asked } = await openGate([DONE]);
  server.isHealthy = true;
  expect(await ask()).toEqual(DONE);
  expect(await ask()).toBe(DONE);
  expect([await count(), asked()]).toEqual([7, 2]);
});

test("the wait is added to the completion's own wait", async () => {
  const { server, clock, ask } = await openGate([{ ...DONE, waitedMs: 5, attempts: 2 }]);
  const completion = ask();
  await clock.advance(30_000);
  server.isHealthy = true;
  await clock.advance(1_000);
  expect(await completion).toEqual({ ...DONE, waitedMs: 31_005, attempts: 2 });
});

test("a wait for the token count is not repeated, and a failed start gives the same error", async () => {
  const { server, clock, ask, count } = await openGate([DONE]);
  const asked = createAsk("Hello");
  const counted = count(asked);
  await clock.advance(9_000);
  server.isHealthy = true;
  await clock.advance(1_000);
  expect([await counted, await ask(asked)]).toEqual([7, { ...DONE, waitedMs: 10_000 }]);
  // So do the attempts of a think: other requests with the same messages.
  expect(await ask({ ...asked, temperature: 0.7 })).toEqual({ ...DONE, waitedMs: 10_000 });

  const late = await openGate([DONE], { plan: { timeoutMs: 5_000 } });
  const none = late.count(asked);
  await late.clock.advance(5_000);
  expect(await none).toBeNull();
  expect(await late.ask(asked)).toMatchObject({ code: "upstream_timeout", waitedMs: 5_000 });
  expect(late.asked()).toBe(0);
});

test("a vanished server is started, and the request repeated once", async () => {
  for (const code of ["upstream_error", "upstream_timeout", "model_offline"] as const) {
    const { server, clock, ask, asked } = await openGate([
      ...[DONE, { ...REFUSED, code, waitedMs: 5 }, DONE],
    ]);
    server.isHealthy = true;
    await ask();
    server.isHealthy = false;
    const completion = ask();
    await clock.advance(3_000);
    server.isHealthy = true;
    await clock.advance(1_000);
    expect(await completion).toEqual({ ...DONE, attempts: 2, waitedMs: 4_005 });
    expect([server.starts, asked()]).toEqual([1, 3]);
  }
});

test("replicas that are all unavailable may have vanished too", async () => {
  const none: Completion = { ...REFUSED, code: "model_offline", retryable: false, attempts: 0 };
  const { server, clock, ask } = await openGate([DONE, none, DONE]);
  server.isHealthy = true;
  await ask();
  server.isHealthy = false;
  const completion = ask();
  await clock.advance(0);
  server.isHealthy = true;
  await clock.advance(1_000);
  expect([await completion, server.starts]).toEqual([{ ...DONE, attempts: 1, waitedMs: 1_000 }, 1]);
});

test("a failed request to a present server is not repeated", async () => {
  for (const failure of [
    REFUSED,
    { ...REFUSED, upstreamStatus: 500 },
    { ...REFUSED, retryable: false },
    { ...REFUSED, code: "upstream_rate_limited" as const },
  ]) {
    const { server, ask, asked } = await openGate([failure]);
    server.isHealthy = true;
    expect(await ask()).toEqual(failure);
    expect([asked(), server.starts]).toEqual([1, 0]);
  }
});

test.each<[string, Partial<Completion>]>([
  ["of a server that answered with a status", { upstreamStatus: 502 }],
  ["that another try would not change", { retryable: false }],
])("a failure %s is final, although the server is gone", async (_, fields) => {
  const failure = { ...REFUSED, ...fields } as Completion;
  const { server, ask, asked } = await openGate([
    async () => {
      server.isHealthy = false;
      return failure;
    },
  ]);
  server.isHealthy = true;
  expect(await ask()).toEqual(failure);
  expect([asked(), server.starts]).toEqual([1, 0]);
});

test("a request is not repeated after a chunk was sent, nor for a caller who left", async () => {
  const speak: Complete = async (_, onChunk) => {
    await onChunk({ kind: "text", text: "Hel" });
    server.isHealthy = false;
    return REFUSED;
  };
  const { server, ask, asked } = await openGate([speak]);
  server.isHealthy = true;
  expect(await ask()).toEqual(REFUSED);
  const caller = new AbortController();
  const left = await openGate([
    async () => {
      caller.abort();
      left.server.isHealthy = false;
      return REFUSED;
    },
  ]);
  left.server.isHealthy = true;
  expect(await left.gate.complete(createAsk("Hello"), () => {}, caller.signal)).toEqual(REFUSED);
  expect([asked(), left.asked(), left.server.starts]).toEqual([1, 1, 0]);
});

test("a request is in flight until it ends, also by a bug", async () => {
  const plan = { idleStopMs: 60_000, minUpMs: 0 };
  const bug = new Error("a bug");
  const fail = () => Promise.reject(bug);
  const { server, clock, ask, count } = await openGate([fail], { plan, count: fail });
  server.isHealthy = true;
  await expect(ask()).rejects.toBe(bug);
  await expect(count()).rejects.toBe(bug);
  await clock.advance(59_999);
  expect(server.stops).toBe(0);
  await clock.advance(1);
  expect(server.stops).toBe(1);
});

test("a request or a count under way keeps the server from being stopped", async () => {
  const plan = { idleStopMs: 60_000, minUpMs: 0 };
  const answer = Promise.withResolvers<Completion>();
  const counted = Promise.withResolvers<number>();
  const count = () => counted.promise;
  const trial = await openGate([() => answer.promise], { plan, count });
  const { server, clock } = trial;
  server.isHealthy = true;
  const asking = trial.ask();
  await clock.advance(90_000);
  answer.resolve(DONE);
  expect(await asking).toBe(DONE);
  const counting = trial.count();
  await clock.advance(90_000);
  expect(server.stops).toBe(0);
  counted.resolve(7);
  expect(await counting).toBe(7);
  await clock.advance(60_000);
  expect(server.stops).toBe(1);
});

test("a failed start is no attempt, neither the first nor a later one", async () => {
  const never = await openGate([DONE]);
  never.server.start = async () => "its command exited with 1";
  expect(await never.ask()).toMatchObject({ code: "model_offline", attempts: 0 });

  const { server, ask } = await openGate([REFUSED]);
  server.isHealthy = true;
  await ask();
  server.isHealthy = false;
  const completion = ask();
  server.start = async () => "its command exited with 1";
  expect(await completion).toMatchObject({ code: "model_offline", attempts: 1 });
});

test("a caller who leaves, or a stop, does not wait for a health check", async () => {
  const isUp = Promise.withResolvers<boolean>();
  let isHeld = false;
  const plan = { isUp: () => (isHeld ? isUp.promise : Promise.resolve(true)) };
  const { gate, managed, clock } = await openGate([REFUSED], { plan });
  await clock.advance(0);
  expect(managed.isUp).toBe(true);
  isHeld = true;
  const caller = new AbortController();
  const completion = gate.complete(createAsk("Hello"), () => {}, caller.signal);
  await clock.advance(0);
  caller.abort();
  expect(await completion).toEqual(REFUSED);
  // No caller is in doubt any more: the next one checks again.
  isUp.resolve(true);
  await clock.advance(0);
  isHeld = false;
  expect(await managed.isGone(new AbortController().signal)).toBe(false);
});

test("a server that streams is not taken for down although its health check fails", async () => {
  const completed = Promise.withResolvers<Completion>();
  let tell: () => void | Promise<void> = () => {};
  const speak: Complete = (_, onChunk) => {
    tell = () => onChunk({ kind: "text", text: "Hello" });
    return completed.promise;
  };
  let isBusy = false;
  const plan = {
    async isUp() {
      if (isBusy) await tell();
      return !isBusy;
    },
  };
  const { ask, managed, clock } = await openGate([speak], { plan });
  await clock.advance(0);
  const completion = ask();
  await clock.advance(0);
  isBusy = true;
  await clock.advance(60_000);
  expect(managed.isUp).toBe(true);
  tell = () => {};
  await clock.advance(20_000);
  expect(managed.isUp).toBe(false);
  completed.resolve(DONE);
  expect(await completion).toEqual(DONE);
});
