// The npm package `openai`: leaving a reply that does not come, and the server's hearing of it.
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { createNotingFetch, failureOf, registerDev } from "./dev.ts";
import { connect, say } from "./openai-client.ts";

const dev = registerDev();
const name = (request_id: string) => ({ "x-request-id": request_id });
/** Resolves when the server has logged that the caller of this request left. */
const left = async (request_id: string) =>
  expect(JSON.parse(await dev().logged(`"request_id":"${request_id}"`))).toMatchObject({
    code: "client_closed_request",
    status: 499,
  });

describe("the npm package openai", () => {
  test.each([false, true])("leaves before the first token, stream: %p", async (stream) => {
    const leaving = new AbortController();
    const { fetch, reached } = createNotingFetch();
    const client = connect(dev(), "", { fetch });
    const headers = name(`first-${stream}`);
    const reply = client.chat.completions.create(
      { ...say("!stall"), stream },
      { signal: leaving.signal, headers },
    );
    const failure = failureOf(reply);
    await reached;
    // A later request was answered, so this one has reached the server.
    await dev().chat("Hello");
    leaving.abort();
    expect(await failure).toBeInstanceOf(OpenAI.APIUserAbortError);
    await left(`first-${stream}`);
  });

  test("leaves in the middle of a stream", async () => {
    const ask = { ...say("!say Hello\n!stall"), stream: true as const };
    const stream = await connect(dev()).chat.completions.create(ask, { headers: name("middle") });
    let text = "";
    for await (const { choices } of stream) {
      text += choices[0]!.delta.content;
      if (text === "Hello") stream.controller.abort();
    }
    expect(text).toBe("Hello");
    await left("middle");
  });

  test("leaves its stream helper and its tool runner", async () => {
    const { completions } = connect(dev()).chat;
    const runner = completions.stream(say("!say Hello\n!stall"), { headers: name("helper") });
    runner.on("content", () => runner.abort());
    expect(await failureOf(runner.done())).toBeInstanceOf(OpenAI.APIUserAbortError);
    await left("helper");
    // A reader that stops reading leaves too.
    for await (const _ of completions.stream(say("!say Hello\n!stall"), { headers: name("break") }))
      break;
    await left("break");
  });

  test("gives up after its own timeout, and the server notices", async () => {
    const client = connect(dev(), "", { timeout: 200 });
    const reply = client.chat.completions.create(say("!stall"), { headers: name("timeout") });
    expect(await failureOf(reply)).toBeInstanceOf(OpenAI.APIConnectionTimeoutError);
    await left("timeout");
  });
});
