// Tests the errors of embedding servers, in their own formats, and the callers' codes.
import { describe, expect, test } from "bun:test";
import { ollama, tei, vllm } from "../../../support/embedding-servers.ts";
import { findClosedPort } from "../../../support/ports.ts";
import { CANARY } from "../../../support/reply-faults.ts";
import { bodiesOf, connect, expectFailure, expectGood, serve, writeText } from "./connect.ts";

const PATH = "POST /v1/embeddings";
const openai = (message: string, code: number) => ({ error: { message, type: "x", code } });

type Case = [
  what: string,
  status: number,
  body: unknown,
  code: string,
  retryable: boolean,
  headers?: Record<string, string>,
];
const BUSY = "upstream_rate_limited";
const CASES: Case[] = [
  ["an unknown key", 401, openai("Unauthorized", 401), "model_unavailable", true],
  ["a key without rights", 403, openai("Forbidden", 403), "model_unavailable", true],
  ["vLLM without the model", 404, openai("does not exist", 404), "model_unavailable", true],
  ["a bad request", 400, openai("[{'type': 'missing'}]", 400), "upstream_error", false],
  ["TEI's tokenizer", 422, { message: "x", code: 422, type: "Tokenizer" }, "upstream_error", false],
  ["TEI's crash", 424, { message: "CUDA", code: 424, type: "Backend" }, "upstream_error", true],
  ["TEI's crash, flat", 424, { error: "x", error_type: "Backend" }, "upstream_error", true],
  ["TEI's overload", 429, { message: "x", code: 429, type: "Overloaded" }, BUSY, true],
  ["a provider's limit", 429, openai("Rate limit", 429), BUSY, true],
  ["llama.cpp while it loads", 503, openai("Loading model", 503), BUSY, true],
  ["Ollama's full line", 503, { error: "maximum pending requests exceeded" }, BUSY, true],
  ["SGLang's full line", 503, { object: "error", message: "queue is full" }, BUSY, true],
  ["a proxy without a server", 502, "<html>", "upstream_error", true],
  ["a proxy's patience", 504, "<html>", "upstream_timeout", true],
  ["a crash", 500, openai("CUDA out of memory", 500), "upstream_error", true],
  ["another place", 302, "", "upstream_error", true, { location: "/elsewhere" }],
];

describe("a refusal", () => {
  test.each(CASES)("by %s (%i) has its code", async (...row) => {
    const [, status, body, code, retryable, headers] = row;
    const server = serve(vllm());
    const text = `${typeof body === "string" ? body : JSON.stringify(body)} ${CANARY}`;
    server.instead = ({ name }) =>
      name === PATH ? new Response(text, { status, headers }) : undefined;
    const { embed, log } = connect([server.url]);
    const failure = await expectFailure(embed(["a"]));
    expect(failure).toMatchObject({ code, retryable, upstreamStatus: status });
    expect(JSON.stringify([failure, log])).not.toContain("canary");
    server.instead = () => undefined;
    await expectGood(embed(["a"]));
  });

  test("of an unknown model by Ollama is a missing model", async () => {
    const server = serve(ollama({ model: "another" }));
    const failure = await expectFailure(connect([server.url]).embed(["a"]));
    expect(failure.code).toBe("model_unavailable");
  });

  test("by TEI's /info fails the whole request", async () => {
    const { embed, clock } = connect([serveIll(500)], "", "tei");
    expect(await expectFailure(embed(["a"]))).toMatchObject({ code: "upstream_error" });
    await clock.advance(0);
  });

  test.each([
    ["429", 429, BUSY],
    ["503", 503, BUSY],
  ])("of a token count with %s fails the request: an uncut text is not sent", async (...row) => {
    const [, status, code] = row;
    const server = serve(vllm());
    server.instead = ({ name }) =>
      name === "POST /tokenize" ? new Response("", { status }) : undefined;
    const failure = await expectFailure(connect([server.url]).embed([writeText(6_000)]));
    expect(failure).toMatchObject({ code, retryable: true });
    expect(bodiesOf(server, PATH)).toEqual([]);
  });

  test.each([400, 401, 422, 500])(
    "of a token count with %i, by a server not known to count, leaves the decision to it",
    async (status) => {
      const server = serve(vllm());
      server.instead = ({ name }) =>
        name === "POST /tokenize" ? new Response("", { status }) : undefined;
      const { embed } = connect([server.url]);
      await expectGood(embed([writeText(6_000)]));
      // It changed nothing known of the server.
      server.instead = () => undefined;
      expect((await expectGood(embed([writeText(6_000)]))).prompt_tokens).toBe(4_096);
    },
  );

  test("of a token count, by a server that has counted before, fails the request", async () => {
    const server = serve(vllm());
    const { embed } = connect([server.url]);
    await expectGood(embed([writeText(6_000)]));
    server.instead = ({ name }) =>
      name === "POST /tokenize" ? new Response("", { status: 500 }) : undefined;
    expect((await expectFailure(embed([writeText(6_000)]))).code).toBe("upstream_error");
  });
});

const serveIll = (status: number) => {
  const server = serve(tei());
  server.instead = () => Response.json({ error: "x", error_type: "Unhealthy" }, { status });
  return server.url;
};

describe("gateway.errors.headers.retry_after: the server's Retry-After", () => {
  const SAYINGS: [said: string, ms: number | undefined][] = [
    ["1", 1_000],
    ["17", 17_000],
    ["0", 1_000],
    ["", undefined],
    ["soon", undefined],
  ];
  test.each(SAYINGS)("is used if it is plausible: %j", async (said, retry_after_ms) => {
    const server = serve(vllm());
    server.instead = ({ name }) =>
      name === PATH
        ? new Response("", { status: 429, headers: { "retry-after": said } })
        : undefined;
    const failure = await expectFailure(connect([server.url]).embed(["a"]));
    expect(failure).toMatchObject({ code: BUSY });
    expect(failure.retryAfterMs).toBe(retry_after_ms);
  });
});

describe("replicas", () => {
  test("take over from an overloaded one", async () => {
    const [busy, free] = [serve(vllm()), serve(vllm())];
    busy.instead = () => new Response("", { status: 429 });
    const embedded = await connect([busy.url, free.url]).embed(["a"]);
    expect(embedded).toMatchObject({ ok: true, attempts: 2 });
  });

  test("do not take over an invalid request", async () => {
    const [first, second] = [serve(vllm()), serve(vllm())];
    first.instead = ({ name }) => (name === PATH ? new Response("", { status: 400 }) : undefined);
    const failure = await expectFailure(connect([first.url, second.url]).embed(["a"]));
    expect(failure).toMatchObject({ code: "upstream_error", attempts: 1 });
    expect(second.asked).toEqual([]);
  });

  test("are down as soon as none accepts connections, and are checked from their start", async () => {
    const url = `http://127.0.0.1:${findClosedPort()}/v1`;
    const { start, isDown, clock, log } = connect([url]);
    expect(isDown()).toBe(false);
    start();
    while (!isDown()) await clock.advance(0);
    expect(log.join()).toContain('"bge-m3"');
  });

  test("without health checks are never polled", async () => {
    const server = serve(vllm());
    await server.stop();
    const { start, isDown, clock } = connect([server.url], 'health_every = "0s"');
    start();
    expect(clock.pending()).toBe(0);
    expect(isDown()).toBe(false);
  });
});
