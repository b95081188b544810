// Tests that texts over 4,096 tokens are cut there, by each kind's own means, and no others.
import { describe, expect, test } from "bun:test";
import { shortenByUsage } from "../../../../src/gateway/embeddings/provider/batch.ts";
import {
  type EmbeddingRoutes,
  llama,
  ollama,
  tei,
  tokenize,
  vectorOf,
  vllm,
} from "../../../support/embedding-servers.ts";
import { bodiesOf, connect, expectFailure, expectGood, serve, writeText } from "./connect.ts";

const LONG = writeText(6_000);
/** With its two special tokens as long as a text may be, and long enough to be counted. */
const FITTING = writeText(4_094, "fit");
const cutIds = (text: string) => [...tokenize(text).slice(0, 4_095), 2];

const KINDS: [name: string, kind: string, routes: () => EmbeddingRoutes, path: string][] = [
  ["vLLM", "openai", vllm, "/v1/embeddings"],
  ["llama.cpp", "openai", llama, "/v1/embeddings"],
  ["Ollama", "openai", ollama, "/api/embed"],
  ["TEI", "tei", tei, "/v1/embeddings"],
];

describe.each(KINDS)("%s", (name, kind, routes, path) => {
  test("gateway.limits.embeddings_input: gets the first 4,096 tokens of a longer text", async () => {
    const server = serve(routes());
    const { embed } = connect([server.url], "", kind);
    const inputs = ["short", LONG, FITTING, `${LONG} and more`];
    const embedded = await expectGood(embed(inputs));
    const read = [tokenize("short"), cutIds(LONG), tokenize(FITTING), cutIds(LONG)];
    expect(read.map((ids) => ids.length)).toEqual([3, 4_096, 4_096, 4_096]);
    for (const [at, ids] of read.entries()) {
      expect(embedded.vectors[at]).toEqual(vectorOf(ids));
    }
    // gateway.endpoints.embeddings.p2
    expect(embedded.prompt_tokens).toBe(3 + 3 * 4_096);
    expect(embedded.usageEstimated).toBeUndefined();
    const batches = bodiesOf(server, `POST ${path}`).map(({ input }) => input);
    expect(batches).toEqual(
      name === "Ollama"
        ? [inputs]
        : [
            ["short", FITTING],
            [cutIds(LONG), cutIds(LONG)],
          ],
    );
  });

  test("gets no token count for a text that fits by its bytes", async () => {
    const server = serve(routes());
    const { embed } = connect([server.url], "", kind);
    const text = "x".repeat(4_092);
    await expectGood(embed([text, "ﷺ".repeat(100)]));
    expect(server.asked.map((one) => one.name)).toEqual([
      kind === "tei" ? "GET /info" : "GET /api/version",
      `POST ${path}`,
    ]);
  });
});

test("a text is counted if its NFKC form for bge-m3 may be longer than its bytes", async () => {
  const server = serve(vllm());
  const { embed } = connect([server.url]);
  await expectGood(embed(["ﷺ".repeat(130), "x".repeat(4_093), "é".repeat(2_047)]));
  expect(bodiesOf(server, "POST /tokenize").map(({ prompt }) => (prompt as string)[0])).toEqual([
    ...["ﷺ", "x", "é"],
  ]);
});

describe("the kind of a server", () => {
  test("is detected once, and again after ten minutes", async () => {
    const server = serve(vllm());
    const { embed, clock } = connect([server.url]);
    await expectGood(embed([LONG]));
    const names = () => server.asked.splice(0).map(({ name }) => name.replace(/.* /, ""));
    const first = ["/api/version", "/tokenize", "/tokenize", "/tokenize", "/v1/embeddings"];
    expect(names()).toEqual(first);
    await clock.advance(599_999);
    await expectGood(embed([LONG]));
    expect(names()).toEqual(["/tokenize", "/v1/embeddings"]);
    await clock.advance(1);
    await expectGood(embed([LONG]));
    expect(names()).toEqual(first);
  });

  test("is detected for Ollama before the first text, so that its model is loaded with one window", async () => {
    const server = serve(ollama());
    const { embed } = connect([server.url]);
    await expectGood(embed(["short"]));
    await expectGood(embed([LONG]));
    const bodies = bodiesOf(server, "POST /api/embed");
    expect(bodies.map(({ options }) => options)).toEqual([
      { num_ctx: 4_096, num_batch: 4_096 },
      { num_ctx: 4_096, num_batch: 4_096 },
    ]);
    expect(bodies.map(({ truncate }) => truncate)).toEqual([true, true]);
    expect(bodiesOf(server, "POST /v1/embeddings")).toEqual([]);
  });

  test("is not that of an error which names a version", async () => {
    const refuse = () => Response.json({ version: "1.25" }, { status: 404 });
    const server = serve({ ...vllm(), "GET /api/version": refuse });
    const { embed } = connect([server.url]);
    await expectGood(embed(["short"]));
    expect(bodiesOf(server, "POST /v1/embeddings")).toHaveLength(1);
  });

  test("may change: a server may lose its tokenize route", async () => {
    const server = serve(vllm());
    const { embed } = connect([server.url]);
    await expectGood(embed([LONG]));
    server.routes = llama();
    const embedded = await expectGood(embed([LONG]));
    expect(embedded.vectors[0]).toEqual(vectorOf(cutIds(LONG)));
  });

  test.each([503, 429])("is not detected while a server is busy with status %d", async (status) => {
    const server = serve(ollama());
    const { embed, clock } = connect([server.url]);
    server.instead = () => Response.json({ error: "loading" }, { status });
    expect((await expectFailure(embed(["a"]))).code).toBe("upstream_rate_limited");
    server.instead = () => undefined;
    await clock.advance(10_000);
    await expectGood(embed(["a"]));
    expect(bodiesOf(server, "POST /api/embed").length).toBe(1);
  });
});

test("texts that each fit share a request, whatever the total of their tokens", async () => {
  const server = serve(vllm());
  const { embed } = connect([server.url]);
  const inputs = [FITTING, writeText(4_094, "two")];
  const embedded = await expectGood(embed(inputs));
  expect(embedded.vectors).toEqual(inputs.map((text) => vectorOf(tokenize(text))));
  expect(embedded.prompt_tokens).toBe(2 * 4_096);
  expect(bodiesOf(server, "POST /v1/embeddings").map(({ input }) => input)).toEqual([inputs]);
});

test("a text that is cut by usage never ends with half a character", () => {
  for (const content of ["😀".repeat(4_000), `x${"😀".repeat(4_000)}`]) {
    const [part] = shortenByUsage([{ index: 0, content, tokens: null, isAlone: true }], 5_000, 0)!;
    const kept = part!.content as string;
    expect([kept.isWellFormed(), content.startsWith(kept)]).toEqual([true, true]);
    expect(kept.length).toBeLessThan(6_500);
    expect(kept.length).toBeGreaterThan(6_400);
  }
});

describe("a server without a token count", () => {
  const bare = (window: number) => ({
    "POST /v1/embeddings": vllm({ window })["POST /v1/embeddings"]!,
  });

  test("gets the whole text, and its routes are tried again after ten minutes", async () => {
    const server = serve(bare(100_000));
    const { embed, clock } = connect([server.url]);
    await expectGood(embed([FITTING]));
    await expectGood(embed([FITTING]));
    expect(bodiesOf(server, "POST /tokenize").length).toBe(2);
    expect(bodiesOf(server, "POST /v1/embeddings").map(({ input }) => input)).toEqual([
      [FITTING],
      [FITTING],
    ]);
    await clock.advance(600_000);
    await expectGood(embed([FITTING]));
    expect(bodiesOf(server, "POST /tokenize").length).toBe(4);
  });

  test("gateway.limits.embeddings_input: that reports more tokens gets a shorter text", async () => {
    const server = serve(bare(100_000));
    const { embed } = connect([server.url]);
    const uneven = `${"x ".repeat(3_500)}${"and much longer words ".repeat(800)}`;
    const inputs = ["short", LONG, FITTING, uneven, "a"];
    const embedded = await expectGood(embed(inputs));
    const read = bodiesOf(server, "POST /v1/embeddings").map(({ input }) => input as string[]);
    expect(read[0]).toEqual(["short", "a"]);
    expect(read.slice(1).every((input) => input.length === 1)).toBe(true);
    const ends = inputs.map((text, at) => {
      const tries = read.slice(1).flatMap(([one]) => (text.startsWith(one!) ? one! : []));
      const ids = tokenize(tries.at(-1) ?? text);
      expect(embedded.vectors[at]).toEqual(vectorOf(ids));
      return ids.length;
    });
    expect(embedded.prompt_tokens).toBe(ends.reduce((sum, count) => sum + count, 0));
    expect([ends[0], ends[2], ends[4]]).toEqual([3, 4_096, 3]);
    for (const at of [1, 3]) {
      expect(ends[at]).toBeLessThanOrEqual(4_096);
      expect(ends[at]).toBeGreaterThan(3_900);
    }
  });

  test("that reports an impossible usage gets a text that surely fits, and no more", async () => {
    const server = serve(bare(100_000));
    const { "POST /v1/embeddings": answer } = bare(100_000);
    server.routes["POST /v1/embeddings"] = async (body, asked) => ({
      ...((await answer(body, asked)) as object),
      usage: { prompt_tokens: 1e12 },
    });
    await expectGood(connect([server.url]).embed(["😀".repeat(4_000), "short"]));
    const sent = bodiesOf(server, "POST /v1/embeddings").map(({ input }) => input as string[]);
    expect(sent.map(([text]) => text!.length)).toEqual([5, 8_000, 2_046]);
  });

  test("that refuses a text for its length gets a shorter one, at most twice", async () => {
    const server = serve(bare(4_096));
    const { embed } = connect([server.url]);
    const short = "short";
    const embedded = await expectGood(embed([LONG, short]));
    const sent = bodiesOf(server, "POST /v1/embeddings").map(({ input }) => input as string[]);
    expect(sent.slice(0, 2)).toEqual([[short], [LONG]]);
    expect(sent.length).toBe(3);
    const [cut] = sent[2]!;
    expect(LONG.startsWith(cut!)).toBe(true);
    expect(embedded.vectors).toEqual([vectorOf(tokenize(cut!)), vectorOf(tokenize(short))]);
  });

  test("gets a text that surely fits before the request fails", async () => {
    const server = serve(bare(0));
    const { embed } = connect([server.url]);
    const failure = await expectFailure(embed(["中".repeat(9_000)]));
    expect(failure).toMatchObject({
      code: "upstream_error",
      retryable: true,
      upstreamStatus: 400,
    });
    const sent = bodiesOf(server, "POST /v1/embeddings").map(({ input }) => input as string[]);
    expect(sent.map(([text]) => text!.length)).toEqual([9_000, 4_388, 1_364]);
  });

  test("may report the length by 413 alone", async () => {
    const server = serve(bare(100_000));
    server.instead = ({ name, body }) =>
      name === "POST /v1/embeddings" && JSON.stringify(body).length > 20_000
        ? new Response("<html>413 Request Entity Too Large</html>", { status: 413 })
        : undefined;
    const { embed } = connect([server.url]);
    await expectGood(embed([LONG]));
  });
});

describe("a server with too short a window", () => {
  test("fails with advice for the operator: a counted text is not cut further", async () => {
    const server = serve(vllm({ window: 2_048 }));
    const { embed } = connect([server.url]);
    const failure = await expectFailure(embed([FITTING]));
    expect(failure).toMatchObject({
      code: "upstream_error",
      reason: "its window is shorter than what is cut at",
    });
    expect(bodiesOf(server, "POST /v1/embeddings").length).toBe(1);
  });

  test("of llama.cpp fails with advice on -ub", async () => {
    const server = serve(llama({ ubatch: 512 }));
    const { embed } = connect([server.url]);
    const failure = await expectFailure(embed([writeText(600)]));
    expect(failure).toMatchObject({ code: "upstream_error", upstreamStatus: 500 });
    expect(failure.reason).toContain("-ub");
  });
});
