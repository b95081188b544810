// Tests that a message passes every check of a chat: model, capabilities, window, limits, budgets.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createKey } from "../../spec/gateway/keys.ts";
import { storeAccount, storeKey } from "../../support/access.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import {
  type AskedRequest,
  answerFrames,
  DONE,
  startUpstream,
  writeFrame,
} from "../../support/upstream.ts";
import { answerWhole, openBudgetFront, PROMPT } from "../budgets/fixture.ts";
import { OPEN, readError, readEvents } from "./fixture.ts";

const HELLO = { messages: [{ role: "user", content: "Hello" }] };

describe("what the model and the key allow", () => {
  const upstream = startUpstream((asked) => answerWhole(asked, 3));
  let app: TestApp;
  beforeAll(async () => {
    const model = (id: string, more = "") => `
[[models]]
id = "${id}"
self_hosted = true
context_window = 1000
default_max_tokens = 100
${more}
[models.upstream]
kind = "openai"
urls = ["${upstream.url}"]
`;
    const plain = model("plain", "capabilities = []");
    const able = 'capabilities = ["tools", "streaming", "vision", "structured_outputs"]';
    app = await startApp({ settings: OPEN + plain + model("able", able) });
  });
  afterAll(async () => {
    await app.stop();
    await upstream.stop();
  });
  const ask = (fields: object, key = KEY) =>
    app.post("/v1/messages", { model: "plain", max_tokens: 9, ...HELLO, ...fields }, { key });
  const IMAGE = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  const TOOLS = [{ name: "now", input_schema: { type: "object" } }];
  const FORM = { format: { type: "json_schema", schema: { type: "object" } } };
  const last = (): AskedRequest["body"] => upstream.asked.at(-1)!.body;

  test.each(["AAAA", "AAA=", "AA=="])("an image may be the base64 %s", async (data) => {
    const source = { type: "base64", media_type: "image/png", data };
    const messages = [{ role: "user", content: [{ type: "image", source }] }];
    expect((await ask({ model: "able", messages })).status).toBe(200);
  });

  test("a model without the capability refuses images, tools and a form of its text", async () => {
    const messages = [...HELLO.messages, { role: "user", content: [IMAGE] }];
    expect(await readError(await ask({ messages }))).toMatchObject([
      400,
      { message: "The model plain has no capability `vision`.", param: "messages" },
    ]);
    expect(await readError(await ask({ tools: TOOLS }))).toMatchObject([
      400,
      { message: "The model plain has no capability `tools`.", param: "tools" },
    ]);
    expect(await readError(await ask({ output_config: FORM }))).toMatchObject([
      400,
      {
        message: "The model plain has no capability `structured_outputs`.",
        param: "output_config.format",
      },
    ]);
    const count = await app.post("/v1/messages/count_tokens", { model: "plain", messages });
    expect(await readError(count)).toMatchObject([400, { param: "messages" }]);
  });

  test("an able model gets all of it in the format of chats", async () => {
    const messages = [{ role: "user", content: [IMAGE, { type: "text", text: "What?" }] }];
    const sampling = { temperature: 0.5, top_p: 0.9, stop_sequences: ["END"] };
    const more = { tools: TOOLS, tool_choice: { type: "any" }, system: "Be brief." };
    const fields = { ...sampling, ...more, messages, output_config: FORM };
    expect((await ask({ model: "able", ...fields })).status).toBe(200);
    expect(last()).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "https://example.com/a.png" } },
            { type: "text", text: "What?" },
          ],
        },
      ],
      ...{ temperature: 0.5, top_p: 0.9, stop: ["END"], max_tokens: 9 },
      ...{ tools: [{ function: { name: "now" } }], tool_choice: "required" },
      response_format: { type: "json_schema", json_schema: { schema: { type: "object" } } },
    });
  });

  test.each(["A===", "AA=A", ""])("an image may not be %p, which is no base64", async (data) => {
    const source = { type: "base64", media_type: "image/png", data };
    const messages = [{ role: "user", content: [{ type: "image", source }] }];
    const [status, error] = await readError(await ask({ model: "able", messages }));
    expect([status, error]).toMatchObject([400, { param: "messages.0.content.0.source.data" }]);
  });

  test("thinking is ignored where the key may ask for it, and the model cannot", async () => {
    const reply = await ask({ model: "able", thinking: { type: "enabled", budget_tokens: 1_024 } });
    expect([reply.status, reply.headers.get("x-wadi-ignored")]).toEqual([200, "thinking"]);
  });

  test("`metadata.user_id` and `top_k` are not sent to the model", async () => {
    await ask({ metadata: { user_id: "someone" }, top_k: 5 });
    expect(JSON.stringify(last())).not.toMatch(/someone|top_k/);
  });

  test("a request that does not fit in the window is refused, as JSON and as a stream", async () => {
    const messages = [{ role: "user", content: "word ".repeat(1_000) }];
    upstream.script = async (asked) =>
      asked.path.endsWith("/tokenize") ? Response.json({ count: 1_000 }) : answerWhole(asked);
    for (const stream of [false, true]) {
      expect(await readError(await ask({ messages, stream }))).toMatchObject([
        400,
        {
          type: "invalid_request_error",
          code: "context_length_exceeded",
          message: expect.stringContaining("maximum context length is 1000 tokens"),
          param: "messages",
        },
      ]);
    }
    upstream.script = (asked) => answerWhole(asked, 3);
  });

  test("a key calls only its models, and counts only their tokens", async () => {
    const key = await createKey(app, { models: ["able"] });
    const refusal = [403, { type: "permission_error", code: "model_not_permitted" }];
    expect(await readError(await ask({}, key))).toMatchObject(refusal);
    const asked = { model: "plain", ...HELLO };
    const count = await app.post("/v1/messages/count_tokens", asked, { key });
    expect(await readError(count)).toMatchObject(refusal);
    expect((await ask({ model: "able" }, key)).status).toBe(200);
  });

  test.each<[object, string, string | null]>([
    [{ stop_reason: "END" }, "stop_sequence", "END"],
    [{ matched_stop: "END" }, "stop_sequence", "END"],
    [{ stop_reason: null, matched_stop: 151_645 }, "end_turn", null],
    [{ stop_reason: "of its own" }, "end_turn", null],
    [{ stop_reason: "END", finish_reason: "length" }, "max_tokens", null],
    [{}, "end_turn", null],
  ])("a server's choice with %j ends with %s, as JSON and as a stream", async (more, ...end) => {
    const message = { content: "Hi" };
    const choice = { index: 0, finish_reason: "stop", ...more };
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    upstream.script = ({ body }) => {
      if (!body.stream) return Response.json({ choices: [{ ...choice, message }], usage });
      return answerFrames([
        writeFrame(message),
        `data: ${JSON.stringify({ choices: [{ ...choice, delta: {} }], usage })}\n\n`,
        DONE,
      ]);
    };
    const [stop_reason, stop_sequence] = end;
    const fields = { model: "able", stop_sequences: ["STOP", "END"] };
    expect(await (await ask(fields)).json()).toMatchObject({ stop_reason, stop_sequence });
    const events = readEvents(await (await ask({ ...fields, stream: true })).text());
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason, stop_sequence } });
    upstream.script = (asked) => answerWhole(asked, 3);
  });

  test("arguments nested deeper than 32 levels come as a text", async () => {
    const call = (levels: number) => ({
      id: "c",
      type: "function",
      function: {
        name: "now",
        arguments: `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`,
      },
    });
    const answer = async (levels: number) => {
      const message = { content: null, tool_calls: [call(levels)] };
      upstream.script = () =>
        Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
      const reply = await ask({ model: "able", tools: TOOLS });
      return ((await reply.json()) as { content: { input: unknown }[] }).content[0]!.input;
    };
    expect(await answer(32)).toBeObject();
    expect(await answer(33)).toBeString();
    expect(await answer(100_000)).toBeString();
    upstream.script = (asked) => answerWhole(asked, 3);
  });

  test("a model server that is busy is an overload, and one that fails an API error", async () => {
    upstream.script = () => new Response("busy", { status: 429 });
    expect(await readError(await ask({}))).toMatchObject([529, { code: "upstream_rate_limited" }]);
    upstream.script = () => Response.json({});
    expect(await readError(await ask({}))).toMatchObject([500, { code: "upstream_error" }]);
    upstream.script = (asked) => answerWhole(asked, 3);
  });
});

describe("budgets", () => {
  const head = `${OPEN}[service]\nratelimit_headers = true`;
  const post = (
    front: Awaited<ReturnType<typeof openBudgetFront>>,
    max_tokens: number,
    path = "/v1/messages",
  ) => front.post(path, { max_tokens, ...HELLO }, { key: front.key });

  test("a message uses the tokens of its account's budget, and is refused when they are used up", async () => {
    await using front = await openBudgetFront({ head });
    await front.limit({ tokens_day: 100 });
    const first = await post(front, 60);
    expect(await first.json()).toMatchObject({
      usage: { input_tokens: PROMPT, output_tokens: 60 },
    });
    expect(first.headers.get("x-ratelimit-remaining-tokens")).toBe("30");
    const second = await post(front, 60);
    expect(second.headers.get("retry-after")).toBe(String(12 * 3_600));
    expect(await readError(second)).toMatchObject([
      429,
      { type: "rate_limit_error", code: "rate_limit_exceeded" },
    ]);
    expect(await front.used()).toMatchObject({ requests: 1, tokens: PROMPT + 60 });
  });

  test("a used-up budget of money is refused for good", async () => {
    await using front = await openBudgetFront({ head });
    await front.limit({ cost_day: 1 });
    const reply = await post(front, 60);
    expect(reply.headers.get("x-should-retry")).toBe("false");
    expect(await readError(reply)).toMatchObject([
      403,
      { type: "permission_error", code: "permission_denied" },
    ]);
  });

  test("a count uses nothing", async () => {
    await using front = await openBudgetFront({ head });
    await front.limit({ tokens_day: 1, requests_day: 1 });
    const reply = await post(front, 1, "/v1/messages/count_tokens");
    expect(await reply.json()).toEqual({ input_tokens: PROMPT });
    expect(await front.used()).toMatchObject({ requests: 0, tokens: 0 });
    expect(await front.reservations()).toBe(0);
  });
});

test("a stream whose key is revoked ends with an error event", async () => {
  const app = await startApp({ settings: OPEN });
  const { access, admin } = app.app;
  const { id } = await storeAccount(access, "acme");
  const { secret, key } = await storeKey(access, { account_id: id, name: null });
  const content = "!say Hello\n!stall";
  const fields = { max_tokens: 9, stream: true, messages: [{ role: "user", content }] };
  const reply = await app.post("/v1/messages", fields, { key: secret });
  await admin.keys.revoke(key.id);
  const frames = (await reply.text()).split("\n\n");
  expect(frames.at(-2)).toMatch(/^event: error\ndata: .*"upstream_error"/);
  await app.stop();
});
