// What stands in front of a model's servers: who waits, what the ending notes of it, and who asks again.
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

/** A gate whose servers end as they are told, one ending after another and then the last again. */
async function openGate(endings: (Completion | Complete)[], options: BenchOptions = {}) {
  const bench = await openBench(options);
  let asked = 0;
  const complete: Complete = (...given) => {
    const ending = endings[Math.min(asked++, endings.length - 1)]!;
    return typeof ending === "function" ? ending(...given) : Promise.resolve(ending);
  };
  const countTokens: CountTokens = async () => 7;
  const gate = waitForStart(bench.unit, bench.clock, { complete, countTokens });
  const signal = new AbortController().signal;
  return {
    ...bench,
    gate,
    asked: () => asked,
    ask: (ask = createAsk("Hello")) => gate.complete(ask, () => {}, signal),
    count: (ask = createAsk("Hello")) => gate.countTokens(ask, signal),
  };
}

test("a unit that is up is passed without a word", async () => {
  const { server, ask, count, asked } = await openGate([DONE]);
  server.isHealthy = true;
  expect(await ask()).toEqual(DONE);
  expect(await ask()).toBe(DONE);
  expect([await count(), asked()]).toEqual([7, 2]);
});

test("the wait is noted in the ending, beside what was waited behind it", async () => {
  const { server, clock, ask } = await openGate([{ ...DONE, waitedMs: 5, attempts: 2 }]);
  const ending = ask();
  await clock.advance(30_000);
  server.isHealthy = true;
  await clock.advance(1_000);
  expect(await ending).toEqual({ ...DONE, waitedMs: 31_005, attempts: 2 });
});

test("who waited to be counted is not counted twice, and is told the same of a failed start", async () => {
  const { server, clock, ask, count } = await openGate([DONE]);
  const asked = createAsk("Hello");
  const counted = count(asked);
  await clock.advance(9_000);
  server.isHealthy = true;
  await clock.advance(1_000);
  expect([await counted, await ask(asked)]).toEqual([7, { ...DONE, waitedMs: 10_000 }]);
  // As do the attempts of a think: other asks of the same messages.
  expect(await ask({ ...asked, temperature: 0.7 })).toEqual({ ...DONE, waitedMs: 10_000 });

  const late = await openGate([DONE], { plan: { timeoutMs: 5_000 } });
  const none = late.count(asked);
  await late.clock.advance(5_000);
  expect(await none).toBeNull();
  expect(await late.ask(asked)).toMatchObject({ code: "upstream_timeout", waitedMs: 5_000 });
  expect(late.asked()).toBe(0);
});

test("a server that went away is started, and asked once more", async () => {
  const { server, clock, ask, asked } = await openGate([DONE, REFUSED, DONE]);
  server.isHealthy = true;
  await ask();
  server.isHealthy = false;
  const ending = ask();
  await clock.advance(3_000);
  server.isHealthy = true;
  await clock.advance(1_000);
  expect(await ending).toEqual({ ...DONE, attempts: 2, waitedMs: 4_000 });
  expect([server.starts, asked()]).toEqual([1, 3]);
});

test("servers none of which is fit to be asked may be gone too", async () => {
  const none: Completion = { ...REFUSED, code: "model_offline", retryable: false, attempts: 0 };
  const { server, clock, ask } = await openGate([DONE, none, DONE]);
  server.isHealthy = true;
  await ask();
  server.isHealthy = false;
  const ending = ask();
  await clock.advance(0);
  server.isHealthy = true;
  await clock.advance(1_000);
  expect([await ending, server.starts]).toEqual([{ ...DONE, attempts: 1, waitedMs: 1_000 }, 1]);
});

test("a server that is there is not asked again, whatever it did", async () => {
  for (const failure of [
    REFUSED,
    { ...REFUSED, upstream_status: 500 },
    { ...REFUSED, retryable: false },
    { ...REFUSED, code: "upstream_rate_limited" as const },
  ]) {
    const { server, ask, asked } = await openGate([failure]);
    server.isHealthy = true;
    expect(await ask()).toEqual(failure);
    expect([asked(), server.starts]).toEqual([1, 0]);
  }
});

test("nobody is asked again of whom a piece was heard, nor for a caller who left", async () => {
  const speak: Complete = async (_, ear) => {
    await ear({ kind: "text", text: "Hel" });
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

test("a request is in flight until it ends, also where it ends by a bug", async () => {
  const plan = { idleStopMs: 60_000, minUpMs: 0 };
  const bug = new Error("a bug");
  const { server, clock, ask } = await openGate([() => Promise.reject(bug)], { plan });
  server.isHealthy = true;
  await expect(ask()).rejects.toBe(bug);
  await clock.advance(60_000);
  expect(server.stops).toBe(1);
});

test("a start that fails is no attempt, be it the first or the one after", async () => {
  const never = await openGate([DONE]);
  never.server.start = async () => "its command exited with 1";
  expect(await never.ask()).toMatchObject({ code: "model_offline", attempts: 0 });

  const { server, ask } = await openGate([REFUSED]);
  server.isHealthy = true;
  await ask();
  server.isHealthy = false;
  const ending = ask();
  server.start = async () => "its command exited with 1";
  expect(await ending).toMatchObject({ code: "model_offline", attempts: 1 });
});

test("whoever leaves, or is told of a stop, does not wait for a health check", async () => {
  const isUp = Promise.withResolvers<boolean>();
  let isHeld = false;
  const plan = { isUp: () => (isHeld ? isUp.promise : Promise.resolve(true)) };
  const { gate, unit, clock } = await openGate([REFUSED], { plan });
  await clock.advance(0);
  expect(unit.isUp).toBe(true);
  isHeld = true;
  const caller = new AbortController();
  const ending = gate.complete(createAsk("Hello"), () => {}, caller.signal);
  await clock.advance(0);
  caller.abort();
  expect(await ending).toEqual(REFUSED);
  // Nobody is left who doubts it: the next one looks anew.
  isUp.resolve(true);
  await clock.advance(0);
  isHeld = false;
  expect(await unit.isGone(new AbortController().signal)).toBe(false);
});

test("a unit whose requests are heard is not given up for a health that is too busy", async () => {
  const told = Promise.withResolvers<Completion>();
  let tell: () => void | Promise<void> = () => {};
  const speak: Complete = (_, ear) => {
    tell = () => ear({ kind: "text", text: "Hello" });
    return told.promise;
  };
  let isBusy = false;
  const plan = {
    async isUp() {
      if (isBusy) await tell();
      return !isBusy;
    },
  };
  const { ask, unit, clock } = await openGate([speak], { plan });
  await clock.advance(0);
  const ending = ask();
  await clock.advance(0);
  isBusy = true;
  await clock.advance(60_000);
  expect(unit.isUp).toBe(true);
  tell = () => {};
  await clock.advance(20_000);
  expect(unit.isUp).toBe(false);
  told.resolve(DONE);
  expect(await ending).toEqual(DONE);
});
