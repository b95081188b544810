// Bodies that make agents: what their schema refuses, what code refuses, and what just fits.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { TestApp } from "../../support/app.ts";
import { expectRefusal } from "./refusal.ts";
import { createAgent, readJson, startService } from "./service.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

const long = (characters: number) => "ä".repeat(characters);
const INVALID: [title: string, fields: object, param: string][] = [
  ["no name", { name: undefined }, "name"],
  ["an empty name", { name: "" }, "name"],
  ["a name of 201 characters", { name: long(201) }, "name"],
  ["a name with a NUL", { name: "a\0" }, "name"],
  ["no prompt", { system_prompt: undefined }, "system_prompt"],
  ["an empty prompt", { system_prompt: "" }, "system_prompt"],
  ["a prompt of 100,001 characters", { system_prompt: long(100_001) }, "system_prompt"],
  ["an upper-case slug", { slug: "Bot" }, "slug"],
  ["a slug that ends with -", { slug: "bot-" }, "slug"],
  ["a slug of 65 characters", { slug: "a".repeat(65) }, "slug"],
  ["an empty slug", { slug: "" }, "slug"],
  ["a description of 2,001 characters", { description: long(2_001) }, "description"],
  ["a model that is no text", { model: 1 }, "model"],
  ["an empty model", { model: "" }, "model"],
  ["tools that are no list", { tools: "calculator" }, "tools"],
  ["129 tools", { tools: Array.from({ length: 129 }, (_, i) => `t${i}`) }, "tools"],
  ["a tool twice", { tools: ["calculator", "calculator"] }, "tools"],
  ["a tool that is no text", { tools: ["calculator", 1] }, "tools.1"],
  ["a name of a tool too long", { tools: ["a".repeat(65)] }, "tools.0"],
  ["too short a time", { policy: { approval_ttl_seconds: 59 } }, "policy.approval_ttl_seconds"],
  [
    "too long a time",
    { policy: { approval_ttl_seconds: 2_592_001 } },
    "policy.approval_ttl_seconds",
  ],
  [
    "another word",
    { policy: { writes_after_external_content: "never" } },
    "policy.writes_after_external_content",
  ],
  ["an unknown field of the policy", { policy: { unattended: true } }, "policy.unattended"],
  ["no rounds", { budgets: { max_rounds: 0 } }, "budgets.max_rounds"],
  ["201 rounds", { budgets: { max_rounds: 201 } }, "budgets.max_rounds"],
  ["a number below zero", { budgets: { max_cost_sar: -1 } }, "budgets.max_cost_sar"],
  ["an amount that is true", { budgets: { max_cost_sar: true } }, "budgets.max_cost_sar"],
  ["half a call", { budgets: { max_tool_calls: 0.5 } }, "budgets.max_tool_calls"],
  [
    "a count beyond all bounds",
    { budgets: { max_total_tokens: 1e300 } },
    "budgets.max_total_tokens",
  ],
  ["too high a temperature", { model_params: { temperature: 2.1 } }, "model_params.temperature"],
  ["an unknown parameter", { model_params: { seed: 1 } }, "model_params.seed"],
  ["metadata that is a list", { metadata: [] }, "metadata"],
  [
    "17 entries",
    { metadata: Object.fromEntries([...Array(17).keys()].map((i) => [i, ""])) },
    "metadata",
  ],
  ["a key of 65 characters", { metadata: { [long(65)]: "" } }, "metadata"],
  ["a value of 513 characters", { metadata: { a: long(513) } }, "metadata"],
  ["a value that is no text", { metadata: { a: 1 } }, "metadata"],
  ["an unknown field", { prompt: "x" }, "prompt"],
  ["a field of the reply", { status: "archived" }, "status"],
];

describe("agents.errors.p9 agents.errors.p4 agents.errors.p5 400 without a code, naming the field", () => {
  for (const [title, fields, param] of INVALID) {
    test(title, async () => {
      const body = { name: "Helper", system_prompt: "Be brief.", ...fields };
      await expectRefusal(await app.post("/v1/agents", body), 400, undefined, param);
    });
  }

  test("a text of maximum length is stored, counted in characters and not in bytes", async () => {
    const text = (characters: number) => "😀".repeat(characters);
    const fields = {
      ...{ name: text(200), system_prompt: text(50_000), description: text(2_000) },
      metadata: Object.fromEntries(
        [...Array(16).keys()].map((i) => [text(62) + (10 + i), text(512)]),
      ),
    };
    expect(await createAgent(app, fields)).toMatchObject({
      ...{ name: fields.name, description: fields.description, metadata: fields.metadata },
      version: { system_prompt: fields.system_prompt },
    });
  });

  test("a lone surrogate is replaced by U+FFFD, which every engine stores", async () => {
    const halves = { name: "a\ud83d", description: "c\ud83d" };
    const made = await createAgent(app, { ...halves, system_prompt: "\udc00b" });
    const whole = { name: "a\ufffd", description: "c\ufffd" };
    expect(made).toMatchObject({ ...whole, version: { system_prompt: "\ufffdb" } });
    await app.clock.advance(1_000);
    const again = await app.ask("PATCH", `/v1/agents/${made.id}`, { body: halves });
    expect(await readJson(again)).toEqual(made);
  });
});

const CHECKED: [title: string, fields: object, param: string][] = [
  ["an unknown tool", { tools: ["calculator", "calculater"] }, "tools.1"],
  [
    "a guard of an unknown tool",
    { policy: { require_approval: ["calculator", "web_serach"] } },
    "policy.require_approval.1",
  ],
  ["tools for a model without them", { model: "plain", tools: ["calculator"] }, "tools"],
  ["seven decimals", { budgets: { max_cost_sar: "1.2000001" } }, "budgets.max_cost_sar"],
  ["a number of seven decimals", { budgets: { max_cost_sar: 0.0000001 } }, "budgets.max_cost_sar"],
  ["a text below zero", { budgets: { max_cost_sar: "-1" } }, "budgets.max_cost_sar"],
  ["a text that is no amount", { budgets: { max_cost_sar: "1 SAR" } }, "budgets.max_cost_sar"],
  ["more than can be kept", { budgets: { max_cost_sar: 1e20 } }, "budgets.max_cost_sar"],
];

describe("agents.errors.invalid_request a rule that code checks has a code", () => {
  for (const [title, fields, param] of CHECKED) {
    test(title, async () => {
      const body = { name: "Helper", system_prompt: "Be brief.", ...fields };
      await expectRefusal(await app.post("/v1/agents", body), 400, "invalid_request", param);
    });
  }
});
