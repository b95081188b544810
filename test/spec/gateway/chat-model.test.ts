// Effects of a model's settings and a key's scopes on a chat request, and its maximum size.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KEY } from "../../support/app.ts";
import { expectRefusal, type Front, startFront } from "./front.ts";

const MESSAGES = [{ role: "user", content: "Hello" }];
const TOOL = { type: "function", function: { name: "add", description: "Adds.", parameters: {} } };

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

const send = (fields: object, key = KEY) => front.send({ messages: MESSAGES, ...fields }, { key });

describe("the model's own settings", () => {
  test("gateway.resources.message.p1 its system prompt is used when the request has none", async () => {
    await using own = await startFront({ model: 'system_prompt = "Be kind."' });
    const ask = async (...messages: object[]) => {
      await own.send({ messages });
      return own.last().body.messages;
    };
    const [user] = MESSAGES as [object];
    const system = { role: "system", content: "Be brief." };
    expect(await ask(user)).toEqual([{ role: "system", content: "Be kind." }, user]);
    expect(await ask(system, user)).toEqual([system, user]);
    expect(await ask(user, system)).toEqual([user, system]);
  });

  test("gateway.endpoints.chat_completions.frequency_penalty the model's default is used when it is omitted", async () => {
    await using own = await startFront({ model: "frequency_penalty = 0.5" });
    for (const [sent, forwarded] of [
      [{}, 0.5],
      [{ frequency_penalty: null }, 0.5],
      [{ frequency_penalty: 0 }, 0],
      [{ frequency_penalty: -1 }, -1],
    ] as const) {
      await own.send({ messages: MESSAGES, ...sent });
      expect(own.last().body.frequency_penalty).toBe(forwarded);
    }
  });

  test("gateway.endpoints.chat_completions.tools gateway.endpoints.chat_completions.reasoning a feature that the model lacks is refused", async () => {
    await using own = await startFront({ model: 'capabilities = ["streaming"]' });
    const image = { type: "image_url", image_url: { url: "data:" } };
    const CASES: [object, string][] = [
      [{ tools: [TOOL] }, "tools"],
      [{ reasoning: true }, "reasoning"],
      [
        { messages: [{ role: "user", content: [{ type: "text", text: "a" }, image] }] },
        "messages.0.content.1",
      ],
    ];
    for (const [fields, param] of CASES) {
      const response = await own.send({ messages: MESSAGES, ...fields });
      await expectRefusal(response, 400, "invalid_request", param);
    }
    expect((await own.send({ messages: MESSAGES, tools: [] })).status).toBe(201);
    // What the key may is checked before what the model can.
    const all = { messages: MESSAGES, tools: [TOOL], reasoning: true };
    const response = await own.send(all, { key: `${KEY}-none` });
    await expectRefusal(response, 403, "scope_required", "reasoning");
  });

  test("gateway.endpoints.chat_completions.6 gateway.endpoints.chat_completions.max_tokens gateway.limits.output_budget_ceiling the smallest budget applies", async () => {
    await using own = await startFront({
      model: "max_output_tokens = 5_000\ndefault_max_tokens = 2_000",
      more: `
[[models]]
id = "large"
self_hosted = true
max_output_tokens = 100_000
default_max_tokens = 90_000
upstream = { kind = "stub" }
`,
    });
    const request = {
      account: "dev",
      name: null,
      is_internal: false,
      scopes: [],
      models: null,
      lifetimeMs: null,
    };
    const { keys } = own.app.admin;
    const capped = await keys.create({ ...request, max_output_tokens: 1_500 });
    const budget = async (fields: object, key = KEY) => {
      const response = await own.send({ messages: MESSAGES, ...fields }, { key });
      expect(response.status).toBe(201);
      return own.last().body.max_tokens;
    };
    expect(await budget({})).toBe(2_000);
    expect(await budget({ max_tokens: 1 })).toBe(1);
    expect(await budget({ max_tokens: 4_999 })).toBe(4_999);
    expect(await budget({ max_tokens: 5_001 })).toBe(5_000);
    expect(await budget({ max_tokens: 1e15 })).toBe(5_000);
    expect(await budget({}, capped.secret)).toBe(1_500);
    expect(await budget({ max_tokens: 1_499 }, capped.secret)).toBe(1_499);
    expect(await budget({ max_tokens: 1_501 }, capped.secret)).toBe(1_500);
    const listed = async (key: string) => {
      const list = (await (await own.get("/v1/models", { key })).json()) as { data: object[] };
      return list.data;
    };
    expect(await listed(KEY)).toMatchObject([
      { id: "svc", max_output_tokens: 5_000, default_max_tokens: 2_000 },
      { id: "test-1", max_output_tokens: 5_000, default_max_tokens: 2_000 },
      { id: "large", max_output_tokens: 8_192, default_max_tokens: 8_192 },
    ]);
    expect(await listed(capped.secret)).toMatchObject([
      ...Array(3).fill({ max_output_tokens: 1_500, default_max_tokens: 1_500 }),
    ]);
    const large = { model: "large", messages: [{ role: "user", content: "!tokens 8192\n!say x" }] };
    const reply = await (await own.send(large)).json();
    expect(reply).toMatchObject({
      choices: [{ finish_reason: "length" }],
      usage: { completion_tokens: 8_192 },
    });
  });
});

describe("scopes", () => {
  const none = `${KEY}-none`;
  test("gateway.endpoints.chat_completions.1 gateway.endpoints.chat_completions.reasoning gateway.endpoints.chat_completions.think true without the scope is refused", async () => {
    const fields = ["reasoning", "think"];
    for (const field of fields) {
      await expectRefusal(await send({ [field]: true }, none), 403, "scope_required", field);
      for (const value of [false, null]) {
        expect((await send({ [field]: value }, none)).status).toBe(201);
      }
    }
    const both = await send({ reasoning: true, think: true }, none);
    await expectRefusal(both, 403, "scope_required", "reasoning");
  });

  test("gateway.endpoints.chat_completions.3 an invalid field is reported before a missing scope", async () => {
    const response = await send({ think: true, tools: [TOOL] }, none);
    await expectRefusal(response, 400, "invalid_request", "think");
  });

  test("gateway.endpoints.chat_completions.7 a model that needs deep thinking needs the scope", async () => {
    await using own = await startFront({ model: 'think = "required"' });
    const response = await own.send({ messages: MESSAGES }, { key: none });
    await expectRefusal(response, 403, "scope_required", "model");
    expect(own.upstream.asked).toEqual([]);
  });

  test("gateway.endpoints.chat_completions.reasoning with the scope the request is answered", async () => {
    expect((await send({ reasoning: true })).status).toBe(201);
  });
});

describe("the body", () => {
  const sized = (bytes: number) => {
    const frame = JSON.stringify({ messages: [{ role: "user", content: "" }] });
    return frame.replace('""', `"${"x".repeat(bytes - frame.length)}"`);
  };

  test("gateway.endpoints.chat_completions.5 gateway.errors.request_too_large gateway.limits.body_size may have 256 KB and no byte more", async () => {
    expect((await front.send(sized(256 * 1024))).status).toBe(201);
    await expectRefusal(await front.send(sized(256 * 1024 + 1)), 413, "request_too_large");
  });

  test("gateway.errors.invalid_request must be JSON, and an object", async () => {
    for (const body of ["{", "Hello", '{"messages":[}', "[]", "null", "5", '"x"']) {
      await expectRefusal(await front.send(body), 400, "invalid_request");
    }
  });
});
