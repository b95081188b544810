// Tests that a replay keeps the recorded times, awaits onChunk and ends with its caller.
import { expect, test } from "bun:test";
import type { BackendOptions } from "../../../src/models/backend.ts";
import type {
  Chunk,
  Completion,
  ModelRequest,
  OnChunk,
} from "../../../src/models/providers/contract.ts";
import type { RecordedReply } from "../../../src/models/recording/format.ts";
import { hashRequest } from "../../../src/models/recording/format.ts";
import {
  createReplay,
  type ReplayedReply,
  ReplayLibrary,
  replay,
} from "../../../src/models/recording/replay.ts";
import { defaultSettings } from "../../../src/settings/index.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const GOOD: Completion = { ok: true, finishReason: "stop", usage: USAGE };
const text = (said: string): Chunk => ({ kind: "text", text: said });
const tell = (...times_ms: number[]) =>
  times_ms.map((at_ms, n) => ({ at_ms, piece: text(String(n)) }));

/** Plays one recorded reply on a stopped clock. */
function play(take: ReplayedReply, onChunk: OnChunk = () => undefined) {
  const clock = createManualClock();
  const received: [at_ms: number, said: string][] = [];
  const caller = new AbortController();
  const listener: OnChunk = (piece) => {
    received.push([clock.monotonic(), piece.kind === "text" ? piece.text : piece.arguments]);
    return onChunk(piece);
  };
  const ending = replay(() => take, clock)(createAsk("Hello"), listener, caller.signal);
  const ended_ms = ending.then(() => clock.monotonic());
  const isOver = () => Bun.peek.status(ending) !== "pending";
  return { clock, received, caller, ending, ended_ms, isOver };
}

test("every chunk and the completion have exactly their recorded times", async () => {
  const told = tell(120, 120, 120.5, 3_000);
  const { clock, received, ending, ended_ms } = play({ told, ended_ms: 3_001, completion: GOOD });
  await clock.advance(119);
  expect(received).toEqual([]);
  await clock.advance(10_000);
  expect(received).toEqual([
    [120, "0"],
    [120, "1"],
    [120.5, "2"],
    [3_000, "3"],
  ]);
  expect(await ending).toEqual(GOOD);
  expect(await ended_ms).toBe(3_001);
});

test("a pending onChunk is awaited, and then receives what was due meanwhile", async () => {
  const free = Promise.withResolvers<void>();
  const told = tell(10, 20, 30, 200);
  const take = { told, ended_ms: 210, completion: GOOD };
  const { clock, received, ended_ms } = play(take, (piece) =>
    piece.kind === "text" && piece.text === "0" ? free.promise : undefined,
  );
  await clock.advance(100);
  expect(received).toEqual([[10, "0"]]);
  free.resolve();
  await clock.advance(1_000);
  expect(received.slice(1)).toEqual([
    [100, "1"],
    [100, "2"],
    [200, "3"],
  ]);
  expect(await ended_ms).toBe(210);
});

test("a departing caller ends it at once, during a delay and during a pending onChunk", async () => {
  const never = () => new Promise<void>(() => undefined);
  for (const onChunk of [() => undefined, never]) {
    const take = { told: tell(10, 5_000), ended_ms: 5_001, completion: GOOD };
    const { clock, received, caller, ending } = play(take, onChunk);
    await clock.advance(100);
    caller.abort();
    expect(await ending).toMatchObject({ ok: false, code: "client_closed_request" });
    await clock.advance(10_000);
    expect(received).toEqual([[10, "0"]]);
    expect(clock.pending()).toBe(0);
  }
});

test("a caller who left before gets nothing", async () => {
  const received: Chunk[] = [];
  const answer = replay(
    () => ({ told: tell(0), ended_ms: 0, completion: GOOD }),
    createManualClock(),
  );
  const ending = await answer(
    createAsk("Hello"),
    (piece) => void received.push(piece),
    AbortSignal.abort(),
  );
  expect(ending).toMatchObject({ code: "client_closed_request" });
  expect(received).toEqual([]);
});

test("a long burst yields to the event loop", async () => {
  const told = tell(...Array.from({ length: 200 }, () => 0));
  const { received, ending, isOver } = play({ told, ended_ms: 0, completion: GOOD });
  await Promise.resolve();
  expect(received.length).toBeGreaterThan(0);
  expect(received.length).toBeLessThan(100);
  expect(isOver()).toBe(false);
  expect(await ending).toEqual(GOOD);
  expect(received).toHaveLength(200);
});

/** A set of recorded replies with these reasons. */
function stock(...takes: [model: string, ask: ModelRequest, reason: string][]) {
  const shelf = new ReplayLibrary();
  for (const [model, ask, finish_reason] of takes) {
    const ending = { ok: true as const, finish_reason, usage: USAGE };
    const take: RecordedReply = {
      model,
      key: hashRequest(ask),
      ask,
      told: [],
      ended_ms: 0,
      ending,
    };
    shelf.add(take);
  }
  const [settings] = defaultSettings().models;
  const around = { clock: createManualClock() } as unknown as BackendOptions;
  const open = createReplay(shelf);
  return (model: string) => open({ ...settings!, id: model }, around);
}
const reason = async (ending: Promise<Completion>) => Reflect.get(await ending, "finishReason");

test("repeated requests get their recorded replies in order, and then the last one", async () => {
  const [hello, bye] = [createAsk("Hello"), createAsk("Bye")];
  const open = stock(["a", hello, "one"], ["a", bye, "x"], ["b", hello, "y"], ["a", hello, "two"]);
  const reasons: unknown[] = [];
  for (let n = 0; n < 4; n++) {
    // Another backend of the same model continues where the first one stopped: settings may change.
    const { complete: answer } = open("a");
    const ask = { ...hello, request_id: `request-${n}`, account: `account-${n}` };
    reasons.push(await reason(answer(ask, () => undefined, new AbortController().signal)));
  }
  expect(reasons).toEqual(["one", "two", "two", "two"]);
  const { signal } = new AbortController();
  expect(await reason(open("a").complete(bye, () => undefined, signal))).toBe("x");
  expect(await reason(open("b").complete(hello, () => undefined, signal))).toBe("y");
});

test("each replay has its own completion, to which its receiver may add fields", async () => {
  const hello = createAsk("Hello");
  const { complete } = stock(["a", hello, "stop"])("a");
  const ask = () => complete(hello, () => undefined, new AbortController().signal);
  Object.assign(await ask(), { attempts: 3, usageEstimated: true });
  expect(await ask()).toEqual(GOOD);
});

test("an unrecorded request fails, and its text appears nowhere", async () => {
  const open = stock(["a", createAsk("Hello"), "stop"]);
  const { signal } = new AbortController();
  for (const [model, ask] of [
    ["a", createAsk("Secret")],
    ["b", createAsk("Hello")],
  ] as const) {
    expect(await open(model).complete(ask, () => undefined, signal)).toEqual({
      ok: false,
      code: "model_unavailable",
      retryable: false,
      reason: "the recording holds no such request",
    });
  }
});

test("without servers there is no count, and nothing is down", async () => {
  const supply = stock()("a");
  supply.start();
  expect(await supply.countTokens(createAsk("Hello"), new AbortController().signal)).toBeNull();
  expect(supply.isDown()).toBe(false);
  supply.stop();
});

test("a request is answered with a stream where only that was recorded, and the other way round", () => {
  const library = new ReplayLibrary();
  const ask = createAsk("Hello");
  const record = (stream: boolean, ended_ms: number) => {
    const key = hashRequest({ ...ask, stream });
    const ending = { ok: true as const, finish_reason: "stop", usage: USAGE };
    library.add({ model: "m", key, ask, told: [], ended_ms, ending });
  };
  const find = (stream: boolean) => library.next("m", { ...ask, stream })?.ended_ms;
  expect([find(true), find(false)]).toEqual([undefined, undefined]);
  record(true, 1);
  expect([find(true), find(false)]).toEqual([1, 1]);
  record(false, 2);
  expect([find(true), find(false)]).toEqual([1, 2]);
});
