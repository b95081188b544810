// The catalogue of built-in tools: their resource and prices.
import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { checkArguments } from "../../../src/agents/tools/arguments.ts";
import { createBuiltins, createCatalog, toModelTool } from "../../../src/agents/tools/catalog.ts";
import { createPriceOf } from "../../../src/agents/tools/prices.ts";
import { ToolList, ToolRevision } from "../../../src/agents/tools/revision.ts";
import { findBuiltinTitle } from "../../../src/agents/tools/titles.ts";
import { show } from "../../../src/platform/schema.ts";
import { readSettings } from "../../../src/settings/index.ts";
import { guard } from "../../net/guard.ts";
import { inlineCompute } from "../../support/compute.ts";

const builtins = createBuiltins({
  compute: inlineCompute,
  search: { ask: async () => ({ ok: true, results: [] }) },
  egress: guard([]),
  notes: { list: async () => [], find: async () => undefined, count: async () => 0 },
});
const catalog = createCatalog(builtins);
const priceless = new Map<string, number>();

describe("agents.resources.tool", () => {
  test("a revision always has all its fields, and `required` names those never null", () => {
    const fields = Object.keys(ToolRevision.properties);
    for (const revision of catalog.list(priceless)) {
      const shown = show(ToolRevision, revision);
      expect(Object.keys(shown)).toEqual(fields);
      for (const name of ToolRevision.required!) expect(shown[name]).not.toBeNull();
    }
    const required: readonly string[] = ToolRevision.required!;
    expect(fields.filter((name) => !required.includes(name))).toEqual([
      "title",
      "endpoint",
      "connection_id",
      "price_sar",
    ]);
  });

  test("every field has a description", () => {
    for (const schema of [...Object.values(ToolRevision.properties), ToolList.properties.data]) {
      expect(schema.description).toBeString();
    }
  });
});

test("agents.does.tool: each tool has a kind and a risk level; two built-in tools write", () => {
  const writing = ["memory_set", "memory_delete"];
  for (const { name, kind, risk } of catalog.list(priceless)) {
    expect([name, kind, risk]).toEqual([
      name,
      "builtin",
      writing.includes(name) ? "write" : "read",
    ]);
  }
});

describe("agents.endpoints.tools.get_tools", () => {
  test("the catalogue has the built-in tools with their first revisions", () => {
    const listed = catalog.list(priceless).map((one) => [one.name, one.kind, one.revision]);
    expect(listed).toEqual([
      ["current_time", "builtin", 1],
      ["calculator", "builtin", 1],
      ["read_output", "builtin", 1],
      ["web_search", "builtin", 1],
      ["read_page", "builtin", 1],
      ["memory_list", "builtin", 1],
      ["memory_get", "builtin", 1],
      ["memory_set", "builtin", 1],
      ["memory_delete", "builtin", 1],
    ]);
  });

  test("a shown tool", () => {
    const [time] = catalog.list(priceless);
    expect(show(ToolRevision, time!)).toMatchObject({
      name: "current_time",
      risk: "read",
      title: "Current time",
      endpoint: null,
      connection_id: null,
      timeout_ms: 1_000,
      external_content: false,
      idempotent: true,
      price_sar: "0.000000",
      status: "enabled",
      latest: true,
      created_at: "2026-01-01T00:00:00.000Z",
    });
  });

  test("only tools that return external content say so", () => {
    const external = catalog.list(priceless).filter((one) => one.external_content);
    expect(external.map((one) => one.name)).toEqual(["web_search", "read_page"]);
  });
});

describe("agents.does.cost.2", () => {
  const priceOf = (name: string, prices: Map<string, number>) =>
    catalog.priceOf(catalog.find(name)!, prices);

  test("a tool without a price has an unknown price, never zero, unless it is free", () => {
    expect(priceOf("web_search", priceless)).toBeNull();
    expect(priceOf("calculator", priceless)).toBe(0);
  });

  test("the operator's price applies, also zero", () => {
    expect(priceOf("web_search", new Map([["web_search", 10_000]]))).toBe(10_000);
    expect(priceOf("web_search", new Map([["web_search", 0]]))).toBe(0);
    expect(priceOf("calculator", new Map([["calculator", 5]]))).toBe(5);
  });

  test("calls of an account's own tools cost nothing", () => {
    const settings = readSettings("[agents.tool_prices]\nread_page = '1'", "wadi.toml", {}, {});
    const price = createPriceOf(() => settings, catalog);
    const kinds = ["builtin", "http", "mcp"] as const;
    const prices = kinds.map((kind) => price({ name: "read_page", kind }));
    expect(prices).toEqual([1_000_000, 0, 0]);
  });
});

test("finds a tool by its exact name only", () => {
  expect(catalog.find("web_search")?.name).toBe("web_search");
  for (const name of ["", "Web_Search", "constructor", "__proto__"]) {
    expect(catalog.find(name)).toBeUndefined();
  }
});

test.each(builtins.map((tool) => [tool.name, tool] as const))(
  "%s has a name, a title, a schema and a description for the model",
  (name, tool) => {
    expect(name).toMatch(/^[a-z0-9_]{1,64}$/);
    expect(findBuiltinTitle(name)).toBeString();
    expect(tool.parameters).toMatchObject({ type: "object", additionalProperties: false });
    for (const field of Object.values(tool.parameters.properties)) {
      expect(field.description).toBeString();
    }
    const sent = JSON.parse(JSON.stringify(toModelTool(tool)));
    expect(sent).toEqual({
      type: "function",
      function: {
        name,
        description: tool.description,
        parameters: JSON.parse(JSON.stringify(tool.parameters)),
      },
    });
    // The model is told defaults that the tool fills in; both must be valid.
    const { required = [], properties } = tool.parameters;
    for (const [field, schema] of Object.entries(properties)) {
      if (!required.includes(field) && "default" in schema) {
        expect(Value.Check(schema, schema.default)).toBe(true);
      }
    }
    expect(checkArguments(tool.parameters, '{"another":1}').ok).toBe(false);
  },
);
