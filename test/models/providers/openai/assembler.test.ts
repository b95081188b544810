// Tests tool-call chunks of the known servers, and the one form that callers get.
import { describe, expect, spyOn, test } from "bun:test";
import type { Chunk } from "../../../../src/models/providers/contract.ts";
import {
  CallNormalizer,
  type RawCall,
  StreamAssembler,
} from "../../../../src/models/providers/openai/assembler.ts";
import { createAsk } from "../../../support/ask.ts";
import { createSeededIds } from "../../../support/ids.ts";

type CallPiece = Extract<Chunk, { kind: "call" }>;

function normalize(pieces: readonly RawCall[]): CallPiece[] {
  const normalizer = new CallNormalizer(createSeededIds());
  const chunks = pieces.map((piece) => normalizer.take(piece)).filter((piece) => piece !== null);
  expect(normalizer.hasCalls).toBe(chunks.length > 0);
  return chunks;
}

const begin = (index: number, id: unknown, name: string, text: string) =>
  ({ kind: "call", index, id, name, arguments: text }) as CallPiece;
const more = (index: number, text: string): CallPiece => ({ kind: "call", index, arguments: text });
const made = expect.stringMatching(/^call_[0-9A-Za-z]{24}$/);

/** A call chunk as servers send it. */
const raw = (index: number | undefined, id: string | undefined, name?: string, text?: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: "function" }),
  function: { ...(name !== undefined && { name }), arguments: text },
});

/** JSON of nested lists of this depth. */
const nest = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

const CASES: [title: string, sent: RawCall[], chunks: CallPiece[]][] = [
  [
    "in the standard form",
    [
      raw(0, "a", "add", ""),
      raw(0, undefined, undefined, '{"x"'),
      raw(0, undefined, undefined, ":1}"),
    ],
    [begin(0, "a", "add", ""), more(0, '{"x"'), more(0, ":1}")],
  ],
  [
    "two calls side by side, their pieces mixed",
    [
      raw(0, "a", "add", ""),
      raw(1, "b", "add", ""),
      raw(1, undefined, undefined, "{}"),
      raw(0, undefined, undefined, "[]"),
    ],
    [begin(0, "a", "add", ""), begin(1, "b", "add", ""), more(1, "{}"), more(0, "[]")],
  ],
  [
    "without index, by their id (llama-cpp-python before 0.3)",
    [
      raw(undefined, "a", "add", "{"),
      raw(undefined, "b", "sub", "{"),
      raw(undefined, "a", undefined, "}"),
    ],
    [begin(0, "a", "add", "{"), begin(1, "b", "sub", "{"), more(0, "}")],
  ],
  [
    "without index and id: they go on with the last call",
    [raw(undefined, undefined, "add", '{"x":'), raw(undefined, undefined, undefined, "1}")],
    [begin(0, made, "add", '{"x":'), more(0, "1}")],
  ],
  [
    "whole calls without index and id",
    [raw(undefined, undefined, "add", "{}"), raw(undefined, undefined, "add", '{"x":1}')],
    [begin(0, made, "add", "{}"), begin(1, made, "add", '{"x":1}')],
  ],
  [
    "some with and some without id",
    [
      raw(undefined, undefined, "add", "{"),
      raw(undefined, "b", "sub", "["),
      raw(undefined, undefined, undefined, "]"),
    ],
    [begin(0, made, "add", "{"), begin(1, "b", "sub", "["), more(1, "]")],
  ],
  [
    "id and name repeated in each piece (llama-cpp-python)",
    [raw(0, "a", "add", "{"), raw(0, "a", "add", '"x":'), raw(0, "a", "add", "1}")],
    [begin(0, "a", "add", "{"), more(0, '"x":'), more(0, "1}")],
  ],
  [
    "a fresh id in each piece (older vLLM)",
    [raw(0, "a", "add", "{"), raw(0, "b", "add", '"x":'), raw(0, "c", undefined, "1}")],
    [begin(0, "a", "add", "{"), more(0, '"x":'), more(0, "1}")],
  ],
  [
    "a fresh id in each piece and no index",
    [raw(undefined, "a", "add", "{"), raw(undefined, "b", undefined, "}")],
    [begin(0, "a", "add", "{"), more(0, "}")],
  ],
  [
    "whole calls that are all number 0 (Gemini)",
    [raw(0, "a", "add", '{"x":1}'), raw(0, "b", "add", '{"x":2}'), raw(0, "c", "sub", "{}")],
    [begin(0, "a", "add", '{"x":1}'), begin(1, "b", "add", '{"x":2}'), begin(2, "c", "sub", "{}")],
  ],
  [
    "numbers that do not begin at 0",
    [raw(3, "a", "add", "{}"), raw(1, "b", "sub", "{}"), raw(3, undefined, undefined, " ")],
    [begin(0, "a", "add", "{}"), begin(1, "b", "sub", "{}"), more(0, " ")],
  ],
  [
    "the same id for two calls",
    [raw(0, "a", "add", "{"), raw(1, "a", "add", "{"), raw(1, "a", "add", "}")],
    [begin(0, "a", "add", "{"), begin(1, made, "add", "{"), more(1, "}")],
  ],
  [
    "arguments as an object (Ollama)",
    [raw(0, "a", "add", { x: 1 }), raw(1, "", "now", {})],
    [begin(0, "a", "add", '{"x":1}'), begin(1, made, "now", "{}")],
  ],
  [
    "an object nested to the limit",
    [raw(0, "a", "add", JSON.parse(nest(1_000)))],
    [begin(0, "a", "add", nest(1_000))],
  ],
  [
    "an object nested one level deeper than the limit",
    [raw(0, "a", "add", JSON.parse(nest(1_001)))],
    [begin(0, "a", "add", '"nested too deep"')],
  ],
  [
    "whole calls of one name, with blanks after the first",
    [raw(0, "a", "add", "{}"), raw(0, undefined, undefined, " \n"), raw(0, "b", "add", "{}")],
    [begin(0, "a", "add", "{}"), more(0, " \n"), begin(1, "b", "add", "{}")],
  ],
  [
    "pieces that each end like an object, with a fresh id in each",
    [raw(0, "a", "add", '{"x":{}'), raw(0, "b", "add", ',"y":{}'), raw(0, "c", "add", "}")],
    [begin(0, "a", "add", '{"x":{}'), more(0, ',"y":{}'), more(0, "}")],
  ],
  [
    "arguments that are null or missing",
    [raw(0, "a", "now", null), raw(0, undefined, undefined, null), { index: 0 }],
    [begin(0, "a", "now", "")],
  ],
  [
    "a name that comes after the id and some arguments",
    [raw(0, "a", "", "{"), raw(0, undefined, "add", "}"), raw(0, undefined, undefined, " ")],
    [begin(0, "a", "add", "{}"), more(0, " ")],
  ],
  [
    "a name in every piece, without index and id: a call begins where the last one is whole",
    [
      raw(undefined, undefined, "add", '{"x"'),
      raw(undefined, undefined, "add", ":1}"),
      raw(undefined, undefined, "add", "{}"),
      raw(undefined, undefined, "sub", "{}"),
    ],
    [
      begin(0, made, "add", '{"x"'),
      more(0, ":1}"),
      begin(1, made, "add", "{}"),
      begin(2, made, "sub", "{}"),
    ],
  ],
  [
    "a call of another index whose name comes late",
    [raw(0, "a", "add", "{}"), raw(1, "b", undefined, "{"), raw(1, undefined, "sub", "}")],
    [begin(0, "a", "add", "{}"), begin(1, "b", "sub", "{}")],
  ],
  ["a call that never gets a name is dropped", [raw(0, "a", "", "{}")], []],
];

describe("calls are normalised to one form:", () => {
  for (const [title, sent, chunks] of CASES) {
    test(title, () => expect(normalize(sent)).toEqual(chunks));
  }
});

test("arguments nested 100,000 deep are never passed to JSON.stringify", () => {
  const sent = raw(0, "a", "add", JSON.parse(nest(100_000)));
  const stringify = spyOn(JSON, "stringify");
  try {
    expect(normalize([sent])[0]?.arguments).toBe('"nested too deep"');
    expect(stringify).not.toHaveBeenCalled();
  } finally {
    stringify.mockRestore();
  }
});

test("each call of a delta is sent once the text or call before it is taken", async () => {
  const sent: string[] = [];
  const takes: (() => void)[] = [];
  const onChunk = ({ kind }: { kind: string }) => {
    sent.push(kind);
    return new Promise<void>((resolve) => takes.push(resolve));
  };
  const assembler = new StreamAssembler(createAsk("Hello"), onChunk, createSeededIds());
  const calls = [raw(0, "a", "add", "{}"), raw(1, "b", "add", "{}")];
  const taken = assembler.take({ content: "Hi", tool_calls: calls });
  for (const kinds of [["text"], ["text", "call"], ["text", "call", "call"]]) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toEqual(kinds);
    takes.at(-1)!();
  }
  await taken;
});
