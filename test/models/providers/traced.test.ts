// Tests the span of each request to a model server.
import { expect, test } from "bun:test";
import type { CompleteAttempt, Completion } from "../../../src/models/providers/contract.ts";
import { traceAttempts } from "../../../src/models/providers/traced.ts";
import type { Span, Tracer } from "../../../src/platform/spans.ts";
import { createAsk } from "../../support/ask.ts";

const TRACE = { traceparent: "00-a-b-01" };
const CONTEXT = { traceId: "1", spanId: "2", parentId: "b" };
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const GOOD: Completion = { ok: true, finishReason: "stop", usage: USAGE };
const STAYS = new AbortController().signal;

function open(url: string, answer: () => Promise<Completion>, isRecorded = true) {
  const spans: Span[] = [];
  const asked: unknown[] = [];
  let now = 0;
  const tracer: Tracer = {
    hasContent: false,
    now: () => ++now,
    begin: () => (isRecorded ? CONTEXT : null),
    isSampled: () => true,
    record: (span) => spans.push(span),
  };
  const attempt: CompleteAttempt = ({ trace }, _, __, firstTokenMs) => {
    asked.push([trace, firstTokenMs]);
    return answer();
  };
  const traced = traceAttempts(attempt, { tracer, url, model: "model-1", provider: "acme" });
  const ask = (trace: typeof TRACE | null) =>
    traced(createAsk("Hi", { trace, max_tokens: 9 }), () => {}, STAYS, 1_234);
  return { spans, asked, ask };
}

test("a reply has a span with its server, its tokens and its end", async () => {
  const { spans, asked, ask } = open("https://model.test/v1", async () => GOOD);
  expect(await ask(TRACE)).toBe(GOOD);
  expect(asked).toEqual([[{ traceparent: "00-1-2-01" }, 1_234]]);
  expect(spans).toEqual([
    {
      ...{ context: CONTEXT, name: "chat model-1", kind: "client", startedAt: 1, endedAt: 2 },
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "model-1",
        "server.address": "model.test",
        "server.port": 443,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        "http.response.status_code": null,
      },
      error: null,
    },
  ]);
});

test("a failure has its code, and a bug too", async () => {
  const failed: Completion = {
    ...{ ok: false, code: "upstream_error", retryable: true, reason: "", upstreamStatus: 502 },
  };
  const { spans, ask } = open("http://model.test/v1", async () => failed);
  await ask(TRACE);
  const { spans: others, ask: askBug } = open("http://model.test:81/v1", async () => {
    throw new Error("a bug");
  });
  await expect(askBug(TRACE)).rejects.toThrow("a bug");
  expect([spans[0]!.error, others[0]!.error]).toEqual(["upstream_error", "internal_error"]);
  expect(spans[0]!.attributes).toMatchObject({
    ...{ "http.response.status_code": 502, "server.port": 80 },
    "gen_ai.response.finish_reasons": null,
  });
  expect(others[0]!.attributes["server.port"]).toBe(81);
});

test("a request that is not recorded is passed on as it is", async () => {
  for (const { ask, asked, spans, trace } of [
    { ...open("http://h", async () => GOOD), trace: null },
    { ...open("http://h", async () => GOOD, false), trace: TRACE },
  ]) {
    await ask(trace);
    expect([asked, spans]).toEqual([[[trace, 1_234]], []]);
  }
});
