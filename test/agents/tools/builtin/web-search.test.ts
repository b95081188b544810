// `web_search`: the rights of the run's key, results and failures.
import { describe, expect, test } from "bun:test";
import { checkArguments } from "../../../../src/agents/tools/arguments.ts";
import {
  createWebSearch,
  type SearchClient,
} from "../../../../src/agents/tools/builtin/web-search.ts";
import { caller, createUse } from "../use.ts";

type SearchAnswer = Awaited<ReturnType<SearchClient["ask"]>>;

function createStub(answer: SearchAnswer) {
  const requests: unknown[] = [];
  const tool = createWebSearch({
    async ask(...question) {
      requests.push(question);
      return answer;
    },
  });
  return { tool, requests };
}

const none: SearchAnswer = { ok: true, results: [] };

test("returns results as numbered plain text, marked external", async () => {
  const { tool } = createStub({
    ok: true,
    results: [
      { title: "Camels", url: "https://camels.example.com/", snippet: "They walk." },
      { title: "Dunes", url: "https://dunes.example.com/", snippet: "" },
    ].map((result, index) => ({ object: "search_result" as const, index, ...result })),
  });
  expect(await tool.run(createUse({ query: "camels" }))).toEqual({
    outcome: "ok",
    content:
      "1. Camels\nhttps://camels.example.com/\nThey walk.\n\n2. Dunes\nhttps://dunes.example.com/",
    external: true,
  });
});

test("an empty result is not an error", async () => {
  const { tool } = createStub(none);
  expect(await tool.run(createUse({ query: "x" }))).toMatchObject({
    outcome: "ok",
    content: "Nothing was found.",
  });
});

test("searches with the run's key, and is cancelled with the run", async () => {
  const { tool, requests } = createStub(none);
  const use = createUse({ query: "camels", language: "AR", max_results: 7 });
  await tool.run(use);
  await tool.run(createUse({ query: "dunes" }));
  const who = { caller, request_id: use.request_id, trace: null, run: use.run! };
  expect(requests).toEqual([
    [who, { query: "camels", max_results: 7, language: "ar" }, use.signal],
    [who, { query: "dunes", max_results: 5, language: null }, expect.any(AbortSignal)],
  ]);
});

test("a key without the scope `search` cannot search", async () => {
  const { tool, requests } = createStub(none);
  const use = createUse({ query: "x" }, { caller: { ...caller, scopes: ["agents"] } });
  expect(await tool.run(use)).toEqual({
    outcome: "error",
    content: "The key that started this run lacks the scope `search`.",
    external: false,
  });
  expect(requests).toEqual([]);
});

describe("a search that failed", () => {
  const failure: SearchAnswer = { ok: false, code: "upstream_error", reason: "status 502" };

  test("shows its code, and no detail meant for the log", async () => {
    const { tool } = createStub(failure);
    expect(await tool.run(createUse({ query: "x" }))).toEqual({
      outcome: "error",
      content: "The search failed with `upstream_error`.",
      external: false,
    });
  });

  test("is late after its time-out", async () => {
    const { tool } = createStub(failure);
    const use = createUse({ query: "x" }, { signal: AbortSignal.abort() });
    expect(await tool.run(use)).toMatchObject({ outcome: "timeout", external: false });
  });
});

test.each([
  ["{}", false],
  ['{"query":""}', false],
  ['{"query":"  "}', false],
  ['{"query":"x"}', true],
  [`{"query":"${"x".repeat(400)}"}`, true],
  [`{"query":"${"x".repeat(401)}"}`, false],
  ['{"query":"x","max_results":20,"language":"ar"}', true],
  ['{"query":"x","max_results":21}', false],
  ['{"query":"x","max_results":0}', false],
  ['{"query":"x","max_results":1.5}', false],
  ['{"query":"x","language":"arabic"}', false],
  ['{"query":"x","url":"http://x"}', false],
])("arguments %.60s: %p", (text, isValid) => {
  expect(checkArguments(createStub(none).tool.parameters, text).ok).toBe(isValid);
});
