// Tests the count of a message's tokens: who counts, and that it is checked like a message.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AskOptions, startApp, type TestApp } from "../../support/app.ts";
import { startUpstream, writeSettings } from "../../support/upstream.ts";
import { OPEN, readError } from "./fixture.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: OPEN });
});
afterAll(() => app.stop());

const ask = (fields: object) => app.post("/v1/messages", { max_tokens: 50, ...fields });
const count = (fields: object, options: AskOptions = {}) =>
  app.post("/v1/messages/count_tokens", fields, options);
const TOOL = { name: "now", description: "The time.", input_schema: { type: "object" } };

describe("POST /v1/messages/count_tokens", () => {
  test("counts what a message then uses: system, messages and tools", async () => {
    const asked = {
      system: "Be brief.",
      messages: [{ role: "user", content: "Hello there" }],
      tools: [TOOL],
    };
    const counted = (await (await count(asked)).json()) as { input_tokens: number };
    const { usage } = (await (await ask(asked)).json()) as {
      usage: { input_tokens: number };
    };
    expect(counted).toEqual({ input_tokens: usage.input_tokens });
  });

  test("asks the model's own server to count, and no model", async () => {
    const upstream = startUpstream(() => Response.json({ count: 42 }));
    const counting = await startApp({ settings: OPEN + writeSettings(upstream.url) });
    const reply = await counting.post("/v1/messages/count_tokens", {
      messages: [{ role: "user", content: "Hello" }],
    });
    expect(await reply.json()).toEqual({ input_tokens: 42 });
    expect(upstream.asked.map(({ path }) => path)).toEqual(["/tokenize"]);
    await counting.stop();
    await upstream.stop();
  });

  test("falls back on the built-in tokenizer", async () => {
    const upstream = startUpstream(() => new Response(null, { status: 404 }));
    const counting = await startApp({ settings: OPEN + writeSettings(upstream.url) });
    const content = "word ".repeat(100);
    const reply = await counting.post("/v1/messages/count_tokens", {
      messages: [{ role: "user", content }],
    });
    const { input_tokens } = (await reply.json()) as { input_tokens: number };
    expect(input_tokens).toBeGreaterThanOrEqual(100);
    expect(input_tokens).toBeLessThan(120);
    await counting.stop();
    await upstream.stop();
  });

  test("checks the fields, the key and the model as a message does", async () => {
    expect(await readError(await count({ messages: [] }))).toMatchObject([
      400,
      { param: "messages" },
    ]);
    const messages = [{ role: "user", content: "Hello" }];
    expect(await readError(await count({ messages }, { key: "svc_sk_x" }))).toMatchObject([
      401,
      { code: "invalid_api_key" },
    ]);
  });
});
