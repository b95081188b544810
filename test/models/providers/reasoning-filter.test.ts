// What a model thinks stays in, wherever its tags are cut and whether or not they are closed.
import { describe, expect, test } from "bun:test";
import type {
  Chunk,
  Completion,
  RawComplete,
  ReasoningChunk,
} from "../../../src/models/providers/contract.ts";
import {
  type ReasoningTags,
  withoutReasoning,
} from "../../../src/models/providers/reasoning-filter.ts";
import { createAsk } from "../../support/ask.ts";
import { joinText } from "./replica.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const GOOD: Completion = { ok: true, finishReason: "stop", usage: USAGE };
const BAD: Completion = { ok: false, code: "upstream_error", retryable: true, reason: "it died" };
const CALL: Chunk = { kind: "call", index: 0, id: "a", name: "add", arguments: "{}" };

interface Way extends Partial<ReasoningTags> {
  ending?: Completion;
  reasoning?: boolean;
}

/** What is heard of a model that says these pieces one after another. */
async function hear(
  pieces: readonly (string | Chunk | ReasoningChunk)[],
  { ending = GOOD, reasoning = false, ...some }: Way = {},
): Promise<Chunk[]> {
  const heard: Chunk[] = [];
  const model: RawComplete = async (_, ear) => {
    for (const piece of pieces) {
      await ear(typeof piece === "string" ? { kind: "text", text: piece } : piece);
    }
    return ending;
  };
  const ear = (piece: Chunk) => void heard.push(piece);
  const signal = new AbortController().signal;
  const answer = withoutReasoning(model, { reasons: false, thought_opens: "reply", ...some });
  expect(await answer(createAsk("Hello", { reasoning }), ear, signal)).toBe(ending);
  return heard;
}

const TEXTS: [says: string, heard: string][] = [
  ["plain text", "plain text"],
  ["  a reply that begins with space", "  a reply that begins with space"],
  ["<think>secret</think>answer", "answer"],
  ["<think>\nsecret\n</think>\n\nanswer", "answer"],
  ["\n<think>secret</think> answer ", "answer "],
  ["first <think>secret</think> second", "first  second"],
  ["<think>secret</think>one<think>secret</think>two", "onetwo"],
  ["<think>secret <think> secret</think>answer", "answer"],
  ["It ends with </think>, always.", "It ends with </think>, always."],
  ["<think>secret < / <b> </thin secret", ""],
  ["<think></think>", ""],
  ["answer<think>secret", "answer"],
  ["a < b, <b>bold</b>, <thinker>, </thing>, <", "a < b, <b>bold</b>, <thinker>, </thing>, <"],
  ["answer <thin", "answer <thin"],
  ["<<think>secret</think>>", "<>"],
  ["<think>secret</</think>answer", "answer"],
  ["<think>secret</think", ""],
];

describe("what is heard", () => {
  for (const [says, heard] of TEXTS) {
    test(`of ${JSON.stringify(says)}, cut at every place`, async () => {
      for (let cut = 0; cut <= says.length; cut++) {
        const told = await hear([says.slice(0, cut), says.slice(cut)]);
        // A space in front of the first tag may have gone out before the tag came.
        expect(joinText(told).trimStart()).toBe(heard.trimStart());
        expect(told).not.toContainEqual({ kind: "text", text: "" });
      }
      expect(joinText(await hear([says]))).toBe(heard);
      expect(joinText(await hear([...says])).trimStart()).toBe(heard.trimStart());
    });
  }

  test("of calls beside thoughts is the calls", async () => {
    expect(await hear(["<think>secret</think>", CALL])).toEqual([CALL]);
    expect(await hear(["<think>secret", CALL, "secret"])).toEqual([CALL]);
    expect(await hear(["so <", CALL])).toEqual([
      { kind: "text", text: "so " },
      CALL,
      { kind: "text", text: "<" },
    ]);
  });

  test("of a tag that a call cuts is nothing", async () => {
    expect(await hear(["<thi", CALL, "nk>secret", "</th", CALL, "ink>answer"])).toEqual([
      CALL,
      CALL,
      { kind: "text", text: "answer" },
    ]);
  });

  test("of a thought that speaks of the tag ends where none follows", async () => {
    const text = "<think>secret <think>secret</think>SECRET</think>answer";
    for (let cut = 0; cut <= text.length; cut++) {
      const told = await hear([text.slice(0, cut), text.slice(cut)]);
      expect(joinText(told)).toBe("answer");
    }
  });
});

describe("a model that is said to reason", () => {
  test("ends a thought with the closing tag alone", async () => {
    const reasons = { reasons: true };
    expect(joinText(await hear(["secret</think>answer"], reasons))).toBe("answer");
    expect(joinText(await hear(["answer, ", "and more"], reasons))).toBe("answer, and more");
  });
});

describe("where the chat template opens the thought", () => {
  const always = { reasons: true, thought_opens: "always" } as const;
  const text = "secret <think> secret\n</think>\n\nanswer < 5";

  test("what comes before its end is thought, wherever it is cut", async () => {
    for (let cut = 0; cut <= text.length; cut++) {
      expect(joinText(await hear([text.slice(0, cut), text.slice(cut)], always))).toBe(
        "answer < 5",
      );
    }
    expect(joinText(await hear(["\n<think>secret</think>answer"], always))).toBe("answer");
  });

  test("words are told as they come behind it", async () => {
    const heard = await hear(["secret", "</think>", "one", " two"], always);
    expect(heard.map((piece) => joinText([piece]))).toEqual(["one", " two"]);
  });

  test("nothing is said where it never ends, whatever ends the answer", async () => {
    for (const finishReason of ["stop", "length", "content_filter", "tool_calls"]) {
      const ending = { ...GOOD, finishReason };
      expect(await hear(["secret", " secret", CALL], { ...always, ending })).toEqual([CALL]);
    }
  });

  test("only if asked to reason, it is words in every other answer", async () => {
    const asked = { reasons: true, thought_opens: "asked" } as const;
    const pieces = ["one", " two"];
    expect(joinText(await hear(pieces, asked))).toBe("one two");
    expect(await hear(pieces, { ...asked, reasoning: true })).toEqual([]);
  });

  test("a server that tells thoughts apart is heard at once", async () => {
    const thought: ReasoningChunk = { kind: "reasoning", text: "secret" };
    expect(joinText(await hear(["\n", thought, "answer"], always))).toBe("answer");
  });
});

test("a failed attempt tells nothing more at its end", async () => {
  expect(joinText(await hear(["answer <"], { ending: BAD }))).toBe("answer ");
});

test("an ear that holds back holds the model back", async () => {
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const model: RawComplete = async (_, ear) => {
    await ear({ kind: "text", text: "<think>secret</think>one" });
    order.push("the model goes on");
    return GOOD;
  };
  const answered = withoutReasoning(model, { reasons: false, thought_opens: "reply" })(
    createAsk("Hello"),
    () => gate.promise.then(() => void order.push("the caller has read")),
    new AbortController().signal,
  );
  gate.resolve();
  await answered;
  expect(order).toEqual(["the caller has read", "the model goes on"]);
});
