// Tests the stub model's rate, its onChunk and its caller.
import { expect, test } from "bun:test";
import type {
  Chunk,
  Completion,
  ModelRequest,
  OnChunk,
  OnRawChunk,
} from "../../../../src/models/providers/contract.ts";
import { createStub, type StubOptions } from "../../../../src/models/providers/stub/provider.ts";
import { countPromptTokens, countTokens, splitTokens } from "../../../../src/models/tokens.ts";
import { ApiError } from "../../../../src/platform/errors.ts";
import { createAsk } from "../../../support/ask.ts";
import { createManualClock } from "../../../support/clock.ts";
import { createSeededIds } from "../../../support/ids.ts";

/** Asks a stub on a stopped clock; `heard` collects its chunks. */
function ask(
  message: string,
  some: Partial<ModelRequest> = {},
  options: Partial<StubOptions> & { onChunk?: OnChunk; signal?: AbortSignal } = {},
) {
  const clock = createManualClock();
  const ids = createSeededIds();
  const stub = createStub({
    clock,
    ids,
    tokens_per_second: 0,
    first_token_delay_ms: 0,
    ...options,
  });
  const heard: Chunk[] = [];
  const at_ms: number[] = [];
  const caller = new AbortController();
  const asked = createAsk(message, some);
  const onChunk: OnChunk = (piece) => {
    heard.push(piece);
    at_ms.push(clock.monotonic());
    return options.onChunk?.(piece);
  };
  const said: OnRawChunk = (piece) => (piece.kind === "reasoning" ? undefined : onChunk(piece));
  const answer = stub(asked, said, options.signal ?? caller.signal);
  /** The completion, if it settles without an advance of the clock. */
  const isOver = async () => {
    await clock.advance(0);
    return Bun.peek.status(answer) !== "pending";
  };
  return { clock, heard, at_ms, caller, asked, answer, isOver };
}

const text = (heard: Chunk[]) =>
  heard.map((piece) => (piece.kind === "text" ? piece.text : "")).join("");
const left: Completion = {
  ok: false,
  code: "client_closed_request",
  retryable: false,
  reason: "the caller left",
};
/** The same after this number of tokens, with their usage; none if there are no tokens. */
function leftBehind(asked: ModelRequest, completion_tokens: number): Completion {
  if (completion_tokens === 0) return left;
  const prompt_tokens = countPromptTokens(asked);
  const total_tokens = prompt_tokens + completion_tokens;
  return { ...left, usage: { prompt_tokens, completion_tokens, total_tokens } };
}

test("a stream has one chunk per token, a whole reply one; both have the same usage", async () => {
  const stream = ask("Hello there", { stream: true });
  const whole = ask("Hello there");
  const completion = await stream.answer;
  expect(stream.heard.map((piece) => piece.kind === "text" && piece.text)).toEqual(
    splitTokens("You said: Hello there"),
  );
  const prompt_tokens = countPromptTokens(whole.asked);
  const completion_tokens = countTokens("You said: Hello there");
  const total_tokens = prompt_tokens + completion_tokens;
  const usage = { prompt_tokens, completion_tokens, total_tokens };
  expect(completion).toEqual({ ok: true, finishReason: "stop", usage });
  expect(await whole.answer).toEqual(completion);
  expect(whole.heard).toEqual([{ kind: "text", text: "You said: Hello there" }]);
});

test("calls are split in a stream, and whole otherwise", async () => {
  const script = '!say Wait.\n!tool get_weather {"city": "Muscat"}\n!tool add';
  const id = expect.stringMatching(/^call_[0-9A-Za-z]{24}$/);
  const whole = ask(script);
  expect(await whole.answer).toMatchObject({ ok: true, finishReason: "tool_calls" });
  expect(whole.heard).toEqual([
    { kind: "text", text: "Wait." },
    { kind: "call", index: 0, id, name: "get_weather", arguments: '{"city": "Muscat"}' },
    { kind: "call", index: 1, id, name: "add", arguments: "{}" },
  ]);
  const stream = ask(script, { stream: true });
  expect(await stream.answer).toEqual(await whole.answer);
  const calls = stream.heard.filter((piece) => piece.kind === "call");
  expect(calls.map((piece) => [piece.index, piece.name, piece.arguments])).toEqual([
    [0, "get_weather", ""],
    ...splitTokens('{"city": "Muscat"}').map((token) => [0, undefined, token] as const),
    [1, "add", ""],
    [1, undefined, "{}"],
  ] as never);
  const ids = calls.filter((piece) => piece.id).map((piece) => piece.id);
  expect(new Set(ids).size).toBe(2);
});

test("the first token has its delay, the others the configured rate", async () => {
  const options = { tokens_per_second: 10, first_token_delay_ms: 250 };
  const stream = ask("!tokens 4", { stream: true }, options);
  await stream.clock.advance(249);
  expect(stream.heard).toEqual([]);
  await stream.clock.advance(1_000);
  expect(stream.at_ms).toEqual([250, 350, 450, 550]);
  expect(await stream.answer).toMatchObject({ ok: true });

  const whole = ask("!tokens 4", {}, options);
  await whole.clock.advance(549);
  expect(whole.heard).toEqual([]);
  await whole.clock.advance(1);
  expect(whole.at_ms).toEqual([550]);
  expect(await whole.isOver()).toBe(true);
});

test("a scripted delay applies at its position, and is not made up for", async () => {
  const stream = ask(
    "!delay 2s\n!tokens 2\n!delay 1m\n!tokens 2",
    { stream: true },
    { tokens_per_second: 10, first_token_delay_ms: 250 },
  );
  await stream.clock.advance(70_000);
  expect(stream.at_ms).toEqual([2_250, 2_350, 62_450, 62_550]);
  const error = ask("!delay 2s\n!error upstream_error", {}, { first_token_delay_ms: 9_000 });
  await error.clock.advance(1_999);
  expect(await error.isOver()).toBe(false);
  await error.clock.advance(1);
  expect(await error.isOver()).toBe(true);
});

test("late timers do not lower the rate: due chunks are sent together", async () => {
  const stream = ask("!tokens 3000", { stream: true }, { tokens_per_second: 100_000 });
  const completion = stream.answer;
  await stream.clock.advance(31);
  expect(await completion).toMatchObject({ ok: true });
  expect(stream.heard.length).toBe(3_000);
  expect(stream.at_ms.at(-1)).toBeCloseTo(29.99);
});

test("an unthrottled stream yields to the event loop", async () => {
  let turns = 0;
  const count = () => {
    turns++;
    if (Bun.peek.status(stream.answer) === "pending") setImmediate(count);
  };
  const stream = ask("!tokens 8192", { stream: true });
  setImmediate(count);
  expect(await stream.answer).toMatchObject({ ok: true, finishReason: "stop" });
  expect(stream.heard.length).toBe(8_192);
  expect(turns).toBeGreaterThanOrEqual(100);
  expect(stream.clock.pending()).toBe(0);
});

test("a pending onChunk is awaited, in a stream and for a whole reply", async () => {
  for (const stream of [true, false]) {
    const gate = Promise.withResolvers<void>();
    const held = ask("!say one two", { stream }, { onChunk: () => gate.promise });
    expect(await held.isOver()).toBe(false);
    expect(held.heard.length).toBe(1);
    gate.resolve();
    expect(await held.answer).toMatchObject({ ok: true });
    expect(text(held.heard)).toBe("one two");
  }
});

test("an error of onChunk rejects the completion", async () => {
  const broken = () => Promise.reject(new Error("broken ear"));
  for (const stream of [true, false]) {
    await expect(ask("Hi", { stream }, { onChunk: broken }).answer).rejects.toThrow("broken ear");
  }
});

test("a caller who has left gets nothing", async () => {
  const gone = ask("Hi", { stream: true }, { signal: AbortSignal.abort() });
  expect(await gone.answer).toEqual(left);
  expect(gone.heard).toEqual([]);
});

const never = new Promise<void>(() => undefined);
test.each<[string, string, Partial<StubOptions> & { onChunk?: OnChunk }, number]>([
  ["it waits for the first token", "Hi", { first_token_delay_ms: 500 }, 0],
  ["it waits between tokens", "!tokens 9", { tokens_per_second: 1 }, 1],
  ["it waits as it was scripted to", "!say a\n!delay 10m", {}, 1],
  ["it stalls", "!say a\n!stall", {}, 1],
  ["onChunk is pending", "!tokens 9", { onChunk: () => never }, 1],
])("a caller who leaves while %s ends it within the turn", async (_, message, options, heard) => {
  const running = ask(message, { stream: true }, options);
  expect(await running.isOver()).toBe(false);
  expect(running.heard.length).toBe(heard);
  let hasTurned = false;
  setImmediate(() => {
    hasTurned = true;
  });
  running.caller.abort();
  expect(await running.answer).toEqual(leftBehind(running.asked, heard));
  expect(hasTurned).toBe(false);
  await running.clock.advance(1_000_000);
  expect(running.heard.length).toBe(heard);
  expect(running.clock.pending()).toBe(0);
});

test("an onChunk that aborts the caller gets nothing more", async () => {
  const running = ask("!tokens 9", { stream: true }, { onChunk: () => running.caller.abort() });
  // No completion begins before the call has returned, so `running` exists in onChunk.
  expect(await running.answer).toEqual(leftBehind(running.asked, 1));
  expect(running.heard.length).toBe(1);
});

test("a completion leaves no listener on a longer-lived signal", async () => {
  const listeners = new Set<unknown>();
  const { signal } = new AbortController();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = ((type: "abort", run: () => void, once: object) => {
    listeners.add(run);
    addEventListener.call(signal, type, run, once);
  }) as never;
  signal.removeEventListener = ((type: "abort", run: () => void) => {
    listeners.delete(run);
    removeEventListener.call(signal, type, run);
  }) as never;
  const options = { tokens_per_second: 10, first_token_delay_ms: 10, signal };
  const running = ask("!tokens 9\n!delay 1s", { stream: true }, options);
  expect(listeners.size).toBeGreaterThan(0);
  await running.clock.advance(5_000);
  expect(await running.answer).toMatchObject({ ok: true });
  expect(listeners.size).toBe(0);
});

test("a cut stream ends after half of its tokens; a cut whole reply has no output", async () => {
  const died = { ok: false, code: "upstream_error", retryable: true } as const;
  const stream = ask("!tokens 9\n!cut", { stream: true });
  expect(await stream.answer).toMatchObject(died);
  expect(text(stream.heard)).toBe("the sun sets over the");
  const whole = ask("!tokens 9\n!cut");
  expect(await whole.answer).toMatchObject(died);
  expect(whole.heard).toEqual([]);
});

test("garbage is an upstream error", async () => {
  expect(await ask("!garbage").answer).toEqual({
    ok: false,
    code: "upstream_error",
    retryable: true,
    reason: "it sent garbage",
  });
});

test.each([
  ["context_length_exceeded", false],
  ["upstream_rate_limited", true],
  ["upstream_error", true],
  ["upstream_timeout", true],
  ["model_unavailable", true],
  ["model_offline", true],
])("the scripted code %s is an upstream error, at once or midway", async (code, retryable) => {
  const options = { first_token_delay_ms: 500 };
  const completion = await ask(`!error ${code}`, { stream: true }, options).answer;
  expect(completion).toMatchObject({ ok: false, code, retryable });
  const middle = ask(`!say So\n!error ${code}`, { stream: true });
  expect(await middle.answer).toEqual({
    ...completion,
    usage: expect.objectContaining({ completion_tokens: 1 }),
  });
  expect(text(middle.heard)).toBe("So");
});

test.each([
  ["internal_error", {}],
  ["no_model_available", {}],
  ["model_not_permitted", { param: "model" }],
  ["model_not_found", { param: "model" }],
  ["capacity_exceeded", { headers: { "retry-after": "1" } }],
  ["rate_limit_exceeded", { headers: { "retry-after": "1" } }],
])("the scripted code %s, which no model server causes, is an ApiError", async (code, details) => {
  const refusal = await ask(`!error ${code}`).answer.catch((thrown: unknown) => thrown);
  expect(refusal).toBeInstanceOf(ApiError);
  expect(refusal).toMatchObject({ code, details });
  const middle = ask(`!say So\n!error ${code}`, { stream: true });
  await expect(middle.answer).rejects.toMatchObject({ code });
  expect(text(middle.heard)).toBe("So");
});

test("an unreported usage is counted the same way", async () => {
  const completion = await ask("!say one two\n!nousage").answer;
  expect(completion).toMatchObject({ usage: { completion_tokens: 2 } });
});

test("each completion is a new object, to which its receiver may add fields", async () => {
  const gone = { signal: AbortSignal.abort() };
  const [one, other] = [await ask("Hello", {}, gone).answer, await ask("Hello", {}, gone).answer];
  expect(one).toEqual(other);
  expect(one).not.toBe(other);
});
