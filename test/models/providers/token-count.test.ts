// Tests model servers of every kind that can count tokens, and those that cannot or change.
import { afterEach, describe, expect, test } from "bun:test";
import type { ModelRequest } from "../../../src/models/providers/contract.ts";
import { createTokenCount } from "../../../src/models/providers/token-count.ts";
import { createTrustedEgress } from "../../../src/net/index.ts";
import { createAsk } from "../../support/ask.ts";
import { createManualClock } from "../../support/clock.ts";
import { type AskedRequest, type ScriptedUpstream, startUpstream } from "../../support/upstream.ts";

const MINUTE_MS = 60_000;
const egress = createTrustedEgress({ clock: createManualClock() });
const upstreams: ScriptedUpstream[] = [];
afterEach(async () => {
  await Promise.all(upstreams.splice(0).map((upstream) => upstream.stop()));
});

type Routes = Record<string, (body: Record<string, unknown>, asked: AskedRequest) => unknown>;
const lost = () => Response.json({ detail: "Not Found" }, { status: 404 });
const never = () => new Promise<Response>(() => undefined);

/** A server with only these routes, which return JSON. */
function serve(routes: Routes) {
  const upstream = startUpstream(async (asked) => {
    const route = routes[asked.path];
    if (!route) return lost();
    const value = await route(asked.body, asked);
    return value instanceof Response ? value : Response.json(value);
  });
  upstreams.push(upstream);
  return upstream;
}

function connect(urls: string[], some: Partial<Parameters<typeof createTokenCount>[0]> = {}) {
  const clock = createManualClock();
  const form = { model: "model-1", reasoning_on: {}, reasoning_off: {}, tool_choice_by_name: true };
  const way = { api_key: null, headers: {}, connect_timeout_ms: 60_000, egress };
  const options = { urls, ...form, ...way, clock, ...some };
  const count = createTokenCount(options);
  const caller = new AbortController();
  return {
    clock,
    caller,
    count: (ask: ModelRequest = createAsk("Hello"), signal = caller.signal) => count(ask, signal),
  };
}

const paths = ({ asked }: ScriptedUpstream) => asked.map(({ path }) => path);
const TOKENS = Array.from({ length: 21 }, (_, at) => at);
const INPUT_TOKENS = "/v1/chat/completions/input_tokens";

const vllm: Routes = {
  "/tokenize": () => ({ count: 21, max_model_len: 4_096, tokens: TOKENS, token_strs: null }),
};
const tgi: Routes = {
  "/tokenize": () => Response.json({ error: "missing field `inputs`" }, { status: 422 }),
  "/chat_tokenize": () => ({
    tokenize_response: TOKENS.map((id) => ({ id, text: "a", start: id, stop: id + 1 })),
    templated_text: "<s>…",
  }),
};
/** llama.cpp accepts any body at /tokenize, and finds no `content` in a chat. */
const tokenizeText = ({ content }: Record<string, unknown>) => ({
  tokens: content === undefined ? [] : TOKENS,
});
const llama: Routes = {
  "/tokenize": tokenizeText,
  [INPUT_TOKENS]: () => ({ object: "response.input_tokens", input_tokens: 21 }),
  "/apply-template": () => expect.unreachable(),
};
const olderLlama: Routes = {
  "/tokenize": tokenizeText,
  "/apply-template": () => ({ prompt: "<|im_start|>user\nHello" }),
};

describe("servers' replies", () => {
  const KINDS: [kind: string, routes: Routes, known: string[]][] = [
    ["vLLM and SGLang", vllm, ["/tokenize"]],
    ["llama.cpp", llama, [INPUT_TOKENS]],
    ["an older llama.cpp", olderLlama, ["/apply-template", "/tokenize"]],
    ["TGI", tgi, ["/chat_tokenize"]],
  ];
  test.each(KINDS)("%s counts, and its route is remembered", async (_, routes, known) => {
    const upstream = serve(routes);
    const { count } = connect([upstream.url]);
    expect(await count()).toBe(21);
    const before = upstream.asked.length;
    expect(await count(createAsk("Another"))).toBe(21);
    expect(paths(upstream).slice(before)).toEqual(known);
  });

  const NONE: [kind: string, routes: Routes][] = [
    ["a server without any such route", {}],
    ["one that knows no such method", { "/tokenize": () => new Response(null, { status: 405 }) }],
    ["one that has not built it yet", { "/tokenize": () => new Response(null, { status: 501 }) }],
    ["garbage", { "/tokenize": () => new Response("<html>") }],
    ["an invalid count", { "/tokenize": () => ({ count: "21" }) }],
    ["null", { "/tokenize": () => null }],
  ];
  test.each(NONE)("%s is no count, and is tried again after ten minutes", async (_, routes) => {
    const upstream = serve(routes);
    const { count, clock } = connect([upstream.url]);
    expect(await count()).toBeNull();
    const first = paths(upstream);
    expect(first).toEqual(["/tokenize", INPUT_TOKENS, "/chat_tokenize", "/apply-template"]);
    await clock.advance(10 * MINUTE_MS - 1);
    expect(await count()).toBeNull();
    expect(upstream.asked.length).toBe(first.length);
    await clock.advance(1);
    upstream.script = () => Response.json({ count: 5 });
    expect(await count()).toBe(5);
  });
});

describe("replies that say nothing of a server's routes", () => {
  const NOTHING: [what: string, reply: () => unknown][] = [
    ...[400, 401, 403, 422, 429, 500, 503].map((status): [string, () => unknown] => [
      `a refusal with ${status}`,
      () => Response.json({ error: "Loading model" }, { status }),
    ]),
    ["more than is read", () => ({ count: 1, tokens: "1".repeat(5_000_000) })],
    [
      "a reply packed in an unknown way",
      () => new Response("", { headers: { "content-encoding": "zstd" } }),
    ],
  ];
  test.each(NOTHING)("%s from all of them: the next request is counted", async (_, reply) => {
    const all = ["/tokenize", INPUT_TOKENS, "/chat_tokenize", "/apply-template"];
    const upstream = serve(Object.fromEntries(all.map((path) => [path, reply])));
    const { count } = connect([upstream.url]);
    expect(await count()).toBeNull();
    expect(paths(upstream)).toEqual(all);
    upstream.script = () => Response.json({ count: 22 });
    expect(await count(createAsk("Another"))).toBe(22);
  });

  test("a refusal from one: only this one is tried the next time", async () => {
    const upstream = serve({ "/tokenize": () => new Response(null, { status: 400 }) });
    const { count } = connect([upstream.url]);
    expect(await count(createAsk("Odd"))).toBeNull();
    expect(upstream.asked.length).toBe(4);
    expect(await count(createAsk("Odd as well"))).toBeNull();
    expect(paths(upstream).slice(4)).toEqual(["/tokenize"]);
    upstream.script = () => Response.json({ count: 22 });
    expect(await count(createAsk("Even"))).toBe(22);
  });

  test("a refusal that comes after another request was counted", async () => {
    const odd = Promise.withResolvers<Response>();
    const upstream = serve({
      ...llama,
      "/tokenize": ({ messages }) =>
        JSON.stringify(messages).includes("Odd") ? odd.promise : tokenizeText({}),
    });
    const { count } = connect([upstream.url]);
    const refused = count(createAsk("Odd"));
    expect(await count()).toBe(21);
    upstream.script = ({ path }) =>
      path === INPUT_TOKENS ? new Response(null, { status: 400 }) : lost();
    odd.resolve(new Response(null, { status: 400 }));
    expect(await refused).toBeNull();
    upstream.asked.length = 0;
    upstream.script = () => Response.json({ input_tokens: 22 });
    expect(await count(createAsk("Even"))).toBe(22);
    expect(paths(upstream)).toEqual([INPUT_TOKENS]);
  });
});

describe("the request for a count", () => {
  test("has the whole prompt and the model's name, and no fields that do not affect the length", async () => {
    const upstream = serve(vllm);
    const { count } = connect([upstream.url], { api_key: "secret", headers: { "X-Team": "a" } });
    const tools = [{ type: "function" as const, function: { name: "add" } }];
    await count(createAsk("Hello", { tools, tool_choice: "none", temperature: 1, stop: ["x"] }));
    const [asked] = upstream.asked;
    expect(asked!.body).toEqual({
      model: "model-1",
      messages: [{ role: "user", content: "Hello" }],
      max_tokens: 1,
      tools,
      tool_choice: "none",
    });
    const { headers } = asked!;
    const names = ["authorization", "x-team", "x-request-id", "content-type"];
    expect(names.map((name) => headers.get(name))).toEqual([
      "Bearer secret",
      "a",
      "request-1",
      "application/json",
    ]);
  });

  test("to an older llama.cpp counts the template's special tokens as such", async () => {
    const upstream = serve(olderLlama);
    await connect([upstream.url]).count();
    expect(upstream.asked.at(-1)!.body).toEqual({
      content: "<|im_start|>user\nHello",
      add_special: true,
      parse_special: true,
    });
  });

  test.each(["/v1", "/v1/", "", "/"])("the routes lie beside the address's %j", async (end) => {
    const upstream = serve(vllm);
    const { count } = connect([upstream.url.replace(/\/v1$/, end)]);
    expect(await count()).toBe(21);
    expect(paths(upstream)).toEqual(["/tokenize"]);
  });
});

describe("a count is cached", () => {
  test("for a repeated request, whatever its sampling", async () => {
    const upstream = serve(vllm);
    const { count } = connect([upstream.url]);
    expect(await count(createAsk("Hello", { temperature: 1, max_tokens: 5, seed: 1 }))).toBe(21);
    expect(await count(createAsk("Hello", { request_id: "2", stream: true, stop: ["x"] }))).toBe(
      21,
    );
    expect(upstream.asked.length).toBe(1);
    await count(createAsk("Hello!"));
    await count(createAsk([{ role: "system", content: "Hello" }]));
    expect(upstream.asked.length).toBe(3);
  });

  test("up to a thousand, evicting the least recently used", async () => {
    const upstream = serve(vllm);
    const { count } = connect([upstream.url]);
    const say = (n: number) => count(createAsk(`Hello ${n}`));
    for (let n = 0; n < 1_000; n++) await say(n);
    await say(0);
    await say(1_000);
    expect(upstream.asked.length).toBe(1_001);
    await say(0);
    expect(upstream.asked.length).toBe(1_001);
    await say(1);
    expect(upstream.asked.length).toBe(1_002);
  });
});

describe("a server that fails", () => {
  test("to answer within five seconds is given up, and skipped for ten seconds", async () => {
    const closed = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const upstream = serve({
      "/tokenize": (_, { signal }) => {
        signal.addEventListener("abort", () => closed.resolve(), { once: true });
        asked.resolve();
        return never();
      },
    });
    const { count, clock } = connect([upstream.url]);
    const counted = count();
    await asked.promise;
    await clock.advance(5_000);
    expect(await counted).toBeNull();
    await closed.promise;
    expect(clock.pending()).toBe(0);
    expect(await count()).toBeNull();
    expect(upstream.asked.length).toBe(1);
    await clock.advance(9_999);
    expect(await count()).toBeNull();
    expect(upstream.asked.length).toBe(1);
    await clock.advance(1);
    upstream.script = () => Response.json({ count: 5 });
    expect(await count()).toBe(5);
  });

  test("in time is no failure of the next one, which was not asked", async () => {
    const silent = serve({ "/tokenize": never });
    const there = serve(vllm);
    const { count, clock } = connect([silent.url, there.url]);
    const counted = count();
    while (silent.asked.length === 0) await clock.advance(0);
    await clock.advance(5_000);
    expect([await counted, await count()]).toEqual([null, 21]);
    expect([paths(there), clock.pending()]).toEqual([["/tokenize"], 0]);
  });

  test("is followed by another replica, which is first the next time", async () => {
    const gone = serve({});
    await gone.stop();
    const there = serve(vllm);
    const { count } = connect([gone.url, there.url]);
    expect(await count()).toBe(21);
    expect(await count(createAsk("Another"))).toBe(21);
    expect(paths(there)).toEqual(["/tokenize", "/tokenize"]);
  });

  test("on one prompt on its known route is tried there again", async () => {
    const upstream = serve(llama);
    const { count } = connect([upstream.url]);
    expect(await count()).toBe(21);
    upstream.asked.length = 0;
    upstream.script = () => Response.json({ error: "roles must alternate" }, { status: 400 });
    expect(await count(createAsk("Odd"))).toBeNull();
    upstream.script = () => Response.json({ input_tokens: 22 });
    expect(await count(createAsk("Even"))).toBe(22);
    expect(paths(upstream)).toEqual([INPUT_TOKENS, INPUT_TOKENS]);
  });

  test("to answer once keeps its known route", async () => {
    const upstream = serve(llama);
    const { count, clock } = connect([upstream.url]);
    expect(await count()).toBe(21);
    const asked = Promise.withResolvers<void>();
    upstream.script = () => {
      asked.resolve();
      return never();
    };
    const counted = count(createAsk("Another"));
    await asked.promise;
    await clock.advance(5_000);
    expect(await counted).toBeNull();
    upstream.asked.length = 0;
    await clock.advance(10_000);
    upstream.script = () => Response.json({ input_tokens: 22 });
    expect(await count(createAsk("Another"))).toBe(22);
    expect(paths(upstream)).toEqual([INPUT_TOKENS]);
  });

  test("on its known route, because it became another kind, is detected again", async () => {
    const upstream = serve(llama);
    const { count } = connect([upstream.url]);
    expect(await count()).toBe(21);
    upstream.script = ({ path }) => (path === "/tokenize" ? Response.json({ count: 30 }) : lost());
    expect(await count(createAsk("Another"))).toBeNull();
    expect(await count(createAsk("Another"))).toBe(30);
  });
});

test("a count is a positive number that is exact, in a reply of at most 4 MB", async () => {
  let body = "";
  const upstream = serve({ "/tokenize": () => new Response(body) });
  const read = async (text: string) => {
    body = text;
    return connect([upstream.url]).count();
  };
  expect(await read('{"count":1}')).toBe(1);
  for (const value of ["0", "-1", "1.5", "9007199254740992", '"1"', "null"]) {
    expect(await read(`{"count":${value}}`)).toBeNull();
  }
  const pad = (bytes: number) => `{"count":1,"pad":"${"x".repeat(bytes - 20)}"}`;
  expect(pad(100).length).toBe(100);
  expect(await read(pad(4_194_304))).toBe(1);
  expect(await read(pad(4_194_305))).toBeNull();
});

describe("a caller who leaves", () => {
  test("ends the count at once, without effect on the server's state", async () => {
    const closed = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const upstream = serve({
      "/tokenize": (_, { signal }) => {
        signal.addEventListener("abort", () => closed.resolve(), { once: true });
        asked.resolve();
        return never();
      },
    });
    const { count, caller, clock } = connect([upstream.url]);
    const counted = count();
    await asked.promise;
    caller.abort();
    expect(await counted).toBeNull();
    await closed.promise;
    expect(clock.pending()).toBe(0);
    upstream.script = () => Response.json({ count: 5 });
    expect(await count(undefined, new AbortController().signal)).toBe(5);
  });

  test("before it began causes no request", async () => {
    const upstream = serve(vllm);
    const { count } = connect([upstream.url]);
    expect(await count(undefined, AbortSignal.abort())).toBeNull();
    expect(upstream.asked).toEqual([]);
  });
});
