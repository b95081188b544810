// Tests that the block of a probe is valid, whatever the server's replies.
import { afterEach, describe, expect, test } from "bun:test";
import { probeModel } from "../../src/admin/index.ts";
import { nameModel } from "../../src/admin/probe.ts";
import { readSettings } from "../../src/settings/index.ts";
import { createManualClock } from "../support/clock.ts";
import {
  chat,
  embedding,
  llamaServer,
  ollama,
  type Routes,
  sglang,
  startModelServer,
  textEmbeddings,
  textGeneration,
  vllm,
} from "../support/model-servers.ts";

const clock = createManualClock();
const started: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
});

async function probe(routes: Routes, options: Partial<Parameters<typeof probeModel>[0]> = {}) {
  const server = startModelServer(routes);
  started.push(server);
  const nothing = { model: undefined, id: undefined, api_key_env: undefined, api_key: undefined };
  const result = await probeModel({ url: server.root, ...nothing, ...options }, clock);
  return { ...result, root: server.root };
}
const readModel = (block: string | null) => {
  const settings = readSettings(block!, "wadi.toml", {}, {}, { wantsApiKeys: false });
  return settings.models[0]!;
};

test.each([
  "ftp://host/v1",
  "http://me:word@host/v1",
  "http://me@host/v1",
  "http://:word@host/v1",
  "host/v1?key=secret",
  "host/v1#part",
  'host/"v1',
  "http://",
])("the address %s is refused without an echo", async (url) => {
  await expect(probe(vllm(), { url })).rejects.toThrow(
    /^the address is one of http or https without user, query or fragment, such as http:\/\/10/,
  );
});

test("vLLM's block parses, and holds the model's window, abilities and switch", async () => {
  const key = { api_key_env: "QWEN_KEY", api_key: "sk-secret" };
  const { id, block, root } = await probe(vllm(), key);
  expect(id).toBe("qwen3-32b");
  expect(readModel(block)).toMatchObject({
    ...{ id: "qwen3-32b", self_hosted: true, context_window: 40_960 },
    capabilities: ["streaming", "tools", "reasoning", "structured_outputs"],
    upstream: {
      ...{ kind: "openai", urls: [`${root}/v1`], model: "Qwen/Qwen3-32B" },
      ...{ api_key_env: "QWEN_KEY", tool_choice_by_name: true },
      reasoning_on: { chat_template_kwargs: { enable_thinking: true } },
      reasoning_off: { chat_template_kwargs: { enable_thinking: false } },
    },
  });
  expect(block).not.toContain("sk-secret");
});

test("the block of every kind parses as settings", async () => {
  for (const routes of [vllm(), sglang(), llamaServer(), ollama(), textGeneration()]) {
    const { block, report } = await probe(routes);
    const { context_window, upstream } = readModel(block);
    expect(context_window).toBe(report.context_window);
    expect(upstream).toMatchObject({ max_in_flight: report.requests_max ?? 0 });
  }
});

test("a server that takes any number of requests gets the maximum of the setting", async () => {
  for (const [max_concurrent_requests, max_in_flight] of [
    [100_000, 100_000],
    [100_001, 100_000],
  ]) {
    const routes = textGeneration();
    const info = routes["GET /info"]!;
    routes["GET /info"] = (...asked) => ({
      ...(info(...asked) as object),
      max_concurrent_requests,
    });
    const { block } = await probe(routes);
    expect(readModel(block).upstream).toMatchObject({ max_in_flight });
  }
});

test("a small window leaves room for a reply without a requested length", async () => {
  const card = { id: "tiny", owned_by: "vllm", max_model_len: 512 };
  const { block } = await probe(vllm({ "GET /v1/models": () => ({ data: [card] }) }));
  expect(readModel(block)).toMatchObject({ context_window: 512, default_max_tokens: 256 });
});

test.each([
  [1, "1"],
  [1_024, "512"],
  [1_025, null],
])("a window of %i tokens gets %p as length of a reply", async (max_model_len, length) => {
  const card = { id: "small", owned_by: "vllm", max_model_len };
  const { block } = await probe(vllm({ "GET /v1/models": () => ({ data: [card] }) }));
  expect(block!.match(/^default_max_tokens = (\d+)$/m)?.[1] ?? null).toBe(length);
});

test.each(["sk-se cret", "sk-secret\nx", "", "schlüssel"])(
  "a key that is no line of ASCII is refused without being shown: %p",
  async (api_key) => {
    const request = { api_key, api_key_env: "QWEN_KEY" };
    const failure = await probe(vllm(), request).catch((error) => error);
    expect(failure.message).toBe("QWEN_KEY holds no key in one line of ASCII");
  },
);

test("an unknown fact is a comment, and no setting", async () => {
  const list = { data: [{ id: "gpt-x", owned_by: "acme" }] };
  const { block } = await probe({
    "GET /v1/models": () => list,
    "POST /v1/chat/completions": chat({ tellsUsage: false }),
  });
  expect(readModel(block)).toMatchObject({ self_hosted: false, context_window: null });
  expect(block).toContain("# It does not report its window");
  expect(block).toContain("# It tells usage only in whole replies");
});

test("a server's text cannot break out of its comment or string", async () => {
  const id = 'a"]\\b"""';
  const card = { id, owned_by: "vllm", max_model_len: 4_096 };
  const { block } = await probe(
    vllm({
      "GET /v1/models": () => ({ data: [card] }),
      "GET /version": () => ({ version: "1\n[server]\nport = 1" }),
    }),
  );
  const model = readModel(block);
  expect(model.upstream.kind === "openai" && model.upstream.model).toBe(id);
  expect(block).not.toContain("[server]");
});

describe("an embedding server", () => {
  const info = textEmbeddings()["GET /info"]!;
  const renamed = (model_id: string, dimensions: number) =>
    textEmbeddings({
      "GET /info": async (...asked) => ({ ...(await info(...asked)), model_id }),
      "POST /v1/embeddings": embedding(dimensions),
    });
  const readEmbeddings = (block: string | null) =>
    readSettings(block!, "wadi.toml", {}, {}, { wantsApiKeys: false }).embeddings;

  test("has a valid table, with the address before /v1 for TEI", async () => {
    const key = { api_key_env: "TEI_KEY", api_key: "sk-secret" };
    const { id, block, unfit, root } = await probe(textEmbeddings(), key);
    expect([id, unfit]).toEqual([null, null]);
    expect(readEmbeddings(block)).toMatchObject({
      ...{ kind: "tei", urls: [root], model: "BAAI/bge-m3", api_key_env: "TEI_KEY" },
    });
    expect(block).toStartWith(
      "# Text Embeddings Inference 1.8.2\n# Its model is BAAI/bge-m3.\n[embeddings]\n",
    );
    expect(block).not.toContain("sk-secret");
  });

  test("has a table of kind openai if it is not TEI", async () => {
    const routes = ollama({ "POST /v1/embeddings": embedding() });
    const { block, root } = await probe(routes, { model: "nomic-embed-text:latest" });
    expect(readEmbeddings(block)).toMatchObject({
      ...{ kind: "openai", urls: [`${root}/v1`], model: "nomic-embed-text:latest" },
    });
  });

  test("with another model gives a warning, and with another width is not written", async () => {
    const other = await probe(renamed("intfloat/multilingual-e5-large", 1_024));
    expect(other.unfit).toBeNull();
    expect(other.block).toContain("# Callers expect bge-m3, which makes other vectors");
    expect(readEmbeddings(other.block).kind).toBe("tei");
    const narrow = await probe(renamed("BAAI/bge-m3-retromae", 768));
    const says = "its vectors have 768 numbers, and callers are promised 1024";
    expect(narrow.unfit).toBe(says);
    expect(narrow.block).toContain(`# It cannot serve: ${says}.\n`);
    expect(narrow.block).not.toContain("Callers are told");
  });

  test("cannot break out of its comment, and has no id to choose", async () => {
    const { block } = await probe(renamed("x\n[server]\nport = 1", 1_024));
    expect(block).not.toContain("[server]");
    await expect(probe(textEmbeddings(), { id: "e" })).rejects.toThrow("leave --id out");
  });

  test("that only ranks has no block", async () => {
    const ranks = textEmbeddings({ "GET /info": () => ({ model_type: { reranker: {} } }) });
    expect(await probe(ranks)).toMatchObject({ id: null, block: null, unfit: null });
  });
});

describe("an address", () => {
  test("needs no http:// and no /v1", async () => {
    const { report, root } = await probe(vllm());
    expect(report.url).toBe(`${root}/v1`);
    const bare = { url: root.slice("http://".length) };
    expect((await probe(vllm(), bare)).report.url).toBe(`${root}/v1`);
  });

  for (const url of [
    "ftp://h/v1",
    "http://u:p@h/v1",
    "http://h/v1?key=1",
    "http://",
    "http://a b",
  ]) {
    test(`is refused without being quoted: ${url}`, async () => {
      const problem = await probe({}, { url }).catch((failure) => failure);
      expect(problem.message).toStartWith("the address is one of http or https");
    });
  }
});

test("an id is chosen, or made from the last word of the name", async () => {
  expect((await probe(vllm(), { id: "q" })).block).toContain('id = "q"\n');
  const longest = "q".repeat(128);
  expect((await probe(vllm(), { id: longest })).id).toBe(longest);
  for (const id of ["-q", "", `${longest}q`]) {
    await expect(probe(vllm(), { id })).rejects.toThrow("an id is 1 to 128");
  }
  expect(nameModel(`${longest}q`)).toBe(longest);
  expect(
    [
      "Qwen/Qwen3-32B",
      "/models/Tiny.gguf",
      "llama3.2:latest",
      "qwen3:8b",
      "C:\\m\\a b.gguf",
      "模型",
    ].map(nameModel),
  ).toEqual(["qwen3-32b", "tiny", "llama3.2", "qwen3:8b", "a-b", "model-1"]);
});
