// The npm package `openai`: replies, streams, its stream helper, and the list of models.
import { describe, expect, test } from "bun:test";
import { registerDev } from "./dev.ts";
import { connect, say } from "./openai-client.ts";

const dev = registerDev();

describe("the npm package openai", () => {
  test("it gets a reply with its usage", async () => {
    const reply = await connect(dev()).chat.completions.create(say("Hello there"));
    expect(reply).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: "chat.completion",
      model: "svc",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "You said: Hello there" },
          finish_reason: "stop",
        },
      ],
    });
    const { prompt_tokens, completion_tokens, total_tokens } = reply.usage!;
    expect(prompt_tokens).toBeGreaterThan(0);
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(reply._request_id).toBeString();
  });

  test("it streams, with the role first and the usage last", async () => {
    const stream = await connect(dev()).chat.completions.create({
      ...say("Hello there"),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas[0]!.role).toBe("assistant");
    expect(deltas.map(({ content = "" }) => content).join("")).toBe("You said: Hello there");
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe("stop");
    expect(chunks.at(-1)!.choices).toEqual([]);
    expect(chunks.at(-1)!.usage!.completion_tokens).toBe(deltas.length - 1);
  });

  test("it streams without a usage unless it requests one", async () => {
    const completions = connect(dev()).chat.completions;
    const chunks = await Array.fromAsync(await completions.create({ ...say("Hi"), stream: true }));
    expect(chunks.filter(({ choices, usage }) => usage || choices.length !== 1)).toEqual([]);
  });

  test("its stream helper emits the text in order, and the full text at the end", async () => {
    const runner = connect(dev()).chat.completions.stream({
      ...say("Hello there"),
      stream_options: { include_usage: true },
    });
    let received = "";
    runner.on("content", (piece) => {
      received += piece;
    });
    const { choices, usage } = await runner.finalChatCompletion();
    expect(received).toBe("You said: Hello there");
    expect(choices).toMatchObject([{ message: { content: received }, finish_reason: "stop" }]);
    expect(await runner.totalUsage()).toEqual(usage!);
    expect(usage!.completion_tokens).toBeGreaterThan(0);
  });

  test("an empty reply streams too", async () => {
    const runner = connect(dev()).chat.completions.stream(say("!say "));
    const { choices } = await runner.finalChatCompletion();
    expect(choices[0]).toMatchObject({ message: { role: "assistant" }, finish_reason: "stop" });
  });

  test("a reply ends at the token budget and before a stop string", async () => {
    const { completions } = connect(dev()).chat;
    const short = await completions.create({ ...say("!tokens 40"), max_tokens: 5 });
    expect(short.choices[0]!.finish_reason).toBe("length");
    expect(short.usage!.completion_tokens).toBe(5);
    const stopped = completions.stream({ ...say("!say one two three"), stop: [" three"] });
    expect(await stopped.finalContent()).toBe("one two");
  });

  test("fields of other providers are ignored", async () => {
    const reply = await connect(dev()).chat.completions.create({
      ...say("Hello"),
      n: 3,
      store: true,
      metadata: { a: "1" },
      max_completion_tokens: 1,
      parallel_tool_calls: true,
      logprobs: true,
    });
    expect(reply.choices).toMatchObject([{ message: { content: "You said: Hello" } }]);
  });

  test("it reads the reply's metadata from the raw response", async () => {
    const headers = { "x-request-id": "mine" };
    const request = connect(dev()).chat.completions.create(say("Hello"), { headers });
    const { response, request_id } = await request.withResponse();
    expect([response.status, request_id]).toEqual([201, "mine"]);
  });

  test("it lists the models, the default one first", async () => {
    const listed = await Array.fromAsync(connect(dev()).models.list());
    expect(listed).toMatchObject([
      { id: "svc", object: "model", owned_by: "wadi", created: expect.any(Number) },
      { id: "stub-1", object: "model" },
    ]);
  });
});
