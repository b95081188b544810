// Output schemas of versions: what is stored and refused, and what a run makes of them.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApp, type TestApp } from "../../support/app.ts";
import { startRun } from "./population.ts";
import { expectRefusal } from "./refusal.ts";
import { createAgent, type Json, readJson } from "./service.ts";

const SETTINGS = `
[limits]
requests_per_minute = 1_000_000
address_requests_per_minute = 1_000_000
[[models]]
id = "plain"
self_hosted = true
upstream = { kind = "stub" }
[[models]]
id = "holding"
self_hosted = true
capabilities = ["structured_outputs"]
upstream = { kind = "stub" }
`;
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: SETTINGS, listens: true });
});
afterAll(() => app.stop());

const output_schema = {
  type: "object",
  properties: { city: { type: "string" }, people: { type: "integer" } },
  required: ["city", "people"],
};

/** The run at its end. */
async function runOnce(agent: Json, message: string): Promise<Json> {
  const { id } = await startRun(app, agent.id, { input: { message } });
  await (await app.get(`/v1/runs/${id}/events`)).text();
  return readJson(await app.get(`/v1/runs/${id}`));
}

test("a version has the schema as it was sent, and later versions inherit it whole", async () => {
  const { id, version } = await createAgent(app, { output_schema });
  expect(version.output_schema).toEqual(output_schema);
  const add = async (fields: object) =>
    readJson(await app.post(`/v1/agents/${id}/versions`, fields), 201);
  expect((await add({ system_prompt: "Be long." })).output_schema).toEqual(output_schema);
  expect((await add({ output_schema: { type: "object" } })).output_schema).toEqual({
    type: "object",
  });
  expect((await add({ output_schema: null })).output_schema).toBeNull();
  expect((await readJson(await app.get(`/v1/agents/${id}`))).version.output_schema).toBeNull();
});

test.each([
  ["no schema", { output_schema: "text" }, undefined],
  ["a list", { output_schema: [] }, undefined],
  ["another type than object", { output_schema: { type: "array" } }, "invalid_request"],
  [
    "a keyword with a wrong value",
    { output_schema: { type: "object", required: 1 } },
    "invalid_request",
  ],
  [
    "a remote reference",
    { output_schema: { type: "object", $ref: "https://x.example/s" } },
    "invalid_request",
  ],
  ["too long", { output_schema: { type: "object", title: "x".repeat(32_768) } }, "invalid_request"],
])(
  "agents.errors.invalid_request a schema is refused by its field: %s",
  async (_, fields, code) => {
    const body = { name: "Helper", system_prompt: "Be brief.", ...fields };
    const response = await app.post("/v1/agents", body);
    expect(await response.clone().text()).not.toContain("`parameters");
    await expectRefusal(response, 400, code, "output_schema");
    const { id } = await createAgent(app);
    await expectRefusal(
      await app.post(`/v1/agents/${id}/versions`, fields),
      400,
      code,
      "output_schema",
    );
  },
);

test("a run of a model whose server enforces the schema answers with data", async () => {
  const agent = await createAgent(app, { model: "holding", output_schema });
  const { status, output } = await runOnce(agent, "Which city?");
  expect(status).toBe("succeeded");
  expect(output.data).toEqual(JSON.parse(output.message));
  expect(Object.keys(output.data)).toEqual(["city", "people"]);
});

test("a run of another model answers with data, or fails with its text", async () => {
  const agent = await createAgent(app, { model: "plain", output_schema });
  const good = await runOnce(agent, '!say {"city":"Jeddah","people":4}');
  expect(good).toMatchObject({
    status: "succeeded",
    output: { data: { city: "Jeddah", people: 4 } },
  });
  const bad = await runOnce(agent, "Which city?");
  expect(bad).toMatchObject({ status: "failed", error: { code: "invalid_output" } });
  expect(Object.keys(bad.output)).toEqual(["message"]);
  const { data } = await readJson(await app.get(`/v1/runs/${bad.id}/steps`));
  const invalid = data.filter(({ data }: Json) => data.event === "output_invalid");
  expect(invalid.map(({ data }: Json) => data.detail.asked_again)).toEqual([true, false]);
});
