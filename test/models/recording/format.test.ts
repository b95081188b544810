// Tests which requests are equal in a recording.
import { expect, test } from "bun:test";
import type { Completion, ModelRequest } from "../../../src/models/providers/contract.ts";
import {
  hashRequest,
  readCompletion,
  strip,
  writeCompletion,
} from "../../../src/models/recording/format.ts";
import { createAsk } from "../../support/ask.ts";

const tool = (parameters: Record<string, unknown>): ModelRequest["tools"][number] => ({
  type: "function",
  function: { name: "add", parameters },
});

test("caller and request id do not change the request key", () => {
  const ask = createAsk("Hello");
  const again = {
    ...ask,
    request_id: "request-2",
    account: "account-2",
    trace: { traceparent: "00-1" },
  };
  expect(hashRequest(again)).toBe(hashRequest(ask));
  expect(hashRequest(ask)).toMatch(/^[0-9a-f]{64}$/);
  expect(Object.keys(strip(again))).toEqual(
    Object.keys(ask).filter((name) => !["request_id", "account", "trace"].includes(name)),
  );
});

test("everything else does", () => {
  const others: Partial<ModelRequest>[] = [
    { messages: [{ role: "user", content: "Bye" }] },
    { messages: [{ role: "system", content: "Hello" }] },
    { max_tokens: 1 },
    { tools: [tool({})] },
    { tools: [tool({ type: "object" })] },
    { tool_choice: "none" },
    { temperature: 0 },
    { top_p: 0.5 },
    { presence_penalty: 1 },
    { frequency_penalty: 1 },
    { seed: 0 },
    { stop: ["."] },
    { response_format: { type: "json_object" } },
    { reasoning: true },
    { stream: true },
  ];
  const keys = [{}, ...others].map((some) => hashRequest(createAsk("Hello", some)));
  expect(new Set(keys).size).toBe(keys.length);
});

test("the order of fields does not change the key, that of messages and lists does", () => {
  const key = (tools: ModelRequest["tools"]) => hashRequest(createAsk("Hello", { tools }));
  expect(key([tool({ a: 1, b: { c: 2, d: 3 } })])).toBe(key([tool({ b: { d: 3, c: 2 }, a: 1 })]));
  expect(key([tool({ enum: ["a", "b"] })])).not.toBe(key([tool({ enum: ["b", "a"] })]));
});

test("a field added to requests later changes no key while it is null", () => {
  const ask = { ...createAsk("Hello"), later: null };
  expect(hashRequest(ask)).toBe(hashRequest(createAsk("Hello")));
});

test("a completion keeps the field names of earlier recordings", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const failed: Completion = {
    ...{ ok: false, code: "upstream_error", retryable: true, reason: "it broke" },
    ...{ upstreamStatus: 500, noResponse: "surely", retryAfterMs: 7, promptTokens: 9, usage },
    ...{ attempts: 2, waitedMs: 3 },
  };
  const good: Completion = {
    ...{ ok: true, finishReason: "stop", usage, usageEstimated: true },
  };
  expect(Object.keys(writeCompletion(failed))).toEqual([
    ...["ok", "code", "elsewhere", "why", "upstream_status", "silent", "retry_after_ms"],
    ...["prompt_tokens", "usage", "attempts", "waited_ms"],
  ]);
  expect(Object.keys(writeCompletion(good))).toEqual([
    ...["ok", "finish_reason", "usage", "usage_estimated"],
  ]);
  for (const one of [failed, good]) expect(readCompletion(writeCompletion(one))).toEqual(one);
  // A recording is passed on, and tells nothing of the server.
  expect(writeCompletion({ ...good, replica: "10.0.0.5:8000" })).not.toHaveProperty("replica");
});
