// Tests that model servers are recognised by their own replies, and odd replies are handled.
import { afterEach, describe, expect, test } from "bun:test";
import { type ProbeReport, probeServer, type ServerProbe } from "../../../src/models/index.ts";
import { testCapabilities } from "../../../src/models/probe/capability-tests.ts";
import type { ProbeClient } from "../../../src/models/probe/client.ts";
import { createTrustedEgress } from "../../../src/net/index.ts";
import { createManualClock } from "../../support/clock.ts";
import {
  behindKey,
  chat,
  embedding,
  llamaServer,
  type ModelServer,
  ollama,
  type Routes,
  refuse,
  sglang,
  startModelServer,
  textEmbeddings,
  textGeneration,
  vllm,
} from "../../support/model-servers.ts";

const clock = createManualClock();
const egress = createTrustedEgress({ clock });
const started: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
});

const start = (routes: Routes): ModelServer => {
  const server = startModelServer(routes);
  started.push(server);
  return server;
};
const probe = (url: string, model: string | null = null, api_key: string | null = null) =>
  probeServer({ url, model, api_key, egress, clock });
const report = async (routes: Routes, model: string | null = null): Promise<ProbeReport> => {
  const probed = await probe(`${start(routes).root}/v1`, model);
  if (!probed.ok) throw new Error(probed.says);
  return probed.report;
};
const says = (probed: ServerProbe) => (probed.ok ? "" : probed.says);

describe("each kind is recognised by its own replies", () => {
  test("vLLM: its window from the list, tools and the switch by trial", async () => {
    const { root, asked } = start(vllm());
    const probed = await probe(root);
    expect(probed.ok && probed.report).toMatchObject({
      ...{ url: `${root}/v1`, kind: "vLLM", version: "0.11.0", serves: "chat" },
      ...{ models: ["Qwen/Qwen3-32B"], model: "Qwen/Qwen3-32B", context_window: 40_960 },
      ...{ tools: true, vision: false, reasoning: true, structured_outputs: true },
      reasoning_on: { chat_template_kwargs: { enable_thinking: true } },
      reasoning_off: { chat_template_kwargs: { enable_thinking: false } },
      ...{ streaming: true, usage: "always", tool_choice_by_name: true },
      ...{ count_route: "/tokenize", health_route: "/health" },
    });
    expect(asked.filter((one) => one === "POST /v1/chat/completions").length).toBeLessThan(10);
    // A timer that is left would keep the command waiting.
    egress.close();
    expect(clock.pending()).toBe(0);
  });

  test("vLLM without a tool parser refuses tools, and a vision model takes an image", async () => {
    const seeing = chat({
      count: (body) => (Array.isArray(body.messages?.[0]?.content) ? 16 : 0),
      judge: (body) =>
        body.tools
          ? refuse(400, '"auto" tool choice requires --enable-auto-tool-choice')
          : undefined,
    });
    const found = await report(vllm({ "POST /v1/chat/completions": seeing }));
    expect(found).toMatchObject({ tools: false, vision: true, structured_outputs: true });
    expect([found.reasoning, found.reasoning_on]).toEqual([null, null]);
  });

  test.each([401, 403, 408, 429, 502, 503, 504])(
    "status %d of a trial is of the moment, and leaves what was tried unknown",
    async (status) => {
      let requests = 0;
      const busy = chat({ judge: () => (requests++ === 0 ? undefined : refuse(status, "Later")) });
      expect(await report(vllm({ "POST /v1/chat/completions": busy }))).toMatchObject({
        ...{ tools: null, vision: null, structured_outputs: null, streaming: null },
        ...{ reasoning: null, reasoning_on: null, usage: "whole replies" },
      });
    },
  );

  test("a server that drops tools unread takes none, and one that always thinks has no switch", async () => {
    const thinking = chat({ say: () => ({ reasoning_content: "Okay" }) });
    const found = await report(vllm({ "POST /v1/chat/completions": thinking }));
    expect(found).toMatchObject({
      ...{ tools: false, reasoning: true, reasoning_on: null, reasoning_off: null },
    });
  });

  test("a document may begin with space", async () => {
    const say = (body: { response_format?: object }) =>
      body.response_format ? { content: ' \n{"w' } : {};
    const found = await report(vllm({ "POST /v1/chat/completions": chat({ say }) }));
    expect(found.structured_outputs).toBe(true);
  });

  test("an image that was read as text does not count as seen", async () => {
    const length = (body: object) => Math.round(JSON.stringify(body).length / 4);
    const reading = chat({ count: length });
    expect((await report(vllm({ "POST /v1/chat/completions": reading }))).vision).toBe(false);
  });

  test("SGLang: its start parameters, without its key", async () => {
    const found = await report(sglang());
    expect(found).toMatchObject({
      ...{ kind: "SGLang", version: "0.5.3", context_window: 131_072 },
      ...{ tools: true, vision: false, reasoning: true },
      reasoning_on: { chat_template_kwargs: { thinking: true } },
      reasoning_off: { chat_template_kwargs: { thinking: false } },
      ...{ requests_max: 256, waiting_max: 1_000, count_route: null },
    });
    expect(JSON.stringify(found)).not.toContain("sk-sglang-secret");
  });

  test.each([null, " \n"])(
    "a reply of %j to a schema leaves its support unknown",
    async (content) => {
      const silent = chat({ say: (body) => (body.response_format ? { content } : {}) });
      const found = await report(vllm({ "POST /v1/chat/completions": silent }));
      expect(found.structured_outputs).toBeNull();
    },
  );

  test("SGLang: tools are tried where its tool parser is not said", async () => {
    const args = { reasoning_parser: "deepseek-v3", version: "0.5.3" };
    const found = await report(sglang({ "GET /get_server_info": () => args }));
    expect(found).toMatchObject({ kind: "SGLang", tools: true });
  });

  test("SGLang: a newer version has other route names, and may lack a parser", async () => {
    const { "GET /get_model_info": info, "GET /get_server_info": _, ...rest } = sglang();
    const args = { tool_call_parser: null, reasoning_parser: null, version: "0.6.0" };
    const routes = { ...rest, "GET /model_info": info!, "GET /server_info": () => args };
    const found = await report(routes);
    expect(found).toMatchObject({ kind: "SGLang", version: "0.6.0", tools: false });
    // Its template supports the word all the same.
    expect(found.reasoning_on).toEqual({ chat_template_kwargs: { thinking: true } });
  });

  test("llama.cpp: nearly all from /props, although it also offers Ollama's routes", async () => {
    expect(await report(llamaServer())).toMatchObject({
      ...{ kind: "llama.cpp", version: "b6730-e60f241ea", context_window: 8_192 },
      ...{ tools: false, vision: true, reasoning: null, structured_outputs: true },
      ...{ requests_max: 2, tool_choice_by_name: false },
      count_route: "/v1/chat/completions/input_tokens",
    });
  });

  test("a llama.cpp router is queried with the name of the one model", async () => {
    const { "GET /props": props, ...rest } = llamaServer();
    const settings = { params: {}, n_ctx: 0 };
    const router = { role: "router", default_generation_settings: settings, build_info: "b6730" };
    const found = await report({
      ...rest,
      "GET /props": (body, request) => {
        const query = new URL(request.url).searchParams;
        if (query.get("model") === null) return router;
        expect(query.get("autoload")).toBe("false");
        return props!(body, request);
      },
    });
    expect(found).toMatchObject({ version: "b6730", context_window: 8_192, vision: true });
  });

  test("llama-cpp-python is recognised by the owner in its list", async () => {
    const card = { id: "tiny", object: "model", owned_by: "me", permissions: [] };
    const found = await report({
      "GET /v1/models": () => ({ object: "list", data: [card] }),
      "GET /openapi.json": () => ({
        info: { title: "🦙 llama.cpp Python API", version: "0.3.36" },
      }),
      "POST /v1/chat/completions": chat({ tellsUsage: false, holdsSchema: false }),
    });
    expect(found).toMatchObject({
      ...{ kind: "llama-cpp-python", version: "0.3.36", context_window: null },
      ...{ usage: "whole replies", structured_outputs: false, health_route: "/v1/models" },
    });
  });

  test("Ollama: each model's abilities, and its loaded window", async () => {
    expect(await report(ollama())).toMatchObject({
      ...{ kind: "Ollama", version: "0.12.6", model: "qwen3:8b", context_window: 8_192 },
      ...{ tools: true, vision: false, reasoning: true },
      reasoning_off: { reasoning_effort: "none" },
      ...{ count_route: null, health_route: "/api/version" },
    });
    const { serves } = await report(ollama(), "nomic-embed-text:latest");
    expect(serves).toBe("embeddings");
  });

  test("Text Embeddings Inference serves embeddings, and gets one request for them and no chat", async () => {
    const { root, bodies } = start(textEmbeddings());
    const probed = await probe(root);
    expect(probed.ok && probed.report).toMatchObject({
      ...{ kind: "Text Embeddings Inference", version: "1.8.2", serves: "embeddings" },
      ...{ model: "BAAI/bge-m3", models: [], context_window: 8_192, requests_max: 512 },
      ...{ embeddings: { kind: "tei", dimensions: 1_024 }, notes: [] },
    });
    // Its one model needs no name.
    expect(bodies).toEqual([{ input: ["Hi"], encoding_format: "float" } as object]);
  });

  test("a model without chat that makes vectors serves embeddings", async () => {
    const noChat = { "POST /v1/chat/completions": () => refuse(400, "no chat template") };
    const routes = vllm({ ...noChat, "POST /v1/embeddings": embedding(768) });
    expect(await report(routes)).toMatchObject({
      ...{ kind: "vLLM", serves: "embeddings", model: "Qwen/Qwen3-32B", count_route: null },
      embeddings: { kind: "openai", dimensions: 768 },
    });
    const neither = await report(vllm(noChat));
    expect(neither).toMatchObject({ serves: "chat", embeddings: null });
    expect(neither.notes).toContain("one token was not answered: it answered with status 400");
  });

  test("an embedding server that makes none gives the reason, and stays one", async () => {
    const says = async (answer: Routes[string]) => {
      const routes = textEmbeddings({ "POST /v1/embeddings": answer });
      const { serves, embeddings, notes } = await report(routes);
      expect([serves, embeddings]).toEqual(["embeddings", { kind: "tei", dimensions: null }]);
      return notes;
    };
    const note = "no vector was made of one word: ";
    expect(await says(() => refuse(424, "down"))).toEqual([`${note}it answered with status 424`]);
    const strange = `${note}its answer is no embedding`;
    expect(await says(() => ({ data: [{ embedding: "AACAPw==" }] }))).toEqual([strange]);
    expect(await says(() => ({ data: [{ embedding: [1, "2"] }] }))).toEqual([strange]);
    expect(await says(() => ({ data: [] }))).toEqual([strange]);
  });

  test("Text Generation Inference: its limits and its own count", async () => {
    expect(await report(textGeneration())).toMatchObject({
      ...{ kind: "Text Generation Inference", version: "3.3.4", context_window: 8_192 },
      ...{ tools: true, vision: false, requests_max: 128, count_route: "/chat_tokenize" },
    });
  });

  test("any other server with a list of models is a chat-completions server", async () => {
    const list = { object: "list", data: [{ id: "gpt-x", object: "model", owned_by: "acme" }] };
    const { root } = start({
      "GET /openai/models": () => list,
      "POST /openai/chat/completions": chat({ count: (body) => (body.tools ? 9 : 0) }),
    });
    const probed = await probe(`${root}/openai`);
    expect(probed.ok && probed.report).toMatchObject({
      ...{ url: `${root}/openai`, kind: "a server of chat completions", is_self_hosted: false },
      ...{ model: "gpt-x", tools: true, context_window: null, health_route: null },
    });
  });
});

test("an address is accepted as it was pasted from a client", async () => {
  const { root } = start(vllm());
  for (const path of ["", "/", "/v1", "/v1/", "/v1/models", "/v1/chat/completions"]) {
    const probed = await probe(root + path);
    expect(probed.ok && probed.report.url).toBe(`${root}/v1`);
  }
});

test("one of several models is selected by its name; an unknown name is refused", async () => {
  const found = await report(ollama(), "qwen3:8b");
  expect([found.model, found.models]).toEqual([
    "qwen3:8b",
    ["qwen3:8b", "nomic-embed-text:latest"],
  ]);
  const { root } = start(ollama());
  expect(says(await probe(root, "qwen"))).toContain("it has qwen3:8b, nomic-embed-text:latest");
});

test("a server that produces no token is described, with a note", async () => {
  const broken = () => new Response("boom", { status: 500 });
  const found = await report(vllm({ "POST /v1/chat/completions": broken }));
  expect(found).toMatchObject({ context_window: 40_960, tools: null, answered_ms: null });
  expect(found.notes).toContain("one token was not answered: it answered with status 500");
});

describe("a server that is no model server is described as what it is", () => {
  const page = () =>
    new Response("<!doctype html><title>Hi</title>", { headers: { "content-type": "text/html" } });
  const strangers: [title: string, list: () => object, says: string][] = [
    ["a page", page, "a page, no model server"],
    ["garbage", () => new Response("\0\x01{{{"), "no models in it"],
    ["an invalid list", () => ({ data: { id: 7 } }), "no models in it"],
    ["invalid names", () => ({ data: [null, { id: "" }, { id: "\x1b[31m" }] }), "no models"],
    ["a nest", () => new Response("[".repeat(100_000)), "no models in it"],
    ["a flood", () => new Response("x".repeat(2_000_000)), "too large"],
    ["another place", () => Response.redirect("http://127.0.0.1:1/v1/models", 302), "(302)"],
    ["one that loads", () => refuse(503, "Loading model"), "may still be loading"],
    ["a wrong address", () => refuse(404, "Not Found"), "status 404"],
  ];
  for (const [title, list, expected] of strangers) {
    test(title, async () => {
      const { root } = start({ "GET /v1/models": list });
      expect(says(await probe(root))).toContain(expected);
    });
  }

  test("an unreachable server", async () => {
    const { root, stop } = startModelServer({});
    await stop();
    expect(says(await probe(root))).toBe("no server listens there");
  });

  test("a server that never answers is given up in time", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { root } = start({
      "GET /v1/models": () => {
        resolve();
        return new Promise<Response>(() => {});
      },
    });
    const probed = probe(root);
    await promise;
    await clock.advance(5_000);
    expect(says(await probed)).toBe("it did not answer in time");
  });

  test("a server whose chats hang takes no longer than the probe's timeout", async () => {
    const waiting: (() => void)[] = [];
    const hang = () => {
      for (const tell of waiting.splice(0)) tell();
      return new Promise<Response>(() => {});
    };
    const { root } = start(vllm({ "POST /v1/chat/completions": hang }));
    const hung = new Promise<void>((resolve) => waiting.push(resolve));
    const probed = probe(root);
    await hung;
    await clock.advance(20_000);
    const found = await probed;
    expect(found.ok && found.report.notes).toContain(
      "one token was not answered: it did not answer in time",
    );
  });
});

test("a model that has to be loaded first is waited for, and fully probed", async () => {
  const asked = Promise.withResolvers<void>();
  const loaded = Promise.withResolvers<void>();
  const routes = vllm();
  const { root } = start({
    ...routes,
    "POST /v1/chat/completions": async (body, request) => {
      asked.resolve();
      await loaded.promise;
      return routes["POST /v1/chat/completions"]!(body, request);
    },
  });
  const probed = probe(root);
  await asked.promise;
  await clock.advance(15_000);
  loaded.resolve();
  const found = await probed;
  expect(found.ok && found.report).toMatchObject({ answered_ms: 15_000, tools: true });
});

test("the last model of a very long list can be selected by its name", async () => {
  const data = Array.from({ length: 3_000 }, (_, i) => ({ id: `m${i}`, owned_by: "vllm" }));
  const routes = { ...vllm(), "GET /v1/models": () => ({ data }) };
  const found = await report(routes, "m2999");
  expect([found.model, found.models.length]).toEqual(["m2999", 200]);
  const known = "m0, m1, m2, m3, m4, m5, m6, m7";
  expect(says(await probe(start(routes).root, "m"))).toBe(`it has no model "m": it has ${known}`);
});

test("llama.cpp without --jinja refuses the tools that its template supports", async () => {
  const refusal = () => refuse(500, "tools param requires --jinja flag");
  const chats = chat({ judge: (body) => (body.tools ? refusal() : undefined) });
  const found = await report(
    llamaServer({
      "GET /props": () => ({
        ...{ default_generation_settings: { n_ctx: 2_048 }, total_slots: 4 },
        chat_template_caps: { supports_tools: true, supports_tool_calls: true },
      }),
      "POST /v1/chat/completions": chats,
    }),
  );
  expect(found.tools).toBe(false);
});

test("Ollama's window is unknown before its model is loaded, which is noted", async () => {
  const found = await report(ollama({ "GET /api/ps": () => ({ models: [] }) }));
  expect(found.context_window).toBeNull();
  expect(found.notes.join()).toContain("probe it again");
});

describe("a server with a key", () => {
  test("reports that it needs one, or refuses this one", async () => {
    const { root } = start(behindKey(vllm(), "sk-right"));
    expect(says(await probe(root))).toContain("--api-key-env");
    expect(says(await probe(root, null, "sk-wrong"))).toBe("it refuses this key");
  });

  test("gets it with every request", async () => {
    const { root } = start(behindKey(sglang(), "sk-right"));
    const probed = await probe(root, null, "sk-right");
    expect(probed.ok && probed.report.version).toBe("0.5.3");
  });
});

test("what is known is not tried, and a trial without a reply leaves what it tried unknown", async () => {
  const bodies: object[] = [];
  const reply = { failure: null, text: null, date: null, tookMs: 5 };
  const client: ProbeClient = {
    get: () => Promise.reject(new Error("it only asks the model")),
    async post(_, body) {
      bodies.push(body);
      const json = { choices: [{ message: { content: "a" } }], usage: { prompt_tokens: 9 } };
      if (bodies.length === 1) return { ...reply, status: 200, json };
      return { ...reply, status: null, failure: "reset", json: null };
    },
    signal: new AbortController().signal,
    end() {},
  };
  const known = { tools: null, vision: null, reasoning: false, structured_outputs: null };
  const switches = { reasoning_on: null, reasoning_off: null };
  expect(await testCapabilities(client, "http://h/v1", "m", { ...known, ...switches })).toEqual({
    ...{ answered_ms: 5, reason: null, streaming: null, usage: "whole replies" },
    ...{ ...known, ...switches },
  });
  expect(JSON.stringify(bodies)).not.toContain("chat_template_kwargs");
});
