// Tests what a request for a response becomes at the model server, and what is refused.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { translateRequest } from "../../../src/gateway/responses/translate.ts";
import { createKey } from "../../spec/gateway/keys.ts";
import { answerText } from "../../support/upstream.ts";
import {
  EVERY,
  openResponses,
  type ResponsesFront,
  readError,
  readResponse,
  WEATHER,
} from "./fixture.ts";

let front: ResponsesFront;
let plain: ResponsesFront;
beforeAll(async () => {
  front = await openResponses({ model: `capabilities = ${EVERY}` });
  plain = await openResponses({ model: "capabilities = []" });
});
afterAll(async () => {
  await front.stop();
  await plain.stop();
});

/** The body that the model server gets for this request. */
async function send(body: object) {
  await readResponse(await front.respond(body));
  return front.last().body;
}
const messagesOf = async (body: object) => (await send(body)).messages;

const user = (content: unknown) => ({ role: "user", content });
const call = (call_id: string) => ({
  type: "function_call",
  ...{ id: `fc_${call_id}`, call_id, name: "get_weather", arguments: "{}", status: "completed" },
});
const result = (call_id: string, output: unknown) => ({
  type: "function_call_output",
  ...{ call_id, output },
});
const sentCall = (id: string) => ({
  ...{ id, type: "function" },
  function: { name: "get_weather", arguments: "{}" },
});
const IMAGE = "data:image/png;base64,AAAA";

describe("the input", () => {
  test("a text is what a person says", async () => {
    expect(await messagesOf({ input: "Hello" })).toEqual([user("Hello")]);
  });

  test("messages may have texts or parts, with or without `type: message`", async () => {
    const parts = [
      { type: "input_text", text: "a" },
      { type: "input_text", text: "b" },
    ];
    const said = { type: "output_text", text: "c", annotations: [], logprobs: [] };
    const input = [
      { role: "user", content: parts },
      { type: "message", role: "assistant", id: "msg_1", status: "completed", content: [said] },
      { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
      { type: "message", role: "user", content: "d" },
    ];
    expect(await messagesOf({ input })).toEqual([
      user("ab"),
      { role: "assistant", content: "c" },
      { role: "assistant", content: "No." },
      user("d"),
    ]);
  });

  test("`developer` is system, and system messages that follow each other are one", async () => {
    const developer = { role: "developer", content: [{ type: "input_text", text: "Be kind." }] };
    const input = [developer, { role: "system", content: "Be right." }, user("Hello")];
    expect(await messagesOf({ instructions: "Be brief.", input })).toEqual([
      { role: "system", content: "Be brief.\n\nBe kind.\n\nBe right." },
      user("Hello"),
    ]);
  });

  test("an image is passed with its address and detail", async () => {
    const image = { type: "input_image", image_url: IMAGE };
    const input = [user([{ type: "input_text", text: "See" }, { ...image, detail: "low" }, image])];
    expect(await messagesOf({ input })).toEqual([
      user([
        { type: "text", text: "See" },
        { type: "image_url", image_url: { url: IMAGE, detail: "low" } },
        { type: "image_url", image_url: { url: IMAGE } },
      ]),
    ]);
  });

  test("a text and the calls behind it are one message, and each result its own", async () => {
    const text = { role: "assistant", content: "One moment." };
    const output = [{ type: "input_text", text: "38" }];
    const input = [user("?"), text, call("a"), call("b"), result("a", "39"), result("b", output)];
    expect(await messagesOf({ input, tools: [WEATHER] })).toEqual([
      user("?"),
      { ...text, tool_calls: [sentCall("a"), sentCall("b")] },
      { role: "tool", content: "39", tool_call_id: "a" },
      { role: "tool", content: "38", tool_call_id: "b" },
    ]);
  });

  test("reasoning items are ignored", async () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" };
    const input = [user("?"), reasoning, call("a"), reasoning, result("a", "38")];
    expect(await messagesOf({ input })).toEqual([
      user("?"),
      { role: "assistant", content: "", tool_calls: [sentCall("a")] },
      { role: "tool", content: "38", tool_call_id: "a" },
    ]);
  });
});

describe("the other fields", () => {
  test("have the names of a chat, and null is the same as leaving them out", async () => {
    const fields = { temperature: 0.5, top_p: 0.9, presence_penalty: 1, frequency_penalty: -1 };
    const body = await send({ input: "Hello", max_output_tokens: 50, ...fields });
    expect(body).toMatchObject({ ...fields, max_tokens: 50 });
    const names = ["temperature", "top_p", "max_output_tokens", "tools", "tool_choice", "text"];
    const more = ["reasoning", "metadata", "instructions", "model", "store", "stream", "user"];
    const nulls = Object.fromEntries([...names, ...more].map((name) => [name, null]));
    expect(await send({ input: "Hello", ...nulls })).toEqual(await send({ input: "Hello" }));
  });

  test("functions are passed without `strict`, and chosen by mode or name", async () => {
    const { name, description, parameters } = WEATHER;
    const tools = [WEATHER];
    const body = await send({ input: "?", tools, tool_choice: { type: "function", name } });
    expect(body.tools).toEqual([{ type: "function", function: { name, description, parameters } }]);
    expect(body.tool_choice).toEqual({ type: "function", function: { name } });
    expect((await send({ input: "?", tools, tool_choice: "required" })).tool_choice).toBe(
      "required",
    );
  });

  test("with `allowed_tools` the model is shown these alone", async () => {
    const tools = [WEATHER, { ...WEATHER, name: "now" }];
    const allowed = { type: "allowed_tools", tools: [{ type: "function", name: "now" }] };
    const body = await send({ input: "?", tools, tool_choice: { ...allowed, mode: "required" } });
    expect((body.tools as { function: object }[]).map((one) => one.function)).toMatchObject([
      { name: "now" },
    ]);
    expect(body.tool_choice).toBe("required");
  });

  test.each([
    ["json_object", { type: "json_object" }, { type: "json_object" }],
    [
      "json_schema",
      { type: "json_schema", name: "city", schema: { type: "object" }, strict: true },
      {
        type: "json_schema",
        json_schema: { name: "city", schema: { type: "object" }, strict: true },
      },
    ],
  ])("the format %s is passed to a model that can hold it", async (_, format, sent) => {
    expect((await send({ input: "?", text: { format } })).response_format).toEqual(sent);
  });

  test.each(["json_object", "json_schema"])("and %s is refused where it cannot", async (type) => {
    const own = type === "json_schema" ? { name: "city", schema: {} } : {};
    const reply = await plain.respond({ input: "?", text: { format: { type, ...own } } });
    expect(await readError(reply)).toEqual([400, "invalid_request", "text.format"]);
    expect(plain.upstream.asked).toHaveLength(0);
  });

  test("the format text needs no capability", async () => {
    await readResponse(await plain.respond({ input: "?", text: { format: { type: "text" } } }));
    plain.upstream.asked.length = 0;
  });
});

describe("`reasoning.effort`", () => {
  const ask = (effort: string | null, key?: string) =>
    front.respond({ input: "?", reasoning: { effort, summary: "auto" } }, key ? { key } : {});

  test("low and more is `reasoning` of a chat: it needs the scope", async () => {
    const key = await createKey(front, { scopes: [] });
    for (const effort of ["low", "medium", "high", "xhigh", "max"]) {
      expect((await readResponse(await ask(effort))).reasoning).toEqual({ effort, summary: null });
      const refused = await readError(await ask(effort, key));
      expect(refused).toEqual([403, "scope_required", "reasoning.effort"]);
    }
  });

  test("none, minimal and null ask for none", async () => {
    const key = await createKey(front, { scopes: [] });
    for (const effort of ["none", "minimal", null]) await readResponse(await ask(effort, key));
  });
});

describe("a refusal names the field", () => {
  const hello = { input: "Hello" };
  const image = { type: "input_image", image_url: IMAGE };
  const named = { type: "function", name: "now" };
  const CASES: [field: string, body: object][] = [
    ["input", {}],
    ["input", { input: [{ type: "reasoning", summary: [] }] }],
    ["input.0.role", { input: [{ role: "tool", content: "x" }] }],
    ["input.0.role", { input: [{ type: "message", role: "critic", content: "x" }] }],
    ["input.1.type", { input: [user("x"), { type: "web_search_call", id: "ws_1" }] }],
    ["input.1.type", { input: [user("x"), { type: "item_reference", id: "msg_1" }] }],
    ["input.0.content.0.type", { input: [user([{ type: "input_file", file_id: "f" }])] }],
    ["input.0.content.0.image_url", { input: [user([{ type: "input_image", file_id: "f" }])] }],
    ["input.1.output.0.type", { input: [call("a"), result("a", [image])] }],
    ["input.0.call_id", { input: [{ type: "function_call_output", output: "x" }] }],
    ["tools.1.type", { ...hello, tools: [WEATHER, { type: "web_search" }] }],
    ["tools.0.type", { ...hello, tools: [{ type: "custom", name: "code" }] }],
    ["tools.0.name", { ...hello, tools: [{ type: "function" }] }],
    ["tool_choice", { ...hello, tools: [WEATHER], tool_choice: named }],
    ["tool_choice", { ...hello, tool_choice: "required" }],
    ["text.format.name", { ...hello, text: { format: { type: "json_schema", schema: {} } } }],
    ["reasoning.effort", { ...hello, reasoning: { effort: "endless" } }],
    ["metadata", { ...hello, metadata: { a: 1 } }],
    ["background", { ...hello, background: true }],
    ["previous_response_id", { ...hello, previous_response_id: "resp_1" }],
    ["conversation", { ...hello, conversation: { id: "conv_1" } }],
    ["prompt", { ...hello, prompt: { id: "pmpt_1" } }],
  ];
  test.each(CASES)("%s %#", async (field, body) => {
    expect(await readError(await front.respond(body))).toEqual([400, "invalid_request", field]);
  });

  test("also where the chat made of it would be refused", async () => {
    const input = [{ role: "system", content: "a" }, user([image])];
    const noVision = await readError(await plain.respond({ input }));
    expect(noVision).toEqual([400, "invalid_request", "input.1.content.0"]);
    const noTools = await readError(await plain.respond({ ...hello, tools: [WEATHER] }));
    expect(noTools).toEqual([400, "invalid_request", "tools"]);
    const long = await readError(await front.respond({ input: "word ".repeat(50_000) }));
    expect(long).toEqual([400, "context_length_exceeded", "input"]);
  });

  test("a body above 256 KB is refused", async () => {
    const reply = await front.respond({ input: "x".repeat(256 * 1024) });
    expect(await readError(reply)).toEqual([413, "request_too_large", null]);
  });
});

describe("a bound that is reached exactly is kept, and one more is refused", () => {
  const metadata = (count: number, name: number, value: number) => {
    const pairs = Array.from({ length: count }, (_, n) => [`${n}`.padEnd(name, "n"), "v"]);
    return {
      metadata: { ...Object.fromEntries(pairs), ["0".padEnd(name, "n")]: "v".repeat(value) },
    };
  };
  const form = (name: number) => {
    return { text: { format: { type: "json_schema", name: "n".repeat(name), schema: {} } } };
  };
  const chosen = { type: "function", name: WEATHER.name };
  const allowed = (count: number) => {
    const tools = Array(count).fill(chosen);
    return { tools: [WEATHER], tool_choice: { type: "allowed_tools", tools } };
  };
  const number = (name: string, kept: number, refused: number) => {
    return [name, { [name]: kept }, { [name]: refused }] as const;
  };
  test.each([
    ["metadata", metadata(16, 1, 1), metadata(17, 1, 1)],
    ["metadata", metadata(1, 64, 1), metadata(1, 65, 1)],
    ["metadata", metadata(1, 1, 512), metadata(1, 1, 513)],
    ["text.format.name", form(64), form(65)],
    ["tool_choice.tools", allowed(128), allowed(129)],
    ["tool_choice.tools", allowed(1), allowed(0)],
    ["input", { input: [user("Hello")] }, { input: [] }],
    ["user", { user: "u".repeat(256) }, { user: "u".repeat(257) }],
    [
      "safety_identifier",
      { safety_identifier: "u".repeat(256) },
      { safety_identifier: "u".repeat(257) },
    ],
    number("temperature", 0, -0.01),
    number("temperature", 2, 2.01),
    number("top_p", 0, -0.01),
    number("top_p", 1, 1.01),
    number("presence_penalty", -2, -2.01),
    number("presence_penalty", 2, 2.01),
    number("frequency_penalty", -2, -2.01),
    number("frequency_penalty", 2, 2.01),
    number("max_output_tokens", 1, 0),
  ] as const)("%s %#", async (field, kept, over) => {
    await readResponse(await front.respond({ input: "Hello", ...kept }));
    const refusal = await readError(await front.respond({ input: "Hello", ...over }));
    expect(refusal).toEqual([400, "invalid_request", field]);
  });
});

test("`safety_identifier` is the user of the chat, and without it `user` is", () => {
  const userOf = (fields: object) => translateRequest({ input: "Hello", ...fields }).body.user;
  expect(userOf({ safety_identifier: "s", user: "u" })).toBe("s");
  for (const none of [null, undefined]) {
    expect(userOf({ safety_identifier: none, user: "u" })).toBe("u");
  }
  expect(userOf({ user: null })).toBeUndefined();
});

test("fields that are not listed are ignored", async () => {
  front.upstream.script = () => answerText("Hello");
  const body = { input: "Hello", include: ["reasoning.encrypted_content"], service_tier: "flex" };
  expect(await send({ ...body, top_logprobs: 3, max_tool_calls: 2 })).toEqual(
    await send({ input: "Hello" }),
  );
});

test("a model that always thinks does so here, for keys with the scope, and takes no tools", async () => {
  await using deep = await openResponses({ model: `think = "required"\ncapabilities = ${EVERY}` });
  await readResponse(await deep.respond({ input: "Hello" }));
  expect(deep.upstream.asked).toHaveLength(3);
  const refused = await readError(await deep.respond({ input: "Hello", tools: [WEATHER] }));
  expect(refused).toEqual([400, "invalid_request", "tools"]);
  const key = await createKey(deep, { scopes: [] });
  const unscoped = await readError(await deep.respond({ input: "Hello" }, { key }));
  expect(unscoped).toEqual([403, "scope_required", "model"]);
});
