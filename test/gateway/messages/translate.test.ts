// Tests how a request in Anthropic's dialect becomes a chat request.
import { expect, test } from "bun:test";
import type { MessagesRequest } from "../../../src/gateway/messages/request.ts";
import { toChatRequest, toPrompt } from "../../../src/gateway/messages/translate.ts";

type Sent = MessagesRequest["messages"];
const ask = (messages: Sent, fields: Partial<MessagesRequest> = {}) =>
  toChatRequest({ max_tokens: 9, messages, ...fields }, false);
const HELLO: Sent = [{ role: "user", content: "Hello" }];
const PIXEL = { type: "base64", media_type: "image/png", data: "AAAA" } as const;

test("a plain question keeps its fields, and what is not sent is not invented", () => {
  expect(ask(HELLO)).toEqual({
    messages: [{ role: "user", content: "Hello" }],
    tools: [],
    reasoning: false,
    max_tokens: 9,
    stop: null,
    stream: false,
    user: null,
  });
  const fields = {
    ...{ model: "m", temperature: 0.5, top_p: 0.9, stream: true },
    ...{ stop_sequences: ["END"], metadata: { user_id: "u" } },
  };
  expect(ask(HELLO, fields)).toMatchObject({
    ...{ model: "m", temperature: 0.5, top_p: 0.9, stream: true, stop: ["END"], user: "u" },
  });
});

test("`system` goes first, as a text or as blocks; an empty one is none", () => {
  const blocks = [
    { type: "text" as const, text: "Be " },
    { type: "text" as const, text: "brief." },
  ];
  expect(ask(HELLO, { system: "Be brief." }).messages[0]).toEqual({
    role: "system",
    content: "Be brief.",
  });
  expect(ask(HELLO, { system: blocks }).messages[0]).toEqual({ role: "system", content: blocks });
  expect(ask(HELLO, { system: "" }).messages).toHaveLength(1);
  expect(ask(HELLO, { system: [] }).messages).toHaveLength(1);
  expect(ask([...HELLO, { role: "system", content: "Now in Arabic." }]).messages[1]).toEqual({
    role: "system",
    content: "Now in Arabic.",
  });
});

test("images come as data or by their address", () => {
  const content = [
    { type: "image" as const, source: PIXEL },
    { type: "image" as const, source: { type: "url" as const, url: "https://x.test/a.png" } },
    { type: "text" as const, text: "What is this?" },
  ];
  expect(ask([{ role: "user", content }]).messages).toEqual([
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "image_url", image_url: { url: "https://x.test/a.png" } },
        { type: "text", text: "What is this?" },
      ],
    },
  ]);
});

test("calls and their results become tool calls and `tool` messages, thinking is dropped", () => {
  const messages: Sent = [
    {
      role: "assistant",
      content: [
        { type: "thinking" },
        { type: "redacted_thinking" },
        { type: "text", text: "One moment." },
        { type: "tool_use", id: "a", name: "weather", input: { city: "Sur" } },
        { type: "tool_use", id: "b", name: "now", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "Go on." },
        { type: "tool_result", tool_use_id: "a", content: "38" },
        { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "late" }] },
      ],
    },
  ];
  expect(ask(messages).messages).toEqual([
    {
      role: "assistant",
      content: "One moment.",
      tool_calls: [
        { id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Sur"}' } },
        { id: "b", type: "function", function: { name: "now", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "a", content: "38" },
    { role: "tool", tool_call_id: "b", content: "late" },
    { role: "user", content: [{ type: "text", text: "Go on." }] },
  ]);
});

test("a failed result says so, an empty one is empty, and its image follows as the user's", () => {
  const content = [
    { type: "tool_result" as const, tool_use_id: "a", content: "no network", is_error: true },
    { type: "tool_result" as const, tool_use_id: "b" },
    {
      type: "tool_result" as const,
      tool_use_id: "c",
      content: [
        { type: "text" as const, text: "a screen" },
        { type: "image" as const, source: PIXEL },
      ],
    },
  ];
  expect(ask([{ role: "user", content }]).messages).toEqual([
    { role: "tool", tool_call_id: "a", content: "Error: no network" },
    { role: "tool", tool_call_id: "b", content: "" },
    { role: "tool", tool_call_id: "c", content: "a screen" },
    {
      role: "user",
      content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
    },
  ]);
});

test("only calls have no text, only thinking is empty, and a text as input stays one", () => {
  const call = { type: "tool_use" as const, id: "a", name: "now", input: '{"half' };
  expect(ask([{ role: "assistant", content: [call] }]).messages[0]).toEqual({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "a", type: "function", function: { name: "now", arguments: '{"half' } }],
  });
  const thinking = { type: "thinking" as const };
  expect(ask([{ role: "assistant", content: [thinking] }]).messages[0]).toEqual({
    role: "assistant",
    content: "",
  });
});

test("tools and each choice among them", () => {
  const input_schema = { type: "object" };
  const tools = [{ name: "now", description: "The time.", input_schema }];
  const choose = (tool_choice: MessagesRequest["tool_choice"]) =>
    ask(HELLO, { tools, tool_choice }).tool_choice;
  expect(ask(HELLO, { tools }).tools).toEqual([
    {
      type: "function",
      function: { name: "now", description: "The time.", parameters: input_schema },
    },
  ]);
  expect(choose({ type: "auto" })).toBe("auto");
  expect(choose({ type: "any" })).toBe("required");
  expect(choose({ type: "none" })).toBe("none");
  expect(choose({ type: "tool", name: "now" })).toEqual({
    type: "function",
    function: { name: "now" },
  });
  expect(choose(undefined)).toBeUndefined();
});

test("a form of the text becomes the format of a chat", () => {
  const schema = { type: "object" };
  const sent = ask(HELLO, { output_config: { format: { type: "json_schema", schema } } });
  expect(Reflect.get(sent, "response_format")).toEqual({
    type: "json_schema",
    json_schema: { name: "output", schema },
  });
  expect(Reflect.has(ask(HELLO, { output_config: { format: null } }), "response_format")).toBe(
    false,
  );
});

test("a count of tokens has all that the model reads, and nothing else", () => {
  const tools = [{ name: "now", input_schema: { type: "object" } }];
  expect(toPrompt({ system: "Be brief.", messages: HELLO, tools })).toEqual({
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hello" },
    ],
    tools: [
      {
        type: "function",
        function: { name: "now", description: undefined, parameters: { type: "object" } },
      },
    ],
  });
});
