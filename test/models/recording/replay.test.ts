// Holds what is played to the recorded times, to its ear and to its caller.
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

/** Plays one take on a clock that stands still. */
function play(take: ReplayedReply, onChunk: OnChunk = () => undefined) {
  const clock = createManualClock();
  const heard: [at_ms: number, said: string][] = [];
  const caller = new AbortController();
  const hear: OnChunk = (piece) => {
    heard.push([clock.monotonic(), piece.kind === "text" ? piece.text : piece.arguments]);
    return onChunk(piece);
  };
  const ending = replay(() => take, clock)(createAsk("Hello"), hear, caller.signal);
  const ended_ms = ending.then(() => clock.monotonic());
  const isOver = () => Bun.peek.status(ending) !== "pending";
  return { clock, heard, caller, ending, ended_ms, isOver };
}

test("every piece and the ending come at exactly their times", async () => {
  const told = tell(120, 120, 120.5, 3_000);
  const { clock, heard, ending, ended_ms } = play({ told, ended_ms: 3_001, completion: GOOD });
  await clock.advance(119);
  expect(heard).toEqual([]);
  await clock.advance(10_000);
  expect(heard).toEqual([
    [120, "0"],
    [120, "1"],
    [120.5, "2"],
    [3_000, "3"],
  ]);
  expect(await ending).toEqual(GOOD);
  expect(await ended_ms).toBe(3_001);
});

test("an ear that holds back is waited for, and then told what was due meanwhile", async () => {
  const free = Promise.withResolvers<void>();
  const told = tell(10, 20, 30, 200);
  const take = { told, ended_ms: 210, completion: GOOD };
  const { clock, heard, ended_ms } = play(take, (piece) =>
    piece.kind === "text" && piece.text === "0" ? free.promise : undefined,
  );
  await clock.advance(100);
  expect(heard).toEqual([[10, "0"]]);
  free.resolve();
  await clock.advance(1_000);
  expect(heard.slice(1)).toEqual([
    [100, "1"],
    [100, "2"],
    [200, "3"],
  ]);
  expect(await ended_ms).toBe(210);
});

test("a caller's leaving ends it at once, while it waits and while its ear holds back", async () => {
  const never = () => new Promise<void>(() => undefined);
  for (const ear of [() => undefined, never]) {
    const take = { told: tell(10, 5_000), ended_ms: 5_001, completion: GOOD };
    const { clock, heard, caller, ending } = play(take, ear);
    await clock.advance(100);
    caller.abort();
    expect(await ending).toMatchObject({ ok: false, code: "client_closed_request" });
    await clock.advance(10_000);
    expect(heard).toEqual([[10, "0"]]);
    expect(clock.pending()).toBe(0);
  }
});

test("a caller who has left before hears nothing", async () => {
  const heard: Chunk[] = [];
  const answer = replay(
    () => ({ told: tell(0), ended_ms: 0, completion: GOOD }),
    createManualClock(),
  );
  const ending = await answer(
    createAsk("Hello"),
    (piece) => void heard.push(piece),
    AbortSignal.abort(),
  );
  expect(ending).toMatchObject({ code: "client_closed_request" });
  expect(heard).toEqual([]);
});

test("a long burst leaves the event loop to others in between", async () => {
  const told = tell(...Array.from({ length: 200 }, () => 0));
  const { heard, ending, isOver } = play({ told, ended_ms: 0, completion: GOOD });
  await Promise.resolve();
  expect(heard.length).toBeGreaterThan(0);
  expect(heard.length).toBeLessThan(100);
  expect(isOver()).toBe(false);
  expect(await ending).toEqual(GOOD);
  expect(heard).toHaveLength(200);
});

/** A shelf with takes that end with these reasons. */
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

test("what was asked several times is played in its order, the last one again and again", async () => {
  const [hello, bye] = [createAsk("Hello"), createAsk("Bye")];
  const open = stock(["a", hello, "one"], ["a", bye, "x"], ["b", hello, "y"], ["a", hello, "two"]);
  const reasons: unknown[] = [];
  for (let n = 0; n < 4; n++) {
    // Another supply of the same model goes on where the first one stood: settings may change.
    const { complete: answer } = open("a");
    const ask = { ...hello, request_id: `request-${n}`, account: `account-${n}` };
    reasons.push(await reason(answer(ask, () => undefined, new AbortController().signal)));
  }
  expect(reasons).toEqual(["one", "two", "two", "two"]);
  const { signal } = new AbortController();
  expect(await reason(open("a").complete(bye, () => undefined, signal))).toBe("x");
  expect(await reason(open("b").complete(hello, () => undefined, signal))).toBe("y");
});

test("what was never asked fails, and its words stand nowhere", async () => {
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

test("without servers nobody counts, and nobody is down", async () => {
  const supply = stock()("a");
  supply.start();
  expect(await supply.countTokens(createAsk("Hello"), new AbortController().signal)).toBeNull();
  expect(supply.isDown()).toBe(false);
  supply.stop();
});
