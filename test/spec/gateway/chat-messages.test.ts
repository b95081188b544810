// Messages of a chat request: accepted ones, refused ones, and what the model server receives.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { answerText } from "../../support/upstream.ts";
import { expectRefusal, type Front, startFront } from "./front.ts";

const CALL = { id: "c", type: "function", function: { name: "add", arguments: "{}" } };
const user = { role: "user", content: "Hello" };

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

/** The messages that the model server gets. */
async function forwardMessages(messages: unknown[]): Promise<unknown> {
  const response = await front.send({ messages });
  expect([messages, response.status]).toEqual([messages, 201]);
  return front.last().body.messages;
}

describe("messages", () => {
  test("gateway.resources.message.role gateway.resources.message.content are forwarded unchanged", async () => {
    const conversation = [
      { role: "system", content: "Be brief." },
      user,
      { role: "assistant", content: "" },
      { role: "system", content: "Now." },
      { role: "assistant", content: "Hi", tool_calls: [CALL] },
      { role: "tool", content: "3", tool_call_id: "c" },
      user,
    ];
    expect(await forwardMessages(conversation)).toEqual(conversation);
  });

  test("gateway.resources.message.tool_calls gateway.resources.tool_call.p1 may omit the content", async () => {
    for (const content of [{ content: null }, { content: "" }, {}]) {
      const sent = { role: "assistant", ...content, tool_calls: [CALL, { ...CALL, id: "d" }] };
      const forwarded = { role: "assistant", content: "", tool_calls: sent.tool_calls };
      expect(await forwardMessages([user, sent])).toEqual([user, forwarded]);
    }
  });

  test("ignores unlisted fields in them", async () => {
    const sent = [
      { ...user, name: "me", tool_calls: null, tool_call_id: null },
      { ...user, tool_calls: [CALL], tool_call_id: "c" },
      {
        role: "assistant",
        content: "Hi",
        refusal: null,
        annotations: [],
        audio: null,
        tool_calls: null,
      },
      { role: "assistant", content: "Hi", tool_calls: [] },
      { role: "assistant", content: null, tool_calls: [{ ...CALL, index: 0 }] },
      { role: "tool", content: "3", tool_call_id: "c", name: "add" },
    ];
    expect(await forwardMessages(sent)).toEqual([
      user,
      user,
      { role: "assistant", content: "Hi" },
      { role: "assistant", content: "Hi" },
      { role: "assistant", content: "", tool_calls: [CALL] },
      { role: "tool", content: "3", tool_call_id: "c" },
    ]);
  });

  test("gateway.resources.message.content text parts are joined, parts with images are kept", async () => {
    const parts = [
      { type: "text", text: "One ", annotations: [] },
      { type: "text", text: "two" },
    ];
    const image = {
      type: "image_url",
      image_url: { url: "data:image/png;base64,AA==", detail: "low" },
    };
    const roles = ["system", "user", "assistant"];
    for (const role of roles) {
      expect(await forwardMessages([{ role, content: parts }])).toEqual([
        { role, content: "One two" },
      ]);
    }
    expect(await forwardMessages([{ role: "tool", content: parts, tool_call_id: "c" }])).toEqual([
      { role: "tool", content: "One two", tool_call_id: "c" },
    ]);
    expect(
      await forwardMessages([{ role: "user", content: [...parts, { ...image, x: 1 }] }]),
    ).toEqual([
      {
        role: "user",
        content: [{ type: "text", text: "One " }, { type: "text", text: "two" }, image],
      },
    ]);
  });

  test("lone surrogates are forwarded as U+FFFD, in any field, and in replies", async () => {
    const surface = "a\ud83d b";
    const json = String.raw`{"a":"\ud83d b"}`;
    const call = { ...CALL, function: { name: "add", arguments: json } };
    const tool = {
      type: "function",
      function: { name: "add", description: surface, parameters: { [surface]: 1 } },
    };
    const body = {
      messages: [
        { role: "system", content: surface },
        { role: "user", content: [{ type: "text", text: surface }] },
        { role: "assistant", content: surface, tool_calls: [call] },
        { role: "tool", tool_call_id: "c", content: surface },
      ],
      ...{ tools: [tool], stop: [surface] },
    };
    const { script } = front.upstream;
    front.upstream.script = () => answerText(surface);
    const reply = await front.send(body);
    front.upstream.script = script;
    expect(await reply.text()).toContain('"a\ufffd b"');
    const sent = JSON.stringify(front.last().body);
    expect(sent.match(/\\ud83d/g)).toBeNull();
    expect(sent.match(/a\ufffd b|\ufffd b/g)).toHaveLength(7);
  });

  const at = (message: unknown, param: string): [unknown, string] => [message, param];
  const REFUSED: [rules: string, cases: [message: unknown, param: string][]][] = [
    [
      "gateway.resources.message.role",
      [
        at({ content: "Hello" }, "messages.1.role"),
        at({ role: "developer", content: "Hello" }, "messages.1.role"),
        at({ role: "function", content: "Hello" }, "messages.1.role"),
        at({ role: "User", content: "Hello" }, "messages.1.role"),
        at({ role: null, content: "Hello" }, "messages.1.role"),
        at({ role: {}, content: "Hello" }, "messages.1.role"),
        at({}, "messages.1.role"),
        at("Hello", "messages.1"),
        at(null, "messages.1"),
        at([], "messages.1"),
      ],
    ],
    [
      "gateway.resources.message.content",
      [
        at({ role: "user" }, "messages.1.content"),
        at({ role: "user", content: null }, "messages.1.content"),
        at({ role: "user", content: 5 }, "messages.1.content"),
        at({ role: "system", content: {} }, "messages.1.content"),
        at({ role: "assistant" }, "messages.1.content"),
        at({ role: "assistant", content: null, tool_calls: [] }, "messages.1.content"),
        at({ role: "assistant", tool_calls: null }, "messages.1.content"),
        at({ role: "tool", tool_call_id: "c" }, "messages.1.content"),
        at({ role: "user", content: ["Hello"] }, "messages.1.content.0"),
        at({ role: "user", content: [{ type: "text" }] }, "messages.1.content.0.text"),
        at({ role: "user", content: [{ type: "input_audio" }] }, "messages.1.content.0.type"),
        at(
          { role: "user", content: [{ type: "image_url", image_url: "x" }] },
          "messages.1.content.0.image_url",
        ),
        at(
          { role: "user", content: [{ type: "image_url", image_url: {} }] },
          "messages.1.content.0.image_url.url",
        ),
        at(
          { role: "system", content: [{ type: "image_url", image_url: { url: "x" } }] },
          "messages.1.content.0.type",
        ),
      ],
    ],
    [
      "gateway.resources.message.tool_calls gateway.resources.tool_call.p1",
      [
        at({ role: "assistant", tool_calls: {} }, "messages.1.tool_calls"),
        at({ role: "assistant", tool_calls: ["c"] }, "messages.1.tool_calls.0"),
        at({ ...user, tool_calls: 5 }, "messages.1.tool_calls"),
        at({ ...user, role: "system", tool_calls: [5] }, "messages.1.tool_calls.0"),
        at({ ...user, role: "tool", tool_call_id: "c", tool_calls: {} }, "messages.1.tool_calls"),
        at({ role: "assistant", tool_calls: [{ ...CALL, id: 5 }] }, "messages.1.tool_calls.0.id"),
        at(
          { role: "assistant", tool_calls: [CALL, { ...CALL, type: "x" }] },
          "messages.1.tool_calls.1.type",
        ),
        at(
          { role: "assistant", tool_calls: [{ ...CALL, function: {} }] },
          "messages.1.tool_calls.0.function.name",
        ),
        at(
          {
            role: "assistant",
            tool_calls: [{ ...CALL, function: { name: "add", arguments: {} } }],
          },
          "messages.1.tool_calls.0.function.arguments",
        ),
      ],
    ],
    [
      "gateway.resources.message.tool_call_id",
      [
        at({ role: "tool", content: "3" }, "messages.1.tool_call_id"),
        at({ role: "tool", content: "3", tool_call_id: null }, "messages.1.tool_call_id"),
        at({ ...user, tool_call_id: 7 }, "messages.1.tool_call_id"),
        at({ ...user, role: "system", tool_call_id: [] }, "messages.1.tool_call_id"),
        at({ ...user, role: "assistant", tool_call_id: {} }, "messages.1.tool_call_id"),
        at({ role: "assistant", tool_calls: [CALL], tool_call_id: 7 }, "messages.1.tool_call_id"),
      ],
    ],
  ];
  for (const [title, cases] of REFUSED) {
    test(`${title} is refused at its path`, async () => {
      for (const [message, param] of cases) {
        const response = await front.send({ messages: [user, message] });
        await expectRefusal(response, 400, "invalid_request", param);
      }
    });
  }
});
