// Holds deep thinking to when it asks, when it has heard enough, and what it says of all attempts.
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

interface Asked {
  ask: ModelRequest;
  onChunk: OnChunk;
  signal: AbortSignal;
  end(ending: Completion): void;
  fail(bug: unknown): void;
}

/** A thinker whose attempts end as the test says; an aborted one ends at once, with `aborted`. */
function open(
  some: Partial<ThinkSettings> = {},
  aborted: Completion = LEFT,
  asked_of = createAsk("Hello"),
) {
  const asked: Asked[] = [];
  const heard: Chunk[] = [];
  const caller = new AbortController();
  const answer: Complete = (ask, ear, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Completion>();
    signal.addEventListener("abort", () => resolve({ ...aborted }), { once: true });
    asked.push({ ask, onChunk: ear, signal, end: resolve, fail: reject });
    return promise;
  };
  const thinker = think(answer, { attempts: 3, attempts_more: 2, ...some });
  const ending = thinker(asked_of, (piece) => void heard.push(piece), caller.signal);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    asked,
    caller,
    ending,
    settle,
    isOver: () => Bun.peek.status(ending) !== "pending",
    text: () => heard.map((piece) => (piece.kind === "text" ? piece.text : "call")).join("|"),
    heard,
    /** The attempt with this index says this, and ends well. */
    async say(index: number, text: string, more: object = {}) {
      await asked[index]!.onChunk({ kind: "text", text });
      asked[index]!.end({ ok: true, finishReason: "stop", usage: USAGE, ...more });
      await settle();
    },
    async break(index: number, failure: UpstreamError = BROKEN) {
      asked[index]!.end(failure);
      await settle();
    },
    aborted: () => asked.flatMap(({ signal }, i) => (signal.aborted ? i : [])),
  };
}

describe("when it asks", () => {
  test("three at once, and no more where they agree", async () => {
    const { asked, say, ending, text } = open();
    expect(asked).toHaveLength(3);
    await say(1, "Answer: 1,000");
    await say(0, "So\n1000.0");
    await say(2, "\\boxed{1000}", { finishReason: "length" });
    expect(asked).toHaveLength(3);
    expect(await ending).toEqual({ ok: true, finishReason: "stop", usage: usageOf(30, 3) });
    expect(text()).toBe("So\n1000.0");
  });

  test("two more where they do not, once all three have ended", async () => {
    const { asked, say, ending, text } = open();
    await say(0, "41");
    await say(1, "42");
    expect(asked).toHaveLength(3);
    await say(2, "40");
    expect(asked).toHaveLength(5);
    await say(3, "39");
    await say(4, "42");
    expect(await ending).toMatchObject({ ok: true, usage: usageOf(50, 5) });
    expect(text()).toBe("42");
  });

  test.each<[says: string, told: (string | null)[], asks: number]>([
    ["one alone has nobody to agree with", ["42", null, null], 5],
    ["two agree beside one that failed", ["42", null, "42"], 3],
    ["one of three says nothing", ["42", "", "42"], 5],
    ["all say nothing", ["", "", ""], 3],
    ["all failed", [null, null, null], 3],
  ])("%s", async (_, told, asks) => {
    const thinker = open();
    for (const [i, text] of told.entries()) {
      if (text === null) await thinker.break(i);
      else await thinker.say(i, text);
    }
    expect(thinker.asked).toHaveLength(asks);
    for (let i = 3; i < asks; i++) await thinker.break(i);
    expect((await thinker.ending).ok).toBe(told.some((text) => text !== null));
  });

  test("no more than could matter: five to one are five to one", async () => {
    const thinker = open({ attempts: 6, attempts_more: 3 });
    for (let i = 0; i < 6; i++) await thinker.say(i, i === 2 ? "41" : "42");
    expect(thinker.asked).toHaveLength(6);
    expect((await thinker.ending).ok).toBe(true);
  });

  test("none more where there are none", async () => {
    const thinker = open({ attempts_more: 0 });
    await thinker.say(0, "41 it is");
    await thinker.say(1, "so it is 42");
    await thinker.say(2, "so it is 43");
    expect(await thinker.ending).toMatchObject({ ok: true, usage: usageOf(30, 3) });
    // In a tie the first attempt wins.
    expect(thinker.text()).toBe("41 it is");
  });
});

describe("what it asks", () => {
  test("a temperature of its own, no tools, and all else as it came", () => {
    const ask = createAsk("Hello", {
      tools: [{ type: "function", function: { name: "add" } }],
      ...{ tool_choice: "none", stream: true, stop: ["x"], top_p: 0.5 },
    });
    const { asked } = open({}, LEFT, ask);
    for (const [index, one] of asked.entries()) {
      const request_id = index === 0 ? ask.request_id : `${ask.request_id}.${index}`;
      const bare = { tools: [], tool_choice: null };
      expect(one.ask).toEqual({ ...ask, ...bare, request_id, temperature: 0.7 });
      expect(one.ask.messages).toBe(ask.messages);
    }
  });

  test("the caller's temperature, zero too", () => {
    for (const temperature of [0, 0.1, 2]) {
      const { asked } = open({}, LEFT, createAsk("Hello", { temperature }));
      expect(asked.map(({ ask }) => ask.temperature)).toEqual([
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
  ])("of the seed %p another one each", async (seed, seeds) => {
    const { asked, say } = open({}, LEFT, createAsk("Hello", { seed }));
    for (const [i, text] of ["1", "2", "3"].entries()) await say(i, text);
    expect(asked.map(({ ask }) => ask.seed)).toEqual(seeds);
    expect(seed === null || new Set(seeds).size === 5).toBe(true);
  });
});

describe("who is not waited for", () => {
  test("the last one, once it cannot change the answer", async () => {
    const { say, aborted, ending, text, isOver } = open();
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
    expect(await other.ending).toEqual({ ok: true, finishReason: "stop", usage: usageOf(40, 4) });
    await say(4, "41");
    expect((await ending).ok).toBe(true);
    expect(text()).not.toBe("40");
  });

  test("nobody of the first three, as long as more may follow", async () => {
    const { say, aborted } = open();
    await say(0, "42");
    await say(1, "42");
    expect(aborted()).toEqual([]);
    const alone = open({ attempts_more: 0 });
    await alone.say(0, "42");
    await alone.say(1, "42");
    expect([alone.aborted().includes(2), alone.isOver()]).toEqual([true, true]);
  });

  test("a failure, too, leaves fewer who could change it", async () => {
    const { say, aborted, isOver, ...thinker } = open({ attempts: 4, attempts_more: 0 });
    await say(0, "42");
    await say(1, "42");
    expect(aborted()).toEqual([]);
    await thinker.break(2);
    expect([aborted().includes(3), isOver()]).toEqual([true, true]);
  });

  test("whatever the order in which they end, the answer is the same", async () => {
    const texts = ["it is 42", "so 41", "is it 42", "40", "42 it is"];
    const keys = new Set<string>();
    for (const order of [
      [0, 1, 2, 3, 4],
      [2, 1, 0, 4, 3],
      [1, 0, 2, 4, 3],
      [2, 0, 1, 3, 4],
    ]) {
      const { say, text, ending, isOver } = open();
      for (const i of order) if (!isOver()) await say(i, texts[i]!);
      await ending;
      keys.add(text().match(/4\d/)![0]);
    }
    expect([...keys]).toEqual(["42"]);
  });
});

describe("what it says of all attempts", () => {
  test("nothing before it is known who wins", async () => {
    const { say, heard, ending } = open();
    await say(0, "42");
    await say(1, "42");
    expect(heard).toEqual([]);
    await say(2, "42");
    await ending;
    expect(heard).toEqual([{ kind: "text", text: "42" }]);
  });

  test("an estimate is no price: only what servers told is", async () => {
    const { say, ending, ...thinker } = open();
    await say(0, "42");
    await say(1, "42", { usageEstimated: true, usage: usageOf(9, 2) });
    await thinker.break(2, { ...BROKEN, usage: usageOf(8, 4) });
    expect(await ending).toEqual({
      ...{ ok: true, finishReason: "stop", usage: usageOf(27, 7), usageEstimated: true },
      reportedUsage: USAGE,
    });
  });

  test("nothing is told where all of it is an estimate, and no failure without usage is one", async () => {
    const thinker = open();
    for (const i of [0, 1, 2]) await thinker.say(i, "42", { usageEstimated: true });
    const usage = usageOf(30, 3);
    expect(await thinker.ending).toEqual({
      ...{ ok: true, finishReason: "stop", usage, usageEstimated: true },
    });
    const other = open();
    for (const i of [0, 1]) await other.say(i, "42");
    await other.break(2);
    expect(await other.ending).toEqual({ ok: true, finishReason: "stop", usage: usageOf(20, 2) });
  });

  test("what an aborted attempt had made is counted", async () => {
    const { say, ending } = open({ attempts_more: 0 }, { ...LEFT, usage: usageOf(10, 5) });
    await say(0, "42");
    await say(1, "42");
    expect(await ending).toMatchObject({
      ...{ usage: usageOf(30, 7), usageEstimated: true, reportedUsage: usageOf(20, 2) },
    });
  });

  test("one that was cut before it said anything has read the prompt at least", async () => {
    const { say, ending } = open({ attempts_more: 0 }, { ...LEFT, attempts: 1 });
    await say(0, "42", { attempts: 1 });
    await say(1, "42", { attempts: 1 });
    expect(await ending).toMatchObject({
      ...{
        usage: usageOf(30, 2),
        usageEstimated: true,
        reportedUsage: usageOf(20, 2),
        attempts: 3,
      },
    });
  });

  test("its prompt is what a server told of another, rather than an estimate", async () => {
    const { say, ending } = open({ attempts_more: 0 }, { ...LEFT, attempts: 1 });
    await say(0, "42", { usageEstimated: true, usage: usageOf(99, 1) });
    await say(1, "42");
    expect(await ending).toMatchObject({ usage: usageOf(99 + 10 + 10, 2) });
  });

  test("one whose time was over before a word has read it too, and one that a server refused has not", async () => {
    const late: UpstreamError = { ...BROKEN, code: "upstream_timeout" };
    for (const [status, prompts] of [
      [undefined, 30],
      [504, 20],
    ] as const) {
      const { say, ending, ...thinker } = open();
      await thinker.break(0, { ...late, upstreamStatus: status, ...({ attempts: 1 } as object) });
      await say(1, "42");
      await say(2, "42");
      expect(await ending).toMatchObject({ usage: usageOf(prompts, 2) });
    }
  });

  test("one that was cut before any server was asked has used nothing", async () => {
    const { say, ending } = open({ attempts_more: 0 }, { ...LEFT, attempts: 0 });
    await say(0, "42", { attempts: 1 });
    await say(1, "42", { attempts: 1 });
    const usage = usageOf(20, 2);
    expect(await ending).toEqual({ ok: true, finishReason: "stop", usage, attempts: 2 });
  });

  test("requests are added up, and the longest wait is told", async () => {
    const { say, ending, ...thinker } = open();
    await say(0, "42", { attempts: 1, waitedMs: 20 });
    await say(1, "42", { attempts: 3 });
    await thinker.break(2, { ...BROKEN, ...({ attempts: 2, waitedMs: 90 } as object) });
    expect(await ending).toMatchObject({ attempts: 6, waitedMs: 90 });
  });

  test("all failed: the error of the first, with what all had made", async () => {
    const { ending, ...thinker } = open();
    await thinker.break(2, { ...BROKEN, code: "upstream_timeout" });
    await thinker.break(1, { ...BROKEN, usage: usageOf(1, 2) });
    const first: UpstreamError = { ...BROKEN, code: "upstream_rate_limited", retryAfterMs: 5 };
    await thinker.break(0, { ...first, usage: usageOf(3, 4) });
    expect(await ending).toEqual({ ...first, usage: usageOf(4, 6) });
  });

  test("a reply with calls that nobody has offered is passed on whole", async () => {
    const { asked, heard, ending, settle } = open();
    for (const [i, { onChunk: ear, end }] of asked.entries()) {
      await ear({ kind: "text", text: "Wait." });
      await ear({ kind: "call", index: 0, id: `id${i}`, name: "add", arguments: "{}" });
      end({ ok: true, finishReason: "tool_calls", usage: USAGE });
    }
    await settle();
    expect(await ending).toMatchObject({ finishReason: "tool_calls" });
    expect(heard).toEqual([
      { kind: "text", text: "Wait." },
      { kind: "call", index: 0, id: "id0", name: "add", arguments: "{}" },
    ]);
  });
});

test("attempts that call and say nothing agree where they call the same", async () => {
  const { asked, heard, ending, settle } = open();
  const calls = ["sub", "add", "add", "add", "sub"];
  for (let i = 0; i < asked.length; i++) {
    void asked[i]!.onChunk({
      kind: "call",
      index: 0,
      id: `id${i}`,
      name: calls[i]!,
      arguments: "{}",
    });
    asked[i]!.end({ ok: true, finishReason: "tool_calls", usage: USAGE });
    await settle();
  }
  // Of the first three two agree; then a third one decides it.
  expect(await ending).toMatchObject({ ok: true, usage: usageOf(40, 4) });
  expect(heard).toEqual([{ kind: "call", index: 0, id: "id1", name: "add", arguments: "{}" }]);
});

/** Ends well in the same turn in which all of its text is told, as a whole reply does. */
function endWhole({ onChunk: ear, end }: Asked): void {
  end({ ok: true, finishReason: "stop", usage: USAGE });
  void ear({ kind: "text", text: "x".repeat(1_000_001) });
}

describe("an attempt without an end of its own", () => {
  test("is cut where it is longer than a million characters, and has no voice", async () => {
    const { asked, say, aborted, ending, text } = open();
    await asked[0]!.onChunk({ kind: "text", text: "x".repeat(999_999) });
    expect(aborted()).toEqual([]);
    await asked[0]!.onChunk({ kind: "text", text: "xy" });
    expect(aborted()).toEqual([0]);
    await say(1, "42");
    await say(2, "42");
    expect(await ending).toMatchObject({ ok: true, usage: usageOf(20, 2) });
    expect(text()).toBe("42");
  });

  test("is cut where it is of ever more pieces that say nothing", async () => {
    const { asked, aborted } = open();
    const piece: Chunk = { kind: "call", index: 0, arguments: "" };
    for (let n = 0; n < 15_625; n++) void asked[0]!.onChunk(piece);
    expect(aborted()).toEqual([]);
    void asked[0]!.onChunk(piece);
    expect(aborted()).toEqual([0]);
  });

  test("has no voice either if it came whole, but a price", async () => {
    const { asked, say, ending, text, settle } = open();
    await say(1, "42");
    for (const i of [0, 2]) endWhole(asked[i]!);
    await settle();
    await say(3, "42");
    // The fifth is not waited for.
    expect(await ending).toEqual({ ok: true, finishReason: "stop", usage: usageOf(40, 4) });
    expect(text()).toBe("42");
  });

  test("is a server's failure where all are", async () => {
    const { asked, ending } = open();
    asked.forEach(endWhole);
    expect(await ending).toMatchObject({
      ok: false,
      code: "upstream_error",
      usage: usageOf(30, 3),
    });
  });
});

describe("what ends all of it", () => {
  test("a caller who leaves: all are aborted at once, and none is asked any more", async () => {
    const { asked, caller, say, aborted, ending, text } = open(
      {},
      { ...LEFT, usage: usageOf(10, 2) },
    );
    await say(0, "42");
    caller.abort();
    expect(aborted()).toEqual([1, 2]);
    expect(await ending).toEqual({ ...LEFT, usage: usageOf(30, 5) });
    expect([asked.length, text()]).toEqual([3, ""]);
  });

  test("a caller who leaves as the third disagrees", async () => {
    const { asked, caller, say, ending } = open();
    await say(0, "42");
    await say(1, "41");
    caller.abort();
    asked[2]!.end({ ok: true, finishReason: "stop", usage: USAGE });
    expect(await ending).toMatchObject({ code: "client_closed_request" });
    expect(asked).toHaveLength(3);
  });

  test("a caller who had left before", async () => {
    let asks = 0;
    const answer: Complete = async () => {
      asks++;
      return BROKEN;
    };
    const thinker = think(answer, { attempts: 3, attempts_more: 2 });
    const ending = await thinker(createAsk("Hello"), () => undefined, AbortSignal.abort());
    expect([ending, asks]).toEqual([LEFT, 0]);
  });

  test("a bug: the others are aborted, and it is thrown on when they have ended", async () => {
    const { asked, aborted, ending } = open();
    const bug = new Error("a bug");
    asked[1]!.fail(bug);
    expect(await ending.catch((failure: unknown) => failure)).toBe(bug);
    expect(aborted()).toEqual([0, 1, 2]);
  });

  test("a refusal from within, of all of them", async () => {
    const answer: Complete = () => {
      throw apiError("rate_limit_exceeded");
    };
    const thinker = think(answer, { attempts: 3, attempts_more: 2 });
    const ending = thinker(createAsk("Hello"), () => undefined, new AbortController().signal);
    expect(await ending.catch((failure: unknown) => failure)).toBeInstanceOf(ApiError);
  });

  test("an ear that throws: a bug", async () => {
    const bug = new Error("a bug");
    const answer: Complete = async (_, ear) => {
      await ear({ kind: "text", text: "42" });
      return { ok: true, finishReason: "stop", usage: USAGE };
    };
    const thinker = think(answer, { attempts: 3, attempts_more: 2 });
    const hear = () => {
      throw bug;
    };
    const ending = thinker(createAsk("Hello"), hear, new AbortController().signal);
    expect(await ending.catch((failure: unknown) => failure)).toBe(bug);
  });

  test("nothing is left on the caller's signal", async () => {
    const { caller, say, ending, aborted } = open();
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(1);
    for (const i of [0, 1, 2]) await say(i, "42");
    await ending;
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
    caller.abort();
    expect(aborted()).toEqual([]);
  });
});
