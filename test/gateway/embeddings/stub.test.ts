// Tests the built-in embedder: meaningful vectors, equal at every call.
import { describe, expect, test } from "bun:test";
import type { EmbedRequest } from "../../../src/gateway/embeddings/contract.ts";
import { createStubEmbedder, embedText } from "../../../src/gateway/embeddings/stub.ts";

const embed = (inputs: string[], signal = new AbortController().signal) => {
  const ask: EmbedRequest = { request_id: "r", trace: null, account: "a", inputs };
  return createStubEmbedder().embed(ask, signal);
};

const product = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, at) => sum + x * b[at]!, 0);
const nearness = (a: string, b: string) => product(embedText(a), embedText(b));

describe("gateway.endpoints.embeddings.p1 every vector has 1024 dimensions and unit length", () => {
  const texts = {
    "a sentence": "The wadi fills with water after the rain.",
    "one letter": "a",
    Arabic: "سلطنة عمان",
    Japanese: "東京は日本の首都です",
    "punctuation alone": "…!?",
    "a space": " ",
    "line breaks": "\n\n",
    "a zero": "\0",
    "a mark that belongs to no letter": "\u0301",
    "an emoji": "🌵",
    "half an emoji": "\ud83c",
    "text that grows when it is normalised": "\ufdfa".repeat(500),
    "the longest": "word ".repeat(6_400),
  };
  test.each(Object.entries(texts))("gateway.endpoints.embeddings.p1 that of %s", (_, text) => {
    const vector = embedText(text);
    expect(vector).toHaveLength(1024);
    expect(vector.every(Number.isFinite)).toBeTrue();
    expect(product(vector, vector)).toBeCloseTo(1, 5);
  });

  test("gateway.endpoints.embeddings.p1 that of every two-letter word, however its features collide", () => {
    const letters = [..."abcdefghijklmnopqrstuvwxyzäöüßéñ0123456789"];
    for (const a of letters) {
      for (const b of letters) {
        const vector = embedText(a + b);
        expect(product(vector, vector)).toBeCloseTo(1, 5);
      }
    }
  });
});

describe("similar texts have similar vectors", () => {
  test("texts with the same words in another order are closer than unrelated ones", () => {
    const text = "The wadi fills with water after rain";
    expect(nearness(text, "After the rain the wadi is full of water")).toBeGreaterThan(0.5);
    expect(nearness(text, "Quarterly revenue grew in all regions")).toBeLessThan(0.2);
  });

  test("words with one stem are closer than unrelated ones, in any script", () => {
    expect(nearness("running", "runner")).toBeGreaterThan(nearness("running", "database") + 0.1);
    expect(nearness("عمان", "سلطنة عمان")).toBeGreaterThan(0.3);
    expect(nearness("東京は日本の首都です", "日本の首都は東京")).toBeGreaterThan(0.15);
  });

  test("case, width and punctuation make no difference", () => {
    expect(embedText("Hello, World!")).toEqual(embedText("hello world"));
    expect(embedText("ｈｅｌｌｏ")).toEqual(embedText("hello"));
    expect(embedText("…")).not.toEqual(embedText("!"));
  });

  test("equal texts have equal vectors", () => {
    expect(embedText("Hello")).toEqual(embedText("Hello"));
    // Stored by users in their indexes: it must only change deliberately.
    const firsts = [...embedText("Hello").entries()].filter(([, x]) => x !== 0).slice(0, 3);
    expect(firsts.map(([at, x]) => [at, x.toFixed(4)])).toEqual([
      [438, "-0.2774"],
      [446, "0.2774"],
      [456, "-0.2774"],
    ]);
  });
});

describe("the input", () => {
  test("gateway.limits.embeddings_input is cut at 4096 tokens, and only those are counted", async () => {
    // A word of four letters and the space before it are one token.
    const text = (words: number) => "abcd".concat(" abcd".repeat(words - 1));
    const [exact, longer, other] = await Promise.all(
      [text(4_096), `${text(4_096)} tail`, `${text(4_095)} tail`].map((one) => embed([one])),
    );
    expect(exact).toMatchObject({ ok: true, prompt_tokens: 4_096, attempts: 1 });
    expect(longer).toEqual(exact!);
    expect(other).toMatchObject({ prompt_tokens: 4_096 });
    expect(other).not.toEqual(exact!);
  });

  test("gateway.endpoints.embeddings.p2 gives one vector for each text in order, and the total of tokens", async () => {
    const ending = await embed(["Hello", "Hi", "Hello"]);
    if (!ending.ok) throw new Error(ending.reason);
    expect(ending.vectors).toEqual(["Hello", "Hi", "Hello"].map(embedText));
    expect(ending.prompt_tokens).toBe(5);
  });

  test("of a departed caller gives nothing", async () => {
    expect(await embed(["Hello"], AbortSignal.abort())).toMatchObject({
      ok: false,
      code: "client_closed_request",
    });
  });
});
