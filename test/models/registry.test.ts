// Names, the alias and the list of each key.
import { describe, expect, test } from "bun:test";
import type { Caller } from "../../src/access/index.ts";
import type { ServedModel } from "../../src/models/model.ts";
import { createRegistry } from "../../src/models/registry.ts";
import type { ModelSettings } from "../../src/platform/settings/index.ts";

const SETTINGS: ModelSettings = {
  id: "",
  provider: "acme",
  self_hosted: true,
  visibility: "public",
  context_window: null,
  max_output_tokens: 4_096,
  default_max_tokens: 1_024,
  capabilities: ["streaming"],
  system_prompt: "",
  frequency_penalty: 0,
  think: "optional",
  price: null,
  upstream: { kind: "stub", tokens_per_second: 0, first_token_delay_ms: 0 },
};

function serve(id: string, some: Partial<ModelSettings> = {}): ServedModel {
  const settings = { ...SETTINGS, id, ...some };
  const answer = () => Promise.reject(new Error("nobody asks"));
  return { settings, created: 7, upstream_revision: null, answer };
}

function createTestRegistry(models: ServedModel[], grants: string[] = []) {
  const asked: string[] = [];
  const listGrants = async (account_id: string) => {
    asked.push(account_id);
    return grants;
  };
  const registry = createRegistry({
    alias: "svc",
    default_model: "second",
    models,
    store: { listGrants },
  });
  return { registry, asked };
}

const caller = (some: Partial<Caller> = {}): Caller => ({
  key_id: "key-1",
  account_id: "account-1",
  kind: "ordinary",
  scopes: new Set(),
  models: null,
  max_output_tokens: null,
  ...some,
});

describe("the registry", () => {
  test("finds the default model by no name, by the alias and by its second name", () => {
    const { registry } = createTestRegistry([serve("first"), serve("second")]);
    const names = [undefined, "svc", "svc-v0", "second", "first", "other", "SVC", ""].map(
      (sent) => {
        const { model, by } = registry.name(sent);
        return `${by} ${model.settings.id}`;
      },
    );
    expect(names).toEqual([
      "alias second",
      "alias second",
      "alias second",
      "id second",
      "id first",
      "unknown second",
      "unknown second",
      "unknown second",
    ]);
  });

  test("refuses a default model that is not there", () => {
    expect(() => createTestRegistry([serve("first")])).toThrow("second");
  });

  test("lists the alias, the default model, and then the others in their order", async () => {
    const { registry } = createTestRegistry([serve("first"), serve("second"), serve("third")]);
    const listed = await registry.list(caller());
    expect(listed.map(({ id }) => id)).toEqual(["svc", "second", "first", "third"]);
    expect(listed[0]).toEqual({ ...listed[1]!, id: "svc" });
    expect(listed[1]).toEqual({
      id: "second",
      object: "model",
      created: 7,
      owned_by: "acme",
      provider: "acme",
      self_hosted: true,
      upstream_revision: null,
      context_window: null,
      max_output_tokens: 4_096,
      default_max_tokens: 1_024,
      capabilities: ["streaming"],
      status: "on",
    });
  });

  test("lists what the key may call, and the alias only with the default model", async () => {
    const models = [
      serve("first", { self_hosted: false }),
      serve("second"),
      serve("third", { visibility: "private" }),
      serve("fourth", { visibility: "internal" }),
      serve("fifth", { think: "required" }),
    ];
    const list = async (some: Partial<Caller>, grants: string[] = []) =>
      (await createTestRegistry(models, grants).registry.list(caller(some))).map(({ id }) => id);
    expect(await list({})).toEqual(["svc", "second"]);
    expect(await list({}, ["first", "third", "fourth"])).toEqual([
      "svc",
      "second",
      "first",
      "third",
    ]);
    expect(await list({ models: ["first"] }, ["first", "third"])).toEqual(["first"]);
    expect(await list({ scopes: new Set(["think"]) })).toEqual(["svc", "second", "fifth"]);
    expect(await list({ account_id: null }, ["first", "third"])).toEqual(["svc", "second"]);
  });

  test("lowers both budgets to the model's, the key's and the ceiling's", async () => {
    const models = [
      serve("second", { max_output_tokens: 100_000, default_max_tokens: 50_000 }),
      serve("first", { max_output_tokens: 500, default_max_tokens: 100 }),
    ];
    const { registry } = createTestRegistry(models);
    const list = async (max_output_tokens: number | null) =>
      (await registry.list(caller({ max_output_tokens })))
        .slice(1)
        .map((model) => [model.max_output_tokens, model.default_max_tokens]);
    expect(await list(null)).toEqual([
      [8_192, 8_192],
      [500, 100],
    ]);
    expect(await list(300)).toEqual([
      [300, 300],
      [300, 100],
    ]);
  });

  test("looks grants up once for a list, and never where none could matter", async () => {
    const open = createTestRegistry([serve("first"), serve("second")]);
    await open.registry.list(caller());
    await open.registry.judge(open.registry.name("first").model, caller());
    expect(open.asked).toEqual([]);
    const closed = createTestRegistry([
      serve("first", { self_hosted: false }),
      serve("second"),
      serve("third", { visibility: "private" }),
    ]);
    await closed.registry.list(caller());
    expect(closed.asked).toEqual(["account-1"]);
    await closed.registry.judge(closed.registry.name("third").model, caller());
    expect(closed.asked).toEqual(["account-1", "account-1"]);
    await closed.registry.judge(closed.registry.name("svc").model, caller());
    expect(closed.asked.length).toBe(2);
  });
});
