// What a model thinks stays in, wherever its tags are cut and whether or not they are closed.
import { describe, expect, test } from "bun:test";
import type { Ending, Piece, RawAnswer, Thought } from "../../../src/models/upstream/contract.ts";
import { withoutReasoning } from "../../../src/models/upstream/reasoning.ts";
import { createAsk } from "../../support/ask.ts";
import { joinText } from "./replica.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const GOOD: Ending = { ok: true, finish_reason: "stop", usage: USAGE };
const BAD: Ending = { ok: false, code: "upstream_error", elsewhere: true, why: "it died" };
const CALL: Piece = { kind: "call", index: 0, id: "a", name: "add", arguments: "{}" };

/** What is heard of a model that says these pieces one after another. */
async function hear(
  pieces: readonly (string | Piece | Thought)[],
  { ending = GOOD, reasons = false, reasoning = false } = {},
): Promise<Piece[]> {
  const heard: Piece[] = [];
  const model: RawAnswer = async (_, ear) => {
    for (const piece of pieces) {
      await ear(typeof piece === "string" ? { kind: "text", text: piece } : piece);
    }
    return ending;
  };
  const ear = (piece: Piece) => void heard.push(piece);
  const signal = new AbortController().signal;
  const answer = withoutReasoning(model, reasons);
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
  const THOUGHT: Thought = { kind: "thought", text: "secret" };
  const asked = { reasons: true, reasoning: true };
  const LONG: Ending = { ...GOOD, finish_reason: "length" };

  test("may think in a block that its prompt has opened", async () => {
    const text = "secret <think> secret\n</think>\n\nanswer < 5";
    for (let cut = 0; cut <= text.length; cut++) {
      const told = await hear([text.slice(0, cut), text.slice(cut)], asked);
      expect(joinText(told)).toBe("answer < 5");
    }
    expect(joinText(await hear(["secret", " secret"], { ...asked, ending: LONG }))).toBe("");
  });

  test("is heard at the end where it has not thought, and as it speaks where it has", async () => {
    const text = (...texts: string[]) => texts.map((one) => ({ kind: "text", text: one }) as const);
    expect(await hear(["ans", "wer <", "b>"], asked)).toEqual(text("answer <b>"));
    expect(await hear(["ans", "wer <think>secret"], asked)).toEqual(text("answer "));
    expect(await hear([" <thi", "nk>secret</think>", "ans", "wer"], asked)).toEqual(
      text("ans", "wer"),
    );
    expect(await hear([THOUGHT, "ans", "wer"], asked)).toEqual(text("ans", "wer"));
    // Not asked to reason it is heard at once.
    expect(await hear(["ans", "wer"], { reasons: true })).toEqual(text("ans", "wer"));
  });

  test("is known by its first reply to think unasked in such a block", async () => {
    const replies = [["secret</think>one"], ["sec", "ret</think>two"], ["th", "ree"], ["fo", "ur"]];
    const model: RawAnswer = async (_, ear) => {
      for (const text of replies.shift()!) await ear({ kind: "text", text });
      return GOOD;
    };
    const answer = withoutReasoning(model, true);
    const heard: string[][] = [];
    while (replies.length > 0) {
      const texts: string[] = [];
      const ear = (piece: Piece) => void texts.push(joinText([piece]));
      await answer(createAsk("Hello"), ear, new AbortController().signal);
      heard.push(texts);
    }
    expect(heard).toEqual([["one"], ["two"], ["three"], ["fo", "ur"]]);
  });
});

test("a failed attempt tells nothing more at its end", async () => {
  expect(joinText(await hear(["answer <"], { ending: BAD }))).toBe("answer ");
});

test("an ear that holds back holds the model back", async () => {
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const model: RawAnswer = async (_, ear) => {
    await ear({ kind: "text", text: "<think>secret</think>one" });
    order.push("the model goes on");
    return GOOD;
  };
  const answered = withoutReasoning(model, false)(
    createAsk("Hello"),
    () => gate.promise.then(() => void order.push("the caller has read")),
    new AbortController().signal,
  );
  gate.resolve();
  await answered;
  expect(order).toEqual(["the caller has read", "the model goes on"]);
});
