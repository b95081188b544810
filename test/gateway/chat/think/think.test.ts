// Tests deep thinking: when attempts start, when they suffice, and the combined result.
import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { type ThinkSettings, think } from "../../../../src/gateway/chat/think/think.ts";
import type {
  Chunk,
  Complete,
  Completion,
  ModelRequest,
  OnChunk,
  TokenUsage,
  UpstreamError,
} from "../../../../src/models/index.ts";
import { ApiError, apiError } from "../../../../src/platform/errors.ts";
import { createAsk } from "../../../support/ask.ts";

const usageOf = (prompt_tokens: number, completion_tokens: number): TokenUsage => ({
  ...{ prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});
const USAGE = usageOf(10, 1);
const BROKEN: UpstreamError = {
  ok: false,
  code: "upstream_error",
  retryable: true,
  reason: "it broke",
};
const LEFT: UpstreamError = {
  ...{ ok: false, code: "client_closed_request", retryable: false, reason: "the caller left" },
};

interface Attempt {
  ask: ModelRequest;
  onChunk: OnChunk;
  signal: AbortSignal;
  end(completion: Completion): void;
  fail(bug: unknown): void;
}

/** A thinker whose attempts the test ends; an aborted one ends at once, with `aborted`. */
function open(
  some: Partial<ThinkSettings> = {},
  aborted: Completion = LEFT,
  asked_of = createAsk("Hello"),
) {
  const started: Attempt[] = [];
  const received: Chunk[] = [];
  const caller = new AbortController();
  const answer: Complete = (ask, onChunk, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Completion>();
    signal.addEventListener("abort", () => resolve({ ...aborted }), { once: true });
    started.push({ ask, onChunk, signal, end: resolve, fail: reject });
    return promise;
  };
  const thinker = think(answer, { attempts: 3, attempts_more: 2, ...some });
  const completion = thinker(asked_of, (chunk) => void received.push(chunk), caller.signal);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    started,
    caller,
    completion,
    settle,
    isOver: () => Bun.peek.status(completion) !== "pending",
    text: () => received.map((chunk) => (chunk.kind === "text" ? chunk.text : "call")).join("|"),
    received,
    /** The attempt with this index sends this text, and succeeds. */
    async say(index: number, text: string, more: object = {}) {
      await started[index]!.onChunk({ kind: "text", text });
      started[index]!.end({ ok: true, finishReason: "stop", usage: USAGE, ...more });
      await settle();
    },
    async break(index: number, failure: UpstreamError = BROKEN) {
      started[index]!.end(failure);
      await settle();
    },
    aborted: () => started.flatMap(({ signal }, i) => (signal.aborted ? i : [])),
  };
}

describe("it starts", () => {
  test("three attempts at once, and no more if they agree", async () => {
    const { started, say, completion, text } = open();
    expect(started).toHaveLength(3);
    await say(1, "Answer: 1,000");
    await say(0, "So\n1000.0");
    await say(2, "\\boxed{1000}", { finishReason: "length" });
    expect(started).toHaveLength(3);
    expect(await completion).toEqual({ ok: true, finishReason: "stop", usage: usageOf(30, 3) });
    expect(text()).toBe("So\n1000.0");
  });

  test("two more if the first three disagree, once all have ended", async () => {
    const { started, say, completion, text } = open();
    await say(0, "41");
    await say(1, "42");
    expect(started).toHaveLength(3);
    await say(2, "40");
    expect(started).toHaveLength(5);
    await say(3, "39");
    await say(4, "42");
    expect(await completion).toMatchObject({ ok: true, usage: usageOf(50, 5) });
    expect(text()).toBe("42");
  });

  test.each<[says: string, replies: (string | null)[], asks: number]>([
    ["one alone cannot agree", ["42", null, null], 5],
    ["two agree beside one that failed", ["42", null, "42"], 3],
    ["one of three is empty", ["42", "", "42"], 5],
    ["all are empty", ["", "", ""], 3],
    ["all failed", [null, null, null], 3],
  ])("%s", async (_, replies, asks) => {
    const thinker = open();
    for (const [i, text] of replies.entries()) {
      if (text === null) await thinker.break(i);
      else await thinker.say(i, text);
    }
    expect(thinker.started).toHaveLength(asks);
    for (let i = 3; i < asks; i++) await thinker.break(i);
    expect((await thinker.completion).ok).toBe(replies.some((text) => text !== null));
  });

  test("no more if they could not change the result", async () => {
    const thinker = open({ attempts: 6, attempts_more: 3 });
    for (let i = 0; i < 6; i++) await thinker.say(i, i === 2 ? "41" : "42");
    expect(thinker.started).toHaveLength(6);
    expect((await thinker.completion).ok).toBe(true);
  });

  test("no more if none are configured", async () => {
    const thinker = open({ attempts_more: 0 });
    await thinker.say(0, "41 it is");
    await thinker.say(1, "so it is 42");
    await thinker.say(2, "so it is 43");
    expect(await thinker.completion).toMatchObject({ ok: true, usage: usageOf(30, 3) });
    // In a tie the first attempt wins.
    expect(thinker.text()).toBe("41 it is");
  });

  test("no empty answer that several attempts gave where another one says something", async () => {
    const thinker = open({ attempts_more: 0 });
    await thinker.say(0, "");
    await thinker.say(1, "");
    await thinker.say(2, "42");
    expect(await thinker.completion).toMatchObject({ ok: true, usage: usageOf(30, 3) });
    expect(thinker.text()).toBe("42");
  });
});

describe("an attempt has", () => {
  test("its own default temperature, no tools, and everything else unchanged", () => {
    const ask = createAsk("Hello", {
      tools: [{ type: "function", function: { name: "add" } }],
      ...{ tool_choice: "none", stream: true, stop: ["x"], top_p: 0.5 },
    });
    const { started } = open({}, LEFT, ask);
    for (const [index, one] of started.entries()) {
      const request_id = index === 0 ? ask.request_id : `${ask.request_id}.${index}`;
      const bare = { tools: [], tool_choice: null };
      expect(one.ask).toEqual({ ...ask, ...bare, request_id, temperature: 0.7 });
      expect(one.ask.messages).toBe(ask.messages);
    }
  });

  test("the caller's temperature, also zero", () => {
    for (const temperature of [0, 0.1, 2]) {
      const { started } = open({}, LEFT, createAsk("Hello", { temperature }));
      expect(started.map(({ ask }) => ask.temperature)).toEqual([
        temperature,
        temperature,
        temperature,
      ]);
    }
  });

  test.each<[number | null, (number | null)[]]>([
    [null, [null, null, null, null, null]],
    [0, [0, 1, 2, 3, 4]],
    [-2, [-2, -1, 0, 1, 2]],
    [Number.MAX_SAFE_INTEGER - 1, [0, 1, -2, -3, -4].map((n) => Number.MAX_SAFE_INTEGER - 1 + n)],
    [Number.MIN_SAFE_INTEGER, [0, 1, 2, 3, 4].map((n) => Number.MIN_SAFE_INTEGER + n)],
  ])("a distinct seed derived from %p", async (seed, seeds) => {
    const { started, say } = open({}, LEFT, createAsk("Hello", { seed }));
    for (const [i, text] of ["1", "2", "3"].entries()) await say(i, text);
    expect(started.map(({ ask }) => ask.seed)).toEqual(seeds);
    expect(seed === null || new Set(seeds).size === 5).toBe(true);
  });
});

describe("it does not wait for", () => {
  test("the last attempt, once it cannot change the answer", async () => {
    const { say, aborted, completion, text, isOver } = open();
    await say(0, "42");
    await say(1, "41");
    await say(2, "42");
    await say(3, "40");
    // Two to one to one: the fifth could make it a tie.
    expect([aborted(), isOver()]).toEqual([[], false]);
    const other = open();
    await other.say(0, "42");
    await other.say(1, "41");
    await other.say(2, "42");
    await other.say(4, "42");
    expect([other.aborted().includes(3), other.isOver()]).toEqual([true, true]);
    expect(await other.completion).toEqual({
      ok: true,
      finishReason: "stop",
      usage: usageOf(40, 4),
    });
    await say(4, "41");
    expect((await completion).ok).toBe(true);
    expect(text()).not.toBe("40");
  });

  test("the first three only if no more may follow", async () => {
    const { say, aborted } = open();
    await say(0, "42");
    await say(1, "42");
    expect(aborted()).toEqual([]);
    const alone = open({ attempts_more: 0 });
    await alone.say(0, "42");
    await alone.say(1, "42");
    expect([alone.aborted().includes(2), alone.isOver()]).toEqual([true, true]);
  });

  test("attempts that cannot change the answer after a failure", async () => {
    const { say, aborted, isOver, ...thinker } = open({ attempts: 4, attempts_more: 0 });
    await say(0, "42");
    await say(1, "42");
    expect(aborted()).toEqual([]);
    await thinker.break(2);
    expect([aborted().includes(3), isOver()]).toEqual([true, true]);
  });

  test("any particular order: every order gives the same answer", async () => {
    const texts = ["it is 42", "so 41", "is it 42", "40", "42 it is"];
    const keys = new Set<string>();
    for (const order of [
      [0, 1, 2, 3, 4],
      [2, 1, 0, 4, 3],
      [1, 0, 2, 4, 3],
      [2, 0, 1, 3, 4],
    ]) {
      const { say, text, completion, isOver } = open();
      for (const i of order) if (!isOver()) await say(i, texts[i]!);
      await completion;
      keys.add(text().match(/4\d/)![0]);
    }
    expect([...keys]).toEqual(["42"]);
  });
});

describe("the combined result", () => {
  test("sends nothing before the winner is known", async () => {
    const { say, received, completion } = open();
    await say(0, "42");
    await say(1, "42");
    expect(received).toEqual([]);
    await say(2, "42");
    await completion;
    expect(received).toEqual([{ kind: "text", text: "42" }]);
  });

  test("a usage with an estimated part is an estimate", async () => {
    const { say, completion, ...thinker } = open();
    await say(0, "42");
    await say(1, "42", { usageEstimated: true, usage: usageOf(9, 2) });
    await thinker.break(2, { ...BROKEN, usage: usageOf(8, 4) });
    expect(await completion).toEqual({
      ...{ ok: true, finishReason: "stop", usage: usageOf(27, 7), usageEstimated: true },
    });
  });

  test("a failure without usage is not an estimate", async () => {
    const thinker = open();
    for (const i of [0, 1, 2]) await thinker.say(i, "42", { usageEstimated: true });
    const usage = usageOf(30, 3);
    expect(await thinker.completion).toEqual({
      ...{ ok: true, finishReason: "stop", usage, usageEstimated: true },
    });
    const other = open();
    for (const i of [0, 1]) await other.say(i, "42");
    await other.break(2);
    expect(await other.completion).toEqual({
      ok: true,
      finishReason: "stop",
      usage: usageOf(20, 2),
    });
  });

  test("counts the output of aborted attempts", async () => {
    const { say, completion } = open({ attempts_more: 0 }, { ...LEFT, usage: usageOf(10, 5) });
    await say(0, "42");
    await say(1, "42");
    expect(await completion).toMatchObject({
      ...{ usage: usageOf(30, 7), usageEstimated: true },
    });
  });

  test("counts at least the prompt of an attempt aborted before its first output", async () => {
    const { say, completion } = open({ attempts_more: 0 }, { ...LEFT, attempts: 1 });
    await say(0, "42", { attempts: 1 });
    await say(1, "42", { attempts: 1 });
    expect(await completion).toMatchObject({
      ...{
        usage: usageOf(30, 2),
        usageEstimated: true,
        attempts: 3,
      },
    });
  });

  test("prefers a reported prompt count of another attempt to an estimate", async () => {
    const { say, completion } = open({ attempts_more: 0 }, { ...LEFT, attempts: 1 });
    await say(0, "42", { usageEstimated: true, usage: usageOf(99, 1) });
    await say(1, "42");
    expect(await completion).toMatchObject({ usage: usageOf(99 + 10 + 10, 2) });
  });

  test("counts the prompt of a timed-out attempt, but not of one that a server refused", async () => {
    const late: UpstreamError = { ...BROKEN, code: "upstream_timeout" };
    for (const [status, prompts] of [
      [undefined, 30],
      [504, 20],
    ] as const) {
      const { say, completion, ...thinker } = open();
      await thinker.break(0, { ...late, upstreamStatus: status, ...({ attempts: 1 } as object) });
      await say(1, "42");
      await say(2, "42");
      expect(await completion).toMatchObject({ usage: usageOf(prompts, 2) });
    }
  });

  test("counts nothing for an attempt aborted before any request", async () => {
    const { say, completion } = open({ attempts_more: 0 }, { ...LEFT, attempts: 0 });
    await say(0, "42", { attempts: 1 });
    await say(1, "42", { attempts: 1 });
    const usage = usageOf(20, 2);
    expect(await completion).toEqual({ ok: true, finishReason: "stop", usage, attempts: 2 });
  });

  test("adds up the requests, and has the longest wait", async () => {
    const { say, completion, ...thinker } = open();
    await say(0, "42", { attempts: 1, waitedMs: 20 });
    await say(1, "42", { attempts: 3 });
    await thinker.break(2, { ...BROKEN, ...({ attempts: 2, waitedMs: 90 } as object) });
    expect(await completion).toMatchObject({ attempts: 6, waitedMs: 90 });
  });

  test("has the first attempt's error and all usage if all failed", async () => {
    const { completion, ...thinker } = open();
    await thinker.break(2, { ...BROKEN, code: "upstream_timeout" });
    await thinker.break(1, { ...BROKEN, usage: usageOf(1, 2) });
    const first: UpstreamError = { ...BROKEN, code: "upstream_rate_limited", retryAfterMs: 5 };
    await thinker.break(0, { ...first, usage: usageOf(3, 4) });
    expect(await completion).toEqual({ ...first, usage: usageOf(4, 6) });
  });

  test("passes a reply with unrequested calls on whole", async () => {
    const { started, received, completion, settle } = open();
    for (const [i, { onChunk, end }] of started.entries()) {
      await onChunk({ kind: "text", text: "Wait." });
      await onChunk({ kind: "call", index: 0, id: `id${i}`, name: "add", arguments: "{}" });
      end({ ok: true, finishReason: "tool_calls", usage: USAGE });
    }
    await settle();
    expect(await completion).toMatchObject({ finishReason: "tool_calls" });
    expect(received).toEqual([
      { kind: "text", text: "Wait." },
      { kind: "call", index: 0, id: "id0", name: "add", arguments: "{}" },
    ]);
  });
});

test("attempts with calls and no text agree if they make the same calls", async () => {
  const { started, received, completion, settle } = open();
  const calls = ["sub", "add", "add", "add", "sub"];
  for (let i = 0; i < started.length; i++) {
    void started[i]!.onChunk({
      kind: "call",
      index: 0,
      id: `id${i}`,
      name: calls[i]!,
      arguments: "{}",
    });
    started[i]!.end({ ok: true, finishReason: "tool_calls", usage: USAGE });
    await settle();
  }
  // Two of the first three agree; then a third one decides.
  expect(await completion).toMatchObject({ ok: true, usage: usageOf(40, 4) });
  expect(received).toEqual([{ kind: "call", index: 0, id: "id1", name: "add", arguments: "{}" }]);
});

/** Completes in the same turn in which it sends its text, as a whole reply does. */
function endWhole({ onChunk, end }: Attempt): void {
  end({ ok: true, finishReason: "stop", usage: USAGE });
  void onChunk({ kind: "text", text: "x".repeat(1_000_001) });
}

describe("an endless attempt", () => {
  test("is aborted beyond a million characters, and has no vote", async () => {
    const { started, say, aborted, completion, text } = open();
    await started[0]!.onChunk({ kind: "text", text: "x".repeat(999_999) });
    expect(aborted()).toEqual([]);
    await started[0]!.onChunk({ kind: "text", text: "xy" });
    expect(aborted()).toEqual([0]);
    await say(1, "42");
    await say(2, "42");
    expect(await completion).toMatchObject({ ok: true, usage: usageOf(20, 2) });
    expect(text()).toBe("42");
  });

  test("is aborted after too many empty chunks", async () => {
    const { started, aborted } = open();
    const chunk: Chunk = { kind: "call", index: 0, arguments: "" };
    for (let n = 0; n < 15_625; n++) void started[0]!.onChunk(chunk);
    expect(aborted()).toEqual([]);
    void started[0]!.onChunk(chunk);
    expect(aborted()).toEqual([0]);
  });

  test("has no vote either if it came whole, but counts as usage", async () => {
    const { started, say, completion, text, settle } = open();
    await say(1, "42");
    for (const i of [0, 2]) endWhole(started[i]!);
    await settle();
    await say(3, "42");
    // The fifth is not waited for.
    expect(await completion).toEqual({ ok: true, finishReason: "stop", usage: usageOf(40, 4) });
    expect(text()).toBe("42");
  });

  test("is an upstream failure if all attempts are endless", async () => {
    const { started, completion } = open();
    started.forEach(endWhole);
    expect(await completion).toMatchObject({
      ok: false,
      code: "upstream_error",
      usage: usageOf(30, 3),
    });
  });
});

describe("all attempts end after", () => {
  test("a caller leaves: all are aborted at once, and no more start", async () => {
    const { started, caller, say, aborted, completion, text } = open(
      {},
      { ...LEFT, usage: usageOf(10, 2) },
    );
    await say(0, "42");
    caller.abort();
    expect(aborted()).toEqual([1, 2]);
    expect(await completion).toEqual({ ...LEFT, usage: usageOf(30, 5) });
    expect([started.length, text()]).toEqual([3, ""]);
  });

  test("a caller leaves as the third attempt disagrees", async () => {
    const { started, caller, say, completion } = open();
    await say(0, "42");
    await say(1, "41");
    caller.abort();
    started[2]!.end({ ok: true, finishReason: "stop", usage: USAGE });
    expect(await completion).toMatchObject({ code: "client_closed_request" });
    expect(started).toHaveLength(3);
  });

  test("a caller left before the start", async () => {
    let asks = 0;
    const answer: Complete = async () => {
      asks++;
      return BROKEN;
    };
    const thinker = think(answer, { attempts: 3, attempts_more: 2 });
    const completion = await thinker(createAsk("Hello"), () => undefined, AbortSignal.abort());
    expect([completion, asks]).toEqual([LEFT, 0]);
  });

  test("a bug: the others are aborted, and it is rethrown when they have ended", async () => {
    const ends: PromiseWithResolvers<Completion>[] = [];
    const signals: AbortSignal[] = [];
    const answer: Complete = (_ask, _onChunk, signal) => {
      const end = Promise.withResolvers<Completion>();
      ends.push(end);
      signals.push(signal);
      return end.promise;
    };
    const thinker = think(answer, { attempts: 3, attempts_more: 2 });
    const completion = thinker(createAsk("Hello"), () => undefined, new AbortController().signal);
    const bug = new Error("a bug");
    ends[1]!.reject(bug);
    for (const slow of [0, 2]) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(Bun.peek.status(completion)).toBe("pending");
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
      ends[slow]!.resolve(LEFT);
    }
    expect(await completion.catch((failure: unknown) => failure)).toBe(bug);
  });

  test("an internal refusal of all attempts", async () => {
    const answer: Complete = () => {
      throw apiError("rate_limit_exceeded");
    };
    const thinker = think(answer, { attempts: 3, attempts_more: 2 });
    const completion = thinker(createAsk("Hello"), () => undefined, new AbortController().signal);
    expect(await completion.catch((failure: unknown) => failure)).toBeInstanceOf(ApiError);
  });

  test("an onChunk that throws, as a bug", async () => {
    const bug = new Error("a bug");
    const answer: Complete = async (_, onChunk) => {
      await onChunk({ kind: "text", text: "42" });
      return { ok: true, finishReason: "stop", usage: USAGE };
    };
    const thinker = think(answer, { attempts: 3, attempts_more: 2 });
    const onChunk = () => {
      throw bug;
    };
    const completion = thinker(createAsk("Hello"), onChunk, new AbortController().signal);
    expect(await completion.catch((failure: unknown) => failure)).toBe(bug);
  });

  test("every completion, leaving no listener on the caller's signal", async () => {
    const { caller, say, completion, aborted } = open();
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(1);
    for (const i of [0, 1, 2]) await say(i, "42");
    await completion;
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
    caller.abort();
    expect(aborted()).toEqual([]);
  });
});
