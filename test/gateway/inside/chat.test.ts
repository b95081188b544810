// Tests internal chat requests: permission, the request, the result and its log row.
import { describe, expect, test } from "bun:test";
import type { ReplyWatch } from "../../../src/gateway/chat/execution.ts";
import type { InternalChatRequest } from "../../../src/gateway/index.ts";
import { answerText, startUpstream } from "../../support/upstream.ts";
import { comeFrom, type InsideFront, NEVER, openInside, question } from "./front.ts";

const model = (id: string, lines = "") => `
[[models]]
id = "${id}"
self_hosted = true
${lines}
[models.upstream]
kind = "stub"
`;
const PRICE = 'price = { prompt = "2.00", completion = "4.00" }';
const FULL = 'capabilities = ["tools", "streaming", "reasoning"]';
const MODELS = [
  model("one", `${PRICE}\n${FULL}\ndefault_max_tokens = 5\nmax_output_tokens = 40`),
  model("plain", 'capabilities = ["streaming"]'),
  model("deep", `${FULL}\nthink = "required"`),
  model("secret", 'visibility = "private"'),
].join("");

const tool = { type: "function", function: { name: "add" } } as const;

/** Sends a request with a key of acme with these fields. */
async function askAs(front: InsideFront, ask: InternalChatRequest, key: object = {}) {
  const caller = await front.openKey(key);
  return front.inside.chat.ask(comeFrom(caller), ask, NEVER);
}

describe("an internal completion", () => {
  test("has its whole text, with model, usage and duration", async () => {
    await using front = await openInside(MODELS);
    const asking = askAs(front, question("!delay 2s\n!say Good day"));
    await front.clock.advance(2_000);
    expect(await asking).toEqual({
      timing: { attempts: null, first_token_ms: 2_000, replica: null, waited_ms: null },
      ok: true,
      model: "one",
      content: "Good day",
      tool_calls: [],
      finish_reason: "stop",
      usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
      usage_estimated: false,
      duration_ms: 2_000,
    });
  });

  test("has a watch that begins before its model is asked, and reads each piece as it is told", async () => {
    const seen: string[] = [];
    const upstream = startUpstream(() => {
      seen.push("asked");
      return answerText("Good");
    });
    await using front = await openInside(
      model("far").replace("stub", `openai"\nurls = ["${upstream.url}"]\nmodel = "m`),
    );
    let read = () => ({ text: "" });
    const watch: ReplyWatch = {
      wantsPieces: false,
      onPiece: () => void seen.push(read().text),
      begin(reader) {
        seen.push("begun");
        read = reader;
      },
    };
    const caller = await front.openKey();
    const ask = { ...question("Hi"), model: "far" };
    expect(await front.inside.chat.ask(comeFrom(caller), ask, NEVER, watch)).toMatchObject({
      content: "Good",
    });
    expect(seen).toEqual(["begun", "asked", "Good"]);
    await upstream.stop();
  });

  test("may be tool calls", async () => {
    await using front = await openInside(MODELS);
    const reply = await askAs(front, question('!tool add {"a":1}\n!tool add', { tools: [tool] }));
    expect(reply).toMatchObject({ ok: true, content: null, finish_reason: "tool_calls" });
    const { tool_calls } = reply as { tool_calls: { id: string; function: object }[] };
    expect(tool_calls.map((call) => call.function)).toEqual([
      { name: "add", arguments: '{"a":1}' },
      { name: "add", arguments: "{}" },
    ]);
    expect(tool_calls[0]!.id).toStartWith("call_");
  });

  test.each<[string, number | null, number | null, number]>([
    ["none: the model's default", null, null, 5],
    ["its own", 7, null, 7],
    ["more than the model has", 9_999, null, 40],
    ["more than the key may", 30, 20, 20],
  ])("gateway.endpoints.chat_completions.6 has a budget: %s", async (_, requested, cap, made) => {
    await using front = await openInside(MODELS);
    const ask = question("!tokens 9999", { max_tokens: requested });
    const reply = await askAs(front, ask, { max_output_tokens: cap });
    expect(reply).toMatchObject({ usage: { completion_tokens: made }, finish_reason: "length" });
  });

  test("is requested with the given parameters, the model's system prompt, and without streaming", async () => {
    const upstream = startUpstream(() => answerText("Good"));
    const text = `
[[models]]
id = "far"
self_hosted = true
system_prompt = "Be kind."
[models.upstream]
kind = "openai"
urls = ["${upstream.url}"]
`;
    await using front = await openInside(text);
    const caller = await front.openKey();
    const ask = (fields: Partial<InternalChatRequest>) =>
      front.inside.chat.ask(comeFrom(caller), question("Hi", fields), NEVER);
    expect(await ask({ temperature: 0.5, top_p: 0.25 })).toMatchObject({ content: "Good" });
    const own = { role: "system" as const, content: "Be brief." };
    const messages = [own, { role: "user" as const, content: "Hi" }];
    await ask({ messages });
    const [first, second] = upstream.asked.map(({ body }) => body);
    expect(first).toMatchObject({
      ...{ temperature: 0.5, top_p: 0.25 },
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "Hi" },
      ],
    });
    expect(first!.stream ?? false).toBe(false);
    expect(second!.messages).toEqual(messages);
    // The caller's own object is not changed.
    expect(messages).toHaveLength(2);
    await upstream.stop();
  });

  test("gateway.endpoints.chat_completions.7 thinks if its model requires it, except with tools", async () => {
    await using front = await openInside(
      `${model("one")}${model("deep", `${FULL}\nthink = "required"`)}`,
    );
    const key = { scopes: ["think"] };
    const ask = (tools: InternalChatRequest["tools"]) =>
      askAs(front, question("!say Yes", { model: "deep", tools }), key);
    expect(await ask([])).toMatchObject({ content: "Yes", usage: { completion_tokens: 3 } });
    expect(await ask([tool])).toMatchObject({ content: "Yes", usage: { completion_tokens: 1 } });
  });
});

describe("gateway.authentication.7: permission is checked at each request", () => {
  test.each<[string, InternalChatRequest, object, string]>([
    ["an unknown model", question("Hi", { model: "gpt-4" }), {}, "model_not_found"],
    ["a model that it may not see", question("Hi", { model: "secret" }), {}, "model_not_found"],
    ["one beside its list", question("Hi"), { models: ["plain"] }, "model_not_permitted"],
    [
      "one that thinks, without the scope",
      question("Hi", { model: "deep" }),
      {},
      "model_not_permitted",
    ],
    ["reasoning without the scope", question("Hi", { reasoning: true }), {}, "scope_required"],
    [
      "tools of a model that has none",
      question("Hi", { model: "plain", tools: [tool] }),
      {},
      "invalid_request",
    ],
  ])("%s", async (_, ask, key, code) => {
    await using front = await openInside(MODELS);
    expect(await askAs(front, ask, key)).toMatchObject({ ok: false, code });
    // The default model that an unknown name stands for over HTTP was not meant here.
    const model = ask.model === "gpt-4" ? null : expect.any(String);
    const asked = { model_asked: ask.model, model };
    expect(await front.readRows()).toMatchObject([{ code, prompt_tokens: null, ...asked }]);
  });

  test("against the current grant, switch and key", async () => {
    await using front = await openInside(MODELS);
    const { accounts, models, keys } = front.admin;
    const caller = await front.openKey();
    const ask = async (name: string) => {
      const reply = await front.inside.chat.ask(
        comeFrom(caller),
        question("Hi", { model: name }),
        NEVER,
      );
      return reply.ok ? reply.model : reply.code;
    };
    expect(await ask("secret")).toBe("model_not_found");
    await accounts.grant("acme", "secret");
    expect(await ask("secret")).toBe("secret");
    await accounts.ungrant("acme", "secret");
    expect(await ask("secret")).toBe("model_not_found");
    await models.turn("one", "off");
    expect([await ask("one"), await ask("svc")]).toEqual(["model_offline", "no_model_available"]);
    await models.turn("one", "block");
    expect([await ask("one"), await ask("svc")]).toEqual([
      "model_unavailable",
      "no_model_available",
    ]);
    expect(await front.findCaller(caller.key_id)).toEqual(caller);
    await keys.revoke(caller.key_id);
    expect(await front.findCaller(caller.key_id)).toBeUndefined();
  });
});

describe("a model name", () => {
  test("is authorized without a request, and the error names the field", async () => {
    await using front = await openInside(MODELS);
    const caller = await front.openKey({ models: ["one", "secret", "deep"] });
    const authorizeName = async (name: string) => {
      const authorized = await front.inside.chat.authorize(name, caller);
      if ("model" in authorized) return authorized.model.settings.id;
      return `${authorized.refusal.code} ${authorized.refusal.details.param}`;
    };
    expect(await authorizeName("svc")).toBe("one");
    expect(await authorizeName("one")).toBe("one");
    expect(await authorizeName("plain")).toBe("model_not_permitted model");
    expect(await authorizeName("deep")).toBe("model_not_permitted model");
    expect(await authorizeName("secret")).toBe("model_not_found model");
    expect(await authorizeName("gpt-4")).toBe("model_not_found model");
    await front.admin.models.turn("one", "off");
    expect(await authorizeName("one")).toBe("model_offline model");
    expect(await authorizeName("svc")).toBe("no_model_available model");
    expect(await front.readRows()).toEqual([]);
  });

  test("cannot be authorized if the database cannot be read", async () => {
    await using front = await openInside(MODELS);
    const caller = await front.openKey();
    await front.closeDatabase();
    const authorized = await front.inside.chat.authorize("one", caller);
    expect(authorized).toMatchObject({ refusal: { code: "no_model_available" } });
    const reply = await front.inside.chat.ask(comeFrom(caller), question("Hi"), NEVER);
    expect(reply).toMatchObject({ ok: false, code: "no_model_available" });
    expect(front.lines[0]).toMatchObject({
      level: "error",
      message: "chat: the state of a model could not be read",
    });
  });

  test("is found with its settings, for every caller", async () => {
    await using front = await openInside(MODELS);
    const find = (name: string) => front.inside.chat.find(name);
    expect([find("svc")?.id, find("secret")?.id, find("gpt-4")]).toEqual([
      "one",
      "secret",
      undefined,
    ]);
    expect(find("one")).toMatchObject({ max_output_tokens: 40, price: { prompt: 2_000_000 } });
  });
});

describe("the request log", () => {
  test("has a row for each completion, with key, account and price, like an HTTP request", async () => {
    await using front = await openInside(MODELS);
    const caller = await front.openKey();
    const asking = front.inside.chat.ask(
      comeFrom(caller, "run-1"),
      question("!delay 30ms\n!say Good day"),
      NEVER,
    );
    await front.clock.advance(30);
    await asking;
    const [row, ...others] = await front.readRows();
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      request_id: "run-1",
      account_id: front.account_id,
      key_id: caller.key_id,
      route: "chat",
      model: "one",
      status: 201,
      code: null,
      is_stream: false,
      completion_tokens: 2,
      cost: 2 * row!.prompt_tokens! + 4 * 2,
      duration_ms: 30,
      request_bytes: 0,
      reply_bytes: 0,
    });
    expect(front.lines).toEqual([]);
  });

  test.each<[string, string, number, number | null]>([
    ["!error upstream_timeout", "upstream_timeout", 504, null],
    ["!say So\n!cut", "upstream_error", 502, 1],
    ["!error upstream_rate_limited", "upstream_rate_limited", 429, null],
    ["!error model_offline", "no_model_available", 503, null],
    // No model server causes it: it is a refusal, which is not logged.
    ["!error capacity_exceeded", "capacity_exceeded", 429, null],
  ])("%j has a row and a line of the log", async (line, code, status, made) => {
    await using front = await openInside(MODELS);
    const caller = await front.openKey();
    const reply = await front.inside.chat.ask(comeFrom(caller), question(line), NEVER);
    expect(reply).toMatchObject({ ok: false, code });
    expect(reply.usage?.completion_tokens ?? null).toBe(made);
    const [row, ...others] = await front.readRows();
    expect([row, others]).toMatchObject([
      { key_id: caller.key_id, model: "one", status, code },
      [],
    ]);
    // A server that was cut off has read the prompt.
    const read = code === "upstream_timeout" ? 0 : made;
    expect(row!.completion_tokens).toBe(read);
    expect(row!.usage_estimated).toBe(read !== null);
    const { key_id } = caller;
    const noted = { key_id, account_id: front.account_id, model: "one", request_id: "request-1" };
    expect(front.lines).toMatchObject(code === "capacity_exceeded" ? [] : [noted]);
  });

  test("an upstream's Retry-After is passed on, without its text", async () => {
    const upstream = startUpstream(() => {
      const error = { message: "secret words", type: "rate_limit" };
      return Response.json({ error }, { status: 429, headers: { "retry-after": "7" } });
    });
    await using front = await openInside(`
[[models]]
id = "far"
self_hosted = true
upstream = { kind = "openai", urls = ["${upstream.url}"] }
`);
    const busy = { code: "upstream_rate_limited", retry_after_ms: 7_000 };
    const reply = await askAs(front, question("Hi"));
    expect(reply).toMatchObject({ ok: false, ...busy });
    expect(await front.readRows()).toMatchObject([{ status: 429, attempts: 1 }]);
    expect(JSON.stringify([reply, front.lines])).not.toContain("secret words");
    await upstream.stop();
  });

  test("gateway.endpoints.chat_completions.4 a request that exceeds the context is refused with its length", async () => {
    await using front = await openInside(
      model("one", "context_window = 300\ndefault_max_tokens = 20"),
    );
    const reply = await askAs(front, question("word ".repeat(400), { max_tokens: 10 }));
    expect(reply).toMatchObject({ ok: false, code: "context_length_exceeded" });
    expect((reply as { prompt_tokens: number }).prompt_tokens).toBeGreaterThan(300);
    expect(await front.readRows()).toMatchObject([
      { status: 400, code: "context_length_exceeded" },
    ]);
  });
});

describe("an abandoned completion", () => {
  test("of a departed caller has an estimated usage", async () => {
    await using front = await openInside(MODELS);
    const caller = await front.openKey();
    const leaving = new AbortController();
    const asking = front.inside.chat.ask(
      comeFrom(caller),
      question("!say So\n!stall"),
      leaving.signal,
    );
    await front.clock.advance(0);
    leaving.abort();
    const left = { ok: false, code: "client_closed_request", usage: { completion_tokens: 1 } };
    expect(await asking).toMatchObject(left);
    expect(await front.readRows()).toMatchObject([
      { status: 499, code: "client_closed_request", usage_estimated: true, completion_tokens: 1 },
    ]);
  });

  test("of a stopping process reports the stop", async () => {
    await using front = await openInside(MODELS);
    const asking = askAs(front, question("!stall"));
    await front.clock.advance(0);
    front.endRunning();
    expect(await asking).toMatchObject({ ok: false, code: "upstream_error", isStopped: true });
    expect(await front.readRows()).toMatchObject([{ status: 502 }]);
  });
});
