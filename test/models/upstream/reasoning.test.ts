// What a model thinks stays in, wherever its tags are cut and whether or not they are closed.
import { describe, expect, test } from "bun:test";
import type { Answer, Ending, Piece } from "../../../src/models/upstream/contract.ts";
import { withoutReasoning } from "../../../src/models/upstream/reasoning.ts";
import { createAsk } from "../../support/ask.ts";
import { joinText } from "./replica.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const GOOD: Ending = { ok: true, finish_reason: "stop", usage: USAGE };
const BAD: Ending = { ok: false, code: "upstream_error", elsewhere: true, why: "it died" };
const CALL: Piece = { kind: "call", index: 0, id: "a", name: "add", arguments: "{}" };

/** What is heard of a model that says these pieces one after another. */
async function hear(pieces: readonly (string | Piece)[], ending = GOOD): Promise<Piece[]> {
  const heard: Piece[] = [];
  const model: Answer = async (_, ear) => {
    for (const piece of pieces) {
      await ear(typeof piece === "string" ? { kind: "text", text: piece } : piece);
    }
    return ending;
  };
  const ear = (piece: Piece) => void heard.push(piece);
  const signal = new AbortController().signal;
  expect(await withoutReasoning(model)(createAsk("Hello"), ear, signal)).toBe(ending);
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

  test("of a block that the prompt has opened is what stands behind its end", async () => {
    expect(joinText(await hear(["secret\n</think>\n\nanswer"]))).toBe("answer");
  });

  test("of calls beside thoughts is the calls", async () => {
    expect(await hear(["<think>secret</think>", CALL])).toEqual([CALL]);
    expect(await hear(["<think>secret", CALL, "secret"])).toEqual([CALL]);
    expect(await hear(["so <", CALL])).toEqual([
      { kind: "text", text: "so " },
      { kind: "text", text: "<" },
      CALL,
    ]);
  });
});

test("a failed attempt tells nothing more at its end", async () => {
  expect(joinText(await hear(["answer <"], BAD))).toBe("answer ");
});

test("an ear that holds back holds the model back", async () => {
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const model: Answer = async (_, ear) => {
    await ear({ kind: "text", text: "<think>secret</think>one" });
    order.push("the model goes on");
    return GOOD;
  };
  const answered = withoutReasoning(model)(
    createAsk("Hello"),
    () => gate.promise.then(() => void order.push("the caller has read")),
    new AbortController().signal,
  );
  gate.resolve();
  await answered;
  expect(order).toEqual(["the caller has read", "the model goes on"]);
});
