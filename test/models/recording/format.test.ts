// What makes two asks the same in a recording.
import { expect, test } from "bun:test";
import type { ModelRequest } from "../../../src/models/providers/contract.ts";
import { hashRequest, strip } from "../../../src/models/recording/format.ts";
import { createAsk } from "../../support/ask.ts";

const tool = (parameters: Record<string, unknown>): ModelRequest["tools"][number] => ({
  type: "function",
  function: { name: "add", parameters },
});

test("who asks, and in which request, makes no other ask", () => {
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

test("the order of fields makes no other ask, that of messages and lists does", () => {
  const key = (tools: ModelRequest["tools"]) => hashRequest(createAsk("Hello", { tools }));
  expect(key([tool({ a: 1, b: { c: 2, d: 3 } })])).toBe(key([tool({ b: { d: 3, c: 2 }, a: 1 })]));
  expect(key([tool({ enum: ["a", "b"] })])).not.toBe(key([tool({ enum: ["b", "a"] })]));
});

test("a field that asks learn later changes no key where it is null", () => {
  const ask = { ...createAsk("Hello"), later: null };
  expect(hashRequest(ask)).toBe(hashRequest(createAsk("Hello")));
});
