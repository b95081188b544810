// Tests the first invalid field of a value and its error message.
import { describe, expect, spyOn, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { ChatRequest } from "../../src/gateway/chat/request.ts";
import { compileCheck, findFieldError } from "../../src/http/validation.ts";
import type { ApiError } from "../../src/platform/errors.ts";
import { unquoted, withRules } from "../../src/platform/schema.ts";
import { createDraw } from "./draw.ts";

/** The error message of a value, or `null` if it is valid. */
const say = (schema: TSchema, value: unknown) =>
  findFieldError(schema, value, "f")?.message ?? null;

test("a secret field is not quoted, whatever its type, also if it is optional", () => {
  const secret = unquoted(Type.String({ maxLength: 8, pattern: "^[a-z]+$" }));
  expect(say(secret, 12_345)).toBe("`f` must be a string.");
  expect(say(secret, "CANARY")).toBe("`f` must keep to the allowed characters and form.");
  const body = Type.Object({ secret: Type.Optional(secret) });
  expect(say(body, { secret: true })).toBe("`f.secret` must be a string.");
  expect(say(body, { secret: "canarycanary" })).toBe("`f.secret` must have at most 8 characters.");
  const orNull = Type.Union([secret, Type.Null()]);
  expect(say(orNull, 12_345)).toBe("`f` must be a string.");
  expect(say(orNull, "CANARY")).toBe("`f` must keep to the allowed characters and form.");
  expect(say(orNull, null)).toBeNull();
});

describe("each kind of error has one sentence", () => {
  const tagged = Type.Union([
    Type.Object({ kind: Type.Literal("a"), size: Type.Integer() }),
    Type.Object({ kind: Type.Literal("b"), name: Type.String() }),
  ]);
  const rows: [schema: TSchema, value: unknown, says: string][] = [
    [Type.String(), 5, "`f` must be a string, but is 5."],
    [Type.String(), null, "`f` must be a string, but is null."],
    [Type.String({ minLength: 1 }), "", "`f` must have at least 1 character."],
    [Type.String({ maxLength: 2 }), "abc", "`f` must have at most 2 characters."],
    [Type.String({ minLength: 1, maxLength: 2 }), "", "`f` must have 1 to 2 characters."],
    [
      Type.String({ pattern: "^[a-z]+$" }),
      "A",
      '`f` must keep to the allowed characters and form, but is "A".',
    ],
    [Type.Number(), "1", '`f` must be a number, but is "1".'],
    [Type.Number({ minimum: 0, maximum: 2 }), 2.1, "`f` must be a number from 0 to 2, but is 2.1."],
    [Type.Number({ maximum: 2 }), 3, "`f` must be a number of at most 2, but is 3."],
    [
      Type.Number({ minimum: 0, maximum: 2 }),
      Number.POSITIVE_INFINITY,
      "`f` must be a number from 0 to 2, but is Infinity.",
    ],
    [Type.Integer({ minimum: 1 }), 1.5, "`f` must be a whole number of at least 1, but is 1.5."],
    [Type.Boolean(), "true", '`f` must be true or false, but is "true".'],
    [Type.Null(), 0, "`f` must be null, but is 0."],
    [Type.Literal("a"), "b", '`f` must be "a", but is "b".'],
    [Type.Object({}), [], "`f` must be an object, but is a list."],
    [Type.Object({}), null, "`f` must be an object, but is null."],
    [Type.Object({ g: Type.String() }), {}, "`f.g` is required."],
    [Type.Object({ g: Type.String() }), { g: {} }, "`f.g` must be a string, but is an object."],
    [
      Type.Object({}, { additionalProperties: false }),
      { g: 1 },
      "`f.g` is not a field of this request.",
    ],
    [Type.Array(Type.String()), {}, "`f` must be a list, but is an object."],
    [Type.Array(Type.String(), { minItems: 1 }), [], "`f` must have at least 1 item."],
    [Type.Array(Type.String(), { maxItems: 1 }), ["", ""], "`f` must have at most 1 item."],
    [Type.Array(Type.String()), ["", 1], "`f.1` must be a string, but is 1."],
    [Type.Union([Type.String(), Type.Null()]), 1, "`f` must be a string, but is 1."],
    [
      Type.Union([Type.Literal("a"), Type.Literal("b")]),
      "c",
      '`f` must be one of "a", "b", but is "c".',
    ],
    [
      Type.Union([Type.Literal("a"), Type.Literal("b"), Type.Object({})]),
      "c",
      '`f` must be one of "a", "b" or an object, but is "c".',
    ],
    [
      Type.Union([Type.String(), Type.Array(Type.String())]),
      1,
      "`f` must be a string or a list, but is 1.",
    ],
    [
      Type.Union([Type.String(), Type.Array(Type.String())]),
      [1],
      "`f.0` must be a string, but is 1.",
    ],
    [
      Type.Union([Type.Union([Type.String(), Type.Array(Type.String())]), Type.Null()]),
      [1],
      "`f.0` must be a string, but is 1.",
    ],
    [tagged, 5, "`f` must be an object, but is 5."],
    [tagged, [], "`f` must be an object, but is a list."],
    [tagged, {}, "`f.kind` is required."],
    [tagged, { kind: "c" }, '`f.kind` must be one of "a", "b", but is "c".'],
    [tagged, { kind: {} }, '`f.kind` must be one of "a", "b", but is an object.'],
    [tagged, { kind: "b", size: 1 }, "`f.name` is required."],
    [tagged, { kind: "a", size: "1" }, '`f.size` must be a whole number, but is "1".'],
  ];
  for (const [schema, value, says] of rows) test(says, () => expect(say(schema, value)).toBe(says));
});

test("gateway.errors.invalid_request the first invalid field in declared order is named", () => {
  const schema = Type.Object(
    { a: Type.String(), b: Type.Object({ c: Type.String(), d: Type.String() }), e: Type.String() },
    { additionalProperties: false },
  );
  const paramOf = (value: unknown) => findFieldError(schema, value, "")?.param;
  expect(paramOf({ z: 1, e: 1, b: {}, a: 1 })).toBe("a");
  expect(paramOf({ z: 1, e: 1, b: {} })).toBe("a");
  expect(paramOf({ z: 1, e: 1, b: { d: 1 }, a: "" })).toBe("b.c");
  expect(paramOf({ z: 1, e: 1, b: { d: 1, c: "" }, a: "" })).toBe("b.d");
  expect(paramOf({ z: 1, e: 1, b: { d: "", c: "" }, a: "" })).toBe("e");
  expect(paramOf({ z: 1, e: "", b: { d: "", c: "" }, a: "" })).toBe("z");
  expect(paramOf({ e: "", b: { d: "", c: "" }, a: "" })).toBeUndefined();
});

test("null in an optional field gets advice", () => {
  const schema = Type.Object({
    a: Type.Number(),
    b: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  });
  const sayOf = (value: unknown) => findFieldError(schema, value, "")?.message;
  expect(sayOf({ a: 1, b: null })).toBe(
    "`b` must be a number from 0 to 2, but is null: leave it out instead.",
  );
  expect(sayOf({ a: null })).toBe("`a` must be a number, but is null.");
  expect(sayOf({ a: 1, b: 3 })).toBe("`b` must be a number from 0 to 2, but is 3.");
});

test("the body itself has no path", () => {
  const check = compileCheck(Type.Object({}));
  for (const [body, says] of [
    [null, "The body must be an object, but is null."],
    [[], "The body must be an object, but is a list."],
    ["x", 'The body must be an object, but is "x".'],
  ] as const) {
    try {
      check(body);
      expect.unreachable();
    } catch (failure) {
      expect((failure as ApiError).details).toMatchObject({ message: says });
      expect(failure).not.toHaveProperty("details.param");
    }
  }
});

test("inherited property names are not taken for sent fields", () => {
  const schema = Type.Object(
    { constructor: Type.String(), __proto__: Type.String() },
    { additionalProperties: false },
  );
  expect(findFieldError(schema, {}, "")?.param).toBe("constructor");
  const strict = Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: false });
  expect(findFieldError(strict, JSON.parse('{"__proto__":1}'), "")?.param).toBe("__proto__");
  expect(findFieldError(strict, JSON.parse('{"toString":1}'), "")?.param).toBe("toString");
});

test("lengths are counted in code points", () => {
  const check = compileCheck(Type.Object({ user: Type.String({ maxLength: 4 }) }));
  for (const user of ["😀😀😀😀", "😀😀ab", "abcd", "\ud800\ud800\ud800\ud800"]) {
    expect(check({ user })).toEqual({ user });
  }
  for (const user of ["😀😀😀😀😀", "abcde", "😀😀😀ab", "x".repeat(100_000)]) {
    expect(() => check({ user })).toThrow("`user` must have at most 4 characters.");
  }
});

describe("a message is short whatever the input", () => {
  const schema = Type.Object(
    { role: Type.Union([Type.Literal("a"), Type.Literal("b")]) },
    { additionalProperties: false },
  );
  const hostile = [
    "x".repeat(200_000),
    "\u0000".repeat(5_000),
    "😀".repeat(5_000),
    `"${"\\".repeat(999)}`,
  ];
  for (const text of hostile) {
    test(`${JSON.stringify(text.slice(0, 2))}, many times`, () => {
      for (const value of [{ role: text }, { role: "a", [text]: 1 }, text]) {
        const { param, message } = findFieldError(schema, value, "")!;
        expect(param.length).toBeLessThanOrEqual(70);
        expect(message.length).toBeLessThanOrEqual(300);
        expect([param, message].every((one) => one.isWellFormed())).toBe(true);
      }
    });
  }

  test("an object in place of a number is not converted to text", () => {
    for (const value of [{ toString: 1, valueOf: 2 }, [{ toString: 1 }]]) {
      const found = Array.isArray(value) ? "a list" : "an object";
      const wanted = `\`f\` must be a whole number of at least 1, but is ${found}.`;
      expect(say(Type.Integer({ minimum: 1 }), value)).toBe(wanted);
    }
  });

  test("64 characters of a value are quoted, without splitting one", () => {
    const message = say(Type.Integer(), `xx${"😀".repeat(40)}`)!;
    expect(message).toBe(`\`f\` must be a whole number, but is "xx${"😀".repeat(30)}….`);
    expect(say(Type.Integer(), "x".repeat(62))).toEndWith(` "${"x".repeat(62)}".`);
    expect(say(Type.Integer(), "x".repeat(63))).toEndWith(` "${"x".repeat(63)}….`);
  });
});

test("only the invalid one of thousands of items is described", () => {
  const check = compileCheck(ChatRequest);
  const messages = Array(9_000).fill({ role: "tool", content: "", tool_call_id: "" });
  const tools = Array(5_000).fill({ type: "function", function: { name: "f" } });
  const parts = [...Array(10_000).fill({ type: "text", text: "" }), {}];
  const bodies: [body: object, param: string | undefined][] = [
    [{ messages, user: "😀".repeat(200) }, undefined],
    [{ messages: [...messages, { role: "x" }] }, "messages.9000.role"],
    [{ messages, tools: [...tools, {}] }, "tools.5000.type"],
    [{ messages: [{ role: "user", content: parts }] }, "messages.0.content.10000.type"],
  ];
  for (const [body, param] of bodies) {
    // Each message about a union includes its literals; compilation does too, some hundred.
    const spelled = spyOn(JSON, "stringify");
    let refusal: ApiError | undefined;
    try {
      check(body);
    } catch (failure) {
      refusal = failure as ApiError;
    }
    const count = spelled.mock.calls.length;
    spelled.mockRestore();
    expect(refusal?.details.param).toBe(param);
    expect(count).toBeLessThan(1_000);
  }
});

test("a rule applies at its field's position, also if the field is missing", () => {
  const schema = withRules(
    Type.Object({
      a: Type.Optional(Type.Integer()),
      b: Type.Optional(Type.Integer()),
      c: Type.Optional(Type.Integer()),
    }),
    { b: ({ a, b }) => (a === b ? null : "must be `a`") },
  );
  const check = compileCheck(schema);
  for (const body of [{}, { a: 1, b: 1 }]) expect(check(body)).toBe(body);
  expect(() => check({ a: 1 })).toThrow("`b` must be `a`.");
  expect(() => check({ a: 1, c: "x" })).toThrow("`b` must be `a`.");
  expect(() => check({ a: 1, b: "x" })).toThrow("`b` must be a whole number");
  expect(() => check({ a: "x", b: 1 })).toThrow("`a` must be a whole number");
  expect(() => compileCheck(Type.Object({ inner: schema }))({})).toThrow("only a whole body");
});

test("a schema with an unsupported keyword cannot be checked", () => {
  expect(() => compileCheck(Type.String({ format: "uuid" }))({})).toThrow('"format"');
  expect(() => compileCheck(Type.Object({ a: Type.Number({ multipleOf: 2 }) }))({})).toThrow();
  expect(() => compileCheck(Type.Array(Type.Record(Type.String(), Type.String())))({})).toThrow();
});

describe("random changes of a chat request", () => {
  const valid = {
    model: "svc",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Hello" }] },
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: "data:,", detail: "low" } }],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "1", content: "ok" },
    ],
    temperature: 1,
    top_p: 0.5,
    max_tokens: 5,
    presence_penalty: 0,
    frequency_penalty: null,
    seed: 7,
    stop: ["END", "x"],
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: "function", function: { name: "f", description: "d", parameters: {} } }],
    tool_choice: { type: "function", function: { name: "f" } },
    user: "u",
    reasoning: false,
    think: null,
  };
  const values: unknown[] = [
    ...[null, true, false, 0, 1, -1, 1.5, 3, -3, 257, 1e300, Number.POSITIVE_INFINITY, ""],
    ...["auto", "none", "required", "function", "text", "image_url", "user", "tool", "x", "f g"],
    ...["x".repeat(256), "x".repeat(257), [], [1], ["a"], ["a", "b", "c", "d", "e"], {}, { a: 1 }],
  ];

  /** Changes one place of a value: replaced, deleted, duplicated, or with an unknown sibling. */
  function change(value: unknown, draw: (below: number) => number): unknown {
    const isLeaf = typeof value !== "object" || value === null;
    if (isLeaf || draw(6) === 0) return structuredClone(values[draw(values.length)]);
    if (Array.isArray(value)) {
      if (value.length === 0) return [values[draw(values.length)]];
      const i = draw(value.length);
      if (draw(8) === 0) return value.toSpliced(i, 1);
      if (draw(8) === 0) return [...value, value[i]];
      return value.with(i, change(value[i], draw));
    }
    const names = Object.keys(value);
    const name = names[draw(names.length)] ?? "new";
    const { [name]: old, ...rest } = value as Record<string, unknown>;
    if (draw(8) === 0) return rest;
    if (draw(16) === 0) return { ...value, unknown: old };
    return { ...value, [name]: change(old, draw) };
  }

  /** Rules between fields, independent of the schema's. */
  function isAtOdds(body: ChatRequest): boolean {
    const names = (body.tools ?? []).map((tool) => tool.function.name);
    const { tool_choice: choice = "auto", stream_options } = body;
    if (typeof choice === "object" && !names.includes(choice.function.name)) return true;
    if (choice === "required" && names.length === 0) return true;
    return (!!stream_options && !body.stream) || (!!body.think && names.length > 0);
  }

  test("the check finds an error exactly where TypeBox itself or a rule does", () => {
    const draw = createDraw(20_261_120);
    let refused = 0;
    for (let round = 0; round < 10_000; round++) {
      let body: unknown = structuredClone(valid);
      for (let times = draw(4); times >= 0; times--) body = change(body, draw);
      const isValid = Value.Check(ChatRequest, body) && !isAtOdds(body);
      const fault = findFieldError(ChatRequest, body, "");
      if ((fault === null) !== isValid) expect({ body, fault, isValid }).toBe(undefined as never);
      if (!fault) continue;
      refused++;
      expect(fault.message.length).toBeLessThanOrEqual(300);
      expect(fault.message).not.toMatch(/undefined|\[object|NaN/);
    }
    // Both results occurred often.
    expect(refused).toBeGreaterThan(2_500);
    expect(refused).toBeLessThan(9_500);
  });
});

test("a text has at least as many code points as its minimum", () => {
  const schema = Type.String({ minLength: 3, maxLength: 8 });
  expect(say(schema, "a😀")).toBe("`f` must have 3 to 8 characters.");
  expect(say(schema, "a😀b")).toBeNull();
});

test("of variants with two tags the error names the one that is wrong", () => {
  const message = (role: string) =>
    Type.Object({
      type: Type.Optional(Type.Literal("message")),
      role: Type.Literal(role),
      text: Type.String(),
    });
  const call = Type.Object({ type: Type.Literal("call"), name: Type.String() });
  const schema = Type.Union([message("user"), message("tool"), call]);
  expect(say(schema, { role: "user", text: 5 })).toStartWith("`f.text` must be a string");
  expect(say(schema, { type: "message", role: "tool" })).toBe("`f.text` is required.");
  const roles = '`f.role` must be one of "user", "tool", but is "x".';
  expect(say(schema, { role: "x" })).toBe(roles);
  expect(say(schema, { type: "message", role: "x" })).toBe(roles);
  expect(say(schema, { type: "message" })).toBe("`f.role` is required.");
  expect(say(schema, { type: "x" })).toBe('`f.type` must be one of "message", "call", but is "x".');
  expect(say(schema, { type: "call" })).toBe("`f.name` is required.");
  expect(say(schema, {})).toBe("`f.type` is required.");
});

test("of variants without tags only one may be sent", () => {
  const strict = { additionalProperties: false };
  const schema = Type.Union([
    Type.Object({ message: Type.String() }, strict),
    Type.Object({ content: Type.String() }, strict),
  ]);
  const both = "`f.content` cannot be sent beside `f.message`: send only one of them.";
  expect(say(schema, { message: "a", content: "b" })).toBe(both);
  expect(say(schema, { content: null, message: "a" })).toBe(both);
  expect(say(schema, { content: "b", message: 1 })).toStartWith("`f.message` must be a string");
  const unknown = "`f.text` is not a field of this request.";
  expect(say(schema, { text: "c", message: "a", content: "b" })).toBe(unknown);
  expect(say(schema, { text: "c", content: "b" })).toBe(unknown);
  expect(say(schema, {})).toBe("`f.message` is required.");
});
