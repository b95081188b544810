// Tests that a model's reasoning is removed, wherever its tags are split and even if unclosed.
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
  completion?: Completion;
  reasoning?: boolean;
}

/** The output for a model that sends these chunks. */
async function filter(
  chunks: readonly (string | Chunk | ReasoningChunk)[],
  { completion = GOOD, reasoning = false, ...some }: Way = {},
): Promise<Chunk[]> {
  const received: Chunk[] = [];
  const model: RawComplete = async (_, onChunk) => {
    for (const chunk of chunks) {
      await onChunk(typeof chunk === "string" ? { kind: "text", text: chunk } : chunk);
    }
    return completion;
  };
  const onChunk = (chunk: Chunk) => void received.push(chunk);
  const signal = new AbortController().signal;
  const answer = withoutReasoning(model, { reasons: false, thought_opens: "reply", ...some });
  expect(await answer(createAsk("Hello", { reasoning }), onChunk, signal)).toBe(completion);
  return received;
}

const TEXTS: [says: string, received: string][] = [
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

describe("the output", () => {
  for (const [says, received] of TEXTS) {
    test(`of ${JSON.stringify(says)}, split at every position`, async () => {
      for (let cut = 0; cut <= says.length; cut++) {
        const output = await filter([says.slice(0, cut), says.slice(cut)]);
        // A space before the first tag may have been sent before the tag arrived.
        expect(joinText(output).trimStart()).toBe(received.trimStart());
        expect(output).not.toContainEqual({ kind: "text", text: "" });
      }
      expect(joinText(await filter([says]))).toBe(received);
      expect(joinText(await filter([...says])).trimStart()).toBe(received.trimStart());
    });
  }

  test("of calls beside reasoning is the calls", async () => {
    expect(await filter(["<think>secret</think>", CALL])).toEqual([CALL]);
    expect(await filter(["<think>secret", CALL, "secret"])).toEqual([CALL]);
    expect(await filter(["so <", CALL])).toEqual([
      { kind: "text", text: "so " },
      CALL,
      { kind: "text", text: "<" },
    ]);
  });

  test("of a tag split by a call is nothing", async () => {
    expect(await filter(["<thi", CALL, "nk>secret", "</th", CALL, "ink>answer"])).toEqual([
      CALL,
      CALL,
      { kind: "text", text: "answer" },
    ]);
  });

  test("of reasoning that mentions the tag starts after the last one", async () => {
    const text = "<think>secret <think>secret</think>SECRET</think>answer";
    for (let cut = 0; cut <= text.length; cut++) {
      const output = await filter([text.slice(0, cut), text.slice(cut)]);
      expect(joinText(output)).toBe("answer");
    }
  });
});

describe("a reasoning model", () => {
  test("may end its reasoning with the closing tag alone", async () => {
    const reasons = { reasons: true };
    expect(joinText(await filter(["secret</think>answer"], reasons))).toBe("answer");
    expect(joinText(await filter(["answer, ", "and more"], reasons))).toBe("answer, and more");
  });
});

describe("if the chat template opens the reasoning", () => {
  const always = { reasons: true, thought_opens: "always" } as const;
  const text = "secret <think> secret\n</think>\n\nanswer < 5";

  test("everything before its end is reasoning, split at any position", async () => {
    for (let cut = 0; cut <= text.length; cut++) {
      expect(joinText(await filter([text.slice(0, cut), text.slice(cut)], always))).toBe(
        "answer < 5",
      );
    }
    expect(joinText(await filter(["\n<think>secret</think>answer"], always))).toBe("answer");
  });

  test("text after it is sent at once", async () => {
    const received = await filter(["secret", "</think>", "one", " two"], always);
    expect(received.map((chunk) => joinText([chunk]))).toEqual(["one", " two"]);
  });

  test("nothing is sent if it never ends, whatever the finish reason", async () => {
    for (const finishReason of ["stop", "length", "content_filter", "tool_calls"]) {
      const completion = { ...GOOD, finishReason };
      expect(await filter(["secret", " secret", CALL], { ...always, completion })).toEqual([CALL]);
    }
  });

  test("only on request, other completions are all text", async () => {
    const asked = { reasons: true, thought_opens: "asked" } as const;
    const chunks = ["one", " two"];
    expect(joinText(await filter(chunks, asked))).toBe("one two");
    expect(await filter(chunks, { ...asked, reasoning: true })).toEqual([]);
  });

  test("a server that separates reasoning is passed on at once", async () => {
    const thought: ReasoningChunk = { kind: "reasoning", text: "secret" };
    expect(joinText(await filter(["\n", thought, "answer"], always))).toBe("answer");
  });
});

test("a reply that is cut behind a quoted tag shows nothing that may be reasoning", async () => {
  const chunks = ["<think>secret <think> secret</think>secret"];
  expect(joinText(await filter(chunks))).toBe("secret");
  const completion = { ...GOOD, finishReason: "length" };
  expect(await filter(chunks, { completion })).toEqual([]);
});

test("reasoning that comes apart ends no block that the text has opened", async () => {
  const thought: ReasoningChunk = { kind: "reasoning", text: "secret" };
  const chunks = ["<think>secret", thought, " secret</think>answer"];
  expect(joinText(await filter(chunks))).toBe("answer");
});

test("a block that the prompt and the reply open is one block", async () => {
  const completion = { ...GOOD, finishReason: "length" };
  for (const before of ["", " \n"]) {
    const chunks = [`${before}<think>secret</think>`, "answer"];
    const way: Way = { reasons: true, thought_opens: "always", completion };
    expect(joinText(await filter(chunks, way))).toBe("answer");
  }
});

test("a failed attempt sends nothing more at its end", async () => {
  expect(joinText(await filter(["answer <"], { completion: BAD }))).toBe("answer ");
});

test("a pending onChunk holds the model back", async () => {
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const model: RawComplete = async (_, onChunk) => {
    await onChunk({ kind: "text", text: "<think>secret</think>one" });
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

test("a held end holds the completion", async () => {
  const gate = Promise.withResolvers<void>();
  const model: RawComplete = async (_, onChunk) => {
    void onChunk({ kind: "text", text: "<" });
    return GOOD;
  };
  const answered = withoutReasoning(model, { reasons: false, thought_opens: "reply" })(
    createAsk("Hello"),
    () => gate.promise,
    new AbortController().signal,
  );
  await new Promise(setImmediate);
  expect(Bun.peek.status(answered)).toBe("pending");
  gate.resolve();
  expect(await answered).toBe(GOOD);
});

test("a reply that is cut keeps the begin of a tag in its text", async () => {
  const completion = { ...GOOD, finishReason: "length" };
  expect(joinText(await filter(["answer <th"], { completion }))).toBe("answer <th");
});

test("a closing tag ends all reasoning before it, also behind a whole block", async () => {
  const text = "secret <think>secret</think>secret</think>answer";
  expect(joinText(await filter([text], { reasons: true }))).toBe("answer");
});

test("a quoted tag of one block says nothing of the next", async () => {
  const completion = { ...GOOD, finishReason: "length" };
  const text = "<think>a<think>b</think>c</think>one<think>d</think>two";
  expect(joinText(await filter([text], { completion }))).toBe("onetwo");
});

test("a tag quoted in reasoning that the prompt has opened needs a closing one of its own", async () => {
  const chunks = ["secret ", "<think>", "secret</think>", "secret", "</think>answer"];
  const way: Way = { reasons: true, thought_opens: "always" };
  expect(joinText(await filter(chunks, way))).toBe("answer");
});

test("space behind reasoning stays where a call came before", async () => {
  expect(await filter([CALL, "<think>secret</think> answer"])).toEqual([
    CALL,
    { kind: "text", text: " answer" },
  ]);
});
