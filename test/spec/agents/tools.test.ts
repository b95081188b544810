// GET /v1/tools, and the effects of its tools in a run.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { populate } from "./population.ts";
import { expectRefusal } from "./refusal.ts";
import { type Json, readJson } from "./service.ts";

/** Polls until the runs have ended. */
const SETTINGS = `
[limits]
requests_per_minute = 1_000_000
address_requests_per_minute = 1_000_000
[egress]
allow = ["127.0.0.1:*"]
[agents]
tool_prices = { web_search = "0.010000", calculator = "0.000001" }
`;

let app: TestApp;
beforeAll(async () => {
  // Without models in the settings the stub serves all, and searches as well.
  app = await startApp({ settings: SETTINGS, listens: true });
});
afterAll(() => app.stop());

const list = async (): Promise<Json[]> => (await readJson(await app.get("/v1/tools"))).data;

test("agents.endpoints.tools.get_tools agents.does.tool lists the tools that an agent version may use", async () => {
  const tools = await list();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual([
    ...["current_time", "calculator", "read_output", "web_search", "read_page"],
    ...["memory_list", "memory_get", "memory_set", "memory_delete"],
  ]);
  for (const { kind, revision, status, latest } of tools) {
    expect([kind, revision, status, latest]).toEqual(["builtin", 1, "enabled", true]);
  }
  const writing = ["memory_set", "memory_delete"];
  const external = ["web_search", "read_page"];
  for (const { name, risk, parameters, external_content } of tools) {
    expect([name, parameters.type]).toEqual([name, "object"]);
    expect([name, risk]).toEqual([name, writing.includes(name) ? "write" : "read"]);
    expect([name, external_content]).toEqual([name, external.includes(name)]);
  }
  const body = { name: "All", system_prompt: "Use them.", tools: names };
  const agent = await readJson(await app.post("/v1/agents", body), 201);
  expect(agent.version.tools).toEqual(names);
});

test("agents.resources.tool shows the operator's prices with six decimals, and null where there is none", async () => {
  const prices = Object.fromEntries((await list()).map((tool) => [tool.name, tool.price_sar]));
  expect(prices).toEqual({
    current_time: "0.000000",
    calculator: "0.000001",
    read_output: "0.000000",
    web_search: "0.010000",
    read_page: "0.000000",
    ...{ memory_list: "0.000000", memory_get: "0.000000" },
    ...{ memory_set: "0.000000", memory_delete: "0.000000" },
  });
  const unpriced = await startApp();
  const { data } = await readJson(await unpriced.get("/v1/tools"));
  expect(data.find(({ name }: Json) => name === "web_search").price_sar).toBeNull();
  await unpriced.stop();
});

test("agents.endpoints.tools.get_tools accepts no query parameters", async () => {
  await expectRefusal(await app.get("/v1/tools?kind=http"), 400, undefined, "kind");
});

test("agents.does.p1 a run calls the model and its tools by itself, and records the result and cost of each", async () => {
  const { run, steps } = await populate(app, KEY);
  const results = steps.filter(({ kind }) => kind === "tool_result").map(({ data }) => data);
  // Two calls of one round end in any order, and a failed one costs nothing.
  const outcomes = results.map(({ name, outcome, cost }) => `${name} ${outcome} ${cost}`);
  expect([...outcomes.slice(0, 2).toSorted(), outcomes[2]]).toEqual([
    "calculator ok 0.000001",
    "web_search ok 0.010000",
    "calculator error 0.000000",
  ]);
  expect(results.find(({ name }) => name === "calculator").content).toBe("10");
  expect([run.status, run.output.message, run.usage.rounds, run.usage.tool_calls]).toEqual([
    ...["succeeded", "It is 10.", 3, 3],
  ]);
  expect([run.external_content, run.cost.tools]).toEqual([true, "0.010001"]);
});
