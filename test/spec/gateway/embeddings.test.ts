// Spec 000, "POST /v1/embeddings": accepted and refused bodies, and the vectors returned.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AskOptions, KEY, startApp, type TestApp } from "../../support/app.ts";
import { createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";

const PATH = "/v1/embeddings";
const UNLIMITED =
  "[limits]\nrequests_per_minute = 1_000_000\n[embeddings]\nrequests_per_minute = 1_000_000\n";

interface List {
  object: string;
  data: { object: string; index: number; embedding: number[] | string }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: UNLIMITED });
});
afterAll(() => app.stop());

const send = (body: unknown, options?: AskOptions) => app.post(PATH, body, options);
const embed = async (body: object): Promise<List> => {
  const reply = await send(body);
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/json"]);
  return (await reply.json()) as List;
};
const embedOne = async (input: string) =>
  Float32Array.from((await embed({ input })).data[0]!.embedding as number[]);
/** `200`, or what was refused and at which field. */
const validate = async (body: unknown, options?: AskOptions) => {
  const reply = await send(body, options);
  if (reply.status !== 200) return readRefusal(reply);
  await reply.text();
  return 200;
};
const refused = (param: string) => [400, "invalid_request", param];

test("gateway.does.3 gateway.endpoints.post_embeddings gateway.resources.embedding.p1 a key with the scope gets a list of vectors", async () => {
  const key = await createKey(app, { scopes: ["embeddings"] });
  const reply = await send({ input: ["Hello", "there"], model: "bge-m3" }, { key });
  expect(reply.status).toBe(200);
  const list = (await reply.json()) as List;
  const prompt_tokens = expect.any(Number);
  const embedding = expect.any(Array);
  expect(list).toEqual({
    object: "list",
    data: [
      { object: "embedding", index: 0, embedding },
      { object: "embedding", index: 1, embedding },
    ],
    model: "bge-m3",
    usage: { prompt_tokens, total_tokens: list.usage.prompt_tokens },
  });
  for (const one of list.data) expect(one.embedding).toHaveLength(1024);
});

describe("gateway.authentication.4", () => {
  test("gateway.authentication.4 gateway.errors.scope_required the route needs its scope, and names no field", async () => {
    const others = await createKey(app, { scopes: ["search", "think", "reasoning", "agents"] });
    for (const key of [`${KEY}-none`, others]) {
      expect(await validate({ input: "Hello" }, { key })).toEqual([
        403,
        "scope_required",
        undefined,
      ]);
    }
  });

  test("gateway.authentication.4 the scope is checked before the body", async () => {
    const key = `${KEY}-none`;
    for (const body of ["{", { input: "" }, { input: "x".repeat(300_000) }]) {
      expect(await validate(body, { key })).toEqual([403, "scope_required", undefined]);
    }
  });
});

describe("gateway.endpoints.embeddings.input", () => {
  const many = (count: number, text = "x") => Array<string>(count).fill(text);

  const taken: [what: string, input: unknown][] = [
    ["one text", "Hello"],
    ["a list of one", ["Hello"]],
    ["64 texts", many(64)],
    ["equal texts", ["a", "a"]],
    ["a space", " "],
    ["a line break", ["\n"]],
    ["32,000 characters", "x".repeat(32_000)],
    ["32,000 characters of two units each", "🌵".repeat(32_000)],
    ["32,000 characters in all", many(64, "x".repeat(500))],
  ];
  test.each(taken)(
    "gateway.endpoints.embeddings.input gateway.limits.embeddings_input takes %s",
    async (_, input) => {
      expect(await validate({ input })).toBe(200);
    },
  );

  const wrong: [what: string, input: unknown, param: string][] = [
    ["nothing", undefined, "input"],
    ["null", null, "input"],
    ["an empty text", "", "input"],
    ["an empty list", [], "input"],
    ["65 texts", many(65), "input"],
    ["a number", 5, "input"],
    ["an object", {}, "input"],
    ["true", true, "input"],
    ["a token list", [1, 2], "input.0"],
    ["lists of tokens", [[1, 2], [3]], "input.0"],
    ["a list in a list", [["Hello"]], "input.0"],
    ["an empty element", ["a", "b", "c", ""], "input.3"],
    ["null among texts", ["a", null], "input.1"],
    ["a token among texts", ["a", "b", 3], "input.2"],
    ["the first of two faults", ["a", "", 3], "input.1"],
    ["one text of 32,001 characters", "x".repeat(32_001), "input"],
    ["32,001 characters of two units each", "🌵".repeat(32_001), "input"],
    ["32,001 characters in all", [...many(63, "x".repeat(500)), "x".repeat(501)], "input"],
    ["a long element beside others", ["a", "x".repeat(32_000)], "input"],
    ["65 texts, one of them empty", [...many(64), ""], "input"],
  ];
  test.each(wrong)(
    "gateway.endpoints.embeddings.input gateway.limits.embeddings_input gateway.endpoints.embeddings.p3 refuses %s",
    async (_, input, param) => {
      expect(await validate({ input })).toEqual(refused(param));
    },
  );

  test("gateway.endpoints.embeddings.input is the first field to be validated", async () => {
    expect(await validate({ model: "other", input: "x".repeat(32_001) })).toEqual(refused("input"));
    expect(await validate({ model: "other", input: ["a", ""] })).toEqual(refused("input.1"));
  });

  test("gateway.limits.embeddings_input an input longer than 4096 tokens is truncated, not refused", async () => {
    const text = "abcd ".repeat(4_096).trim();
    const whole = await embed({ input: text });
    expect(whole.usage.prompt_tokens).toBe(4_096);
    // Text after the limit changes neither the vector nor the count.
    expect(await embed({ input: `${text} wadi` })).toEqual(whole);
    const all = await embed({ input: [`${text} wadi`, "Hello"] });
    expect(all.data[0]!.embedding).toEqual(whole.data[0]!.embedding);
    expect(all.usage.prompt_tokens).toBe(4_098);
  });
});

describe("the other fields", () => {
  const fields: [id: string, name: string, takes: unknown[], refuses: unknown[]][] = [
    [
      "gateway.endpoints.embeddings.model",
      "model",
      ["bge-m3"],
      ["", "svc", "BGE-M3", "text-embedding-3-small", null, 5, ["bge-m3"]],
    ],
    [
      "gateway.endpoints.embeddings.encoding_format",
      "encoding_format",
      ["float", "base64"],
      ["", "Float", "int8", null, 32, {}],
    ],
    [
      "gateway.endpoints.embeddings.dimensions",
      "dimensions",
      [1024],
      [0, 1, 512, 1023, 1025, -1024, 1024.5, "1024", null, true],
    ],
    [
      "gateway.endpoints.embeddings.user",
      "user",
      ["", "u", "u".repeat(256), "🌵".repeat(256)],
      ["u".repeat(257), "🌵".repeat(257), null, 5, {}],
    ],
  ];
  test.each(fields)(
    "gateway.endpoints.embeddings.p3 %s accepts only its listed values",
    async (_, name, takes, refuses) => {
      for (const value of [...takes, undefined]) {
        expect([value, await validate({ input: "Hello", [name]: value })]).toEqual([value, 200]);
      }
      for (const value of refuses) {
        const outcome = await validate({ input: "Hello", [name]: value });
        expect([value, outcome]).toEqual([value, refused(name)]);
      }
    },
  );

  test("gateway.endpoints.embeddings.p3 unlisted fields are ignored, whatever their values", async () => {
    const plain = await embed({ input: "Hello" });
    const more = { input_type: "query", truncate: false, stream: true, messages: null, n: 3 };
    expect(await embed({ input: "Hello", ...more })).toEqual(plain);
  });

  test("gateway.endpoints.embeddings.user gateway.limits.user is ignored, and appears in no log line", async () => {
    const plain = await embed({ input: "Hello" });
    expect(await embed({ input: "Hello", user: "somebody" })).toEqual(plain);
    expect(JSON.stringify(app.lines)).not.toContain("somebody");
  });

  test("gateway.endpoints.embeddings.encoding_format base64 encodes the same 32-bit floats as the numbers", async () => {
    const input = ["Hello", "The wadi fills with water"];
    const base64 = await embed({ input, encoding_format: "base64" });
    const float = await embed({ input, encoding_format: "float" });
    expect(await embed({ input })).toEqual(float);
    for (const [n, { embedding }] of base64.data.entries()) {
      const bytes = Buffer.from(embedding as string, "base64");
      expect(bytes).toHaveLength(4 * 1024);
      const floats = Float32Array.from({ length: 1024 }, (_, at) => bytes.readFloatLE(4 * at));
      expect(Float32Array.from(float.data[n]!.embedding as number[])).toEqual(floats);
    }
    expect(base64.usage).toEqual(float.usage);
  });
});

describe("the vectors", () => {
  test("gateway.endpoints.embeddings.p1 have unit length", async () => {
    for (const input of ["Hello", ".", "word ".repeat(6_000)]) {
      const vector = await embedOne(input);
      expect(vector).toHaveLength(1024);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    }
  });

  test("gateway.endpoints.embeddings.p2 follow the order of the inputs, and the tokens of all are counted", async () => {
    const input = ["first", "second", "first", "a third one"];
    const list = await embed({ input });
    expect(list.data.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    let tokens = 0;
    for (const [n, text] of input.entries()) {
      const alone = await embed({ input: text });
      expect(list.data[n]!.embedding).toEqual(alone.data[0]!.embedding);
      tokens += alone.usage.prompt_tokens;
    }
    expect(list.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
  });
});

describe("gateway.limits.body_size", () => {
  const body = (bytes: number) => {
    const around = JSON.stringify({ input: "Hello", rest: "" }).length;
    return { input: "Hello", rest: "x".repeat(bytes - around) };
  };
  test("gateway.limits.body_size gateway.errors.request_too_large 256 KB are read, and one byte more is refused", async () => {
    expect(await validate(body(256 * 1024))).toBe(200);
    expect(await validate(body(256 * 1024 + 1))).toEqual([413, "request_too_large", null]);
  });
});
