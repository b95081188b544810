// Tests every `!` line of the stub model, as JSON and as a stream.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Chunk, readChunks, readFrames } from "../../spec/gateway/front.ts";
import { readRefusal } from "../../spec/gateway/refusal.ts";
import { startApp, type TestApp } from "../../support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: "[limits]\nrequests_per_minute = 1_000_000" });
});
afterAll(() => app.stop());

interface Reply {
  choices: { message: { content: string | null }; finish_reason: string }[];
  usage: object;
}

const stream = (content: string, fields: object = {}) =>
  app.chat(content, { stream: true, stream_options: { include_usage: true }, ...fields });
const readReply = async (content: string) => (await (await app.chat(content)).json()) as Reply;
const readText = (chunks: Chunk[]) =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? "")).join("");

describe.each<[line: string, content: string, finish_reason: string]>([
  ["!say Good morning", "Good morning", "stop"],
  ["!say One\n!say Two", "One\nTwo", "stop"],
  ["!tokens 4", "the sun sets over", "stop"],
  ["!say So\n!finish length", "So", "length"],
  ["!say So\n!finish content_filter", "So", "content_filter"],
  ["!say So\n!nousage", "So", "stop"],
])("%j", (line, content, finish_reason) => {
  test("has a finish reason and a usage, which are equal in both forms", async () => {
    const { choices, usage } = await readReply(line);
    expect(choices).toMatchObject([{ message: { content }, finish_reason }]);
    const chunks = await readChunks(await stream(line));
    expect(readText(chunks)).toBe(content);
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe(finish_reason);
    expect(chunks.at(-1)!.usage).toEqual(usage);
  });
});

test("!tokens N is N completion tokens and N chunks", async () => {
  expect(await readReply("!tokens 40")).toMatchObject({ usage: { completion_tokens: 40 } });
  expect(await readChunks(await stream("!tokens 40"))).toHaveLength(42);
});

test("several !tool are several calls, in both forms", async () => {
  const lines = '!tool add {"a":1}\n!tool add {"a":2}\n!tool now';
  const sent = ['{"a":1}', '{"a":2}', "{}"];
  const { choices } = await readReply(lines);
  const { message, finish_reason } = choices[0]! as never as {
    message: { tool_calls: { function: object }[] };
    finish_reason: string;
  };
  expect(finish_reason).toBe("tool_calls");
  expect(message.tool_calls.map((call) => call.function)).toEqual([
    { name: "add", arguments: sent[0] },
    { name: "add", arguments: sent[1] },
    { name: "now", arguments: sent[2] },
  ]);
  const chunks = await readChunks(await stream(lines));
  const pieces = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  const joined = sent.map((_, index) =>
    pieces.filter((piece) => piece.index === index).map((piece) => piece.function.arguments),
  );
  expect(joined.map((texts) => texts.join(""))).toEqual(sent);
  expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe("tool_calls");
});

test("!delay waits at its position, in both forms", async () => {
  for (const fields of [{}, { stream: true }]) {
    let isAnswered = false;
    const answered = app.chat("!delay 2s\n!say So", fields).then((reply) => {
      isAnswered = true;
      return reply.text();
    });
    await app.clock.advance(1_999);
    expect(isAnswered).toBe(false);
    await app.clock.advance(1);
    expect(await answered).toContain("So");
  }
});

test("!stall ends when the caller leaves, in both forms, and is logged as 499", async () => {
  for (const fields of [{}, { stream: true }]) {
    const leaving = new AbortController();
    const request_id = `stalled-${Object.keys(fields)}`;
    const headers = { "x-request-id": request_id };
    const answered = app.chat("!stall", fields, { signal: leaving.signal, headers });
    await app.clock.advance(10_000);
    leaving.abort();
    await answered.catch(() => undefined);
    expect(await app.logged("client_closed_request")).toMatchObject({ request_id, status: 499 });
    app.lines.length = 0;
  }
});

test("!stall after a text keeps the stream open until the caller leaves", async () => {
  const reader = (await app.chat("!say So\n!stall", { stream: true })).body!.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toContain('"content":"So"');
  await app.clock.advance(15_000);
  expect(new TextDecoder().decode((await reader.read()).value)).toBe(": keep-alive\n\n");
  await reader.cancel();
  expect(await app.logged("client_closed_request")).toMatchObject({ status: 499 });
});

describe.each(["!cut", "!garbage"])("%s", (line) => {
  test("is a 502, and after a text a frame in the stream", async () => {
    const failed = [502, "upstream_error", null];
    expect(await readRefusal(await app.chat(`!say So\n${line}`))).toEqual(failed);
    if (line === "!garbage") expect(await readRefusal(await stream(line))).toEqual(failed);
    const [said, error, done] = await readFrames(await stream(`!say So\n${line}`));
    expect(said).toMatchObject({ choices: [{ delta: { content: "So" } }] });
    expect(error).toMatchObject({ error: { code: "upstream_error" } });
    expect(done).toBe("data: [DONE]");
  });
});

test("!next leaves the rest to the round after the tool results", async () => {
  interface Said {
    content: string | null;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  }
  const content = '!tool add {"a":1}\n!next\n!tool add {"a":2}\n!next\n!say done';
  const messages: object[] = [{ role: "user", content }];
  const said: unknown[] = [];
  for (let round = 0; round < 4; round++) {
    const reply = await app.post("/v1/chat/completions", { messages });
    const { choices } = (await reply.json()) as { choices: { message: Said }[] };
    const { message } = choices[0]!;
    said.push(message.tool_calls?.map((call) => call.function.arguments) ?? message.content);
    const results = message.tool_calls?.map(({ id }) => {
      return { role: "tool", tool_call_id: id, content: "3" };
    });
    messages.push(message, ...(results ?? []));
    if (!results) messages.push({ role: "user", content: "Thanks" });
  }
  expect(said).toEqual([['{"a":1}'], ['{"a":2}'], "done", "You said: Thanks"]);
});

test("an invalid line is explained, with all valid commands", async () => {
  const { choices } = await readReply("!error no_such_code");
  expect(choices[0]!.message.content).toContain("The codes are: invalid_request,");
});
