// Tests the names of models, the alias and the list of each key.
import { describe, expect, test } from "bun:test";
import type { Caller, ModelStatesRow } from "../../src/access/index.ts";
import { buildModels } from "../../src/models/index.ts";
import type { ServedModel } from "../../src/models/model.ts";
import { ModelRegistry } from "../../src/models/registry.ts";
import type { ModelStatus } from "../../src/models/store.ts";
import { createTrustedEgress } from "../../src/net/index.ts";
import { createLog } from "../../src/platform/log.ts";
import { type ModelSettings, readSettings } from "../../src/settings/index.ts";
import { ALONE } from "../support/alone.ts";
import { createManualClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";

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
  upstream: { kind: "stub", tokens_per_second: 0, first_token_delay_ms: 0, start_delay_ms: 0 },
};

function serve(id: string, some: Partial<ModelSettings> = {}): ServedModel {
  const settings = { ...SETTINGS, id, ...some };
  const complete = () => Promise.reject(new Error("nobody asks"));
  const supply = {
    complete,
    countTokens: async () => null,
    isDown: () => false,
    start() {},
    stop() {},
  };
  return { settings, created: 7, upstream_revision: null, backend: supply };
}

interface Stored {
  grants?: string[];
  off?: string[];
  blocked?: string[];
}

function createTestRegistry(models: ServedModel[], stored: Stored = {}) {
  const clock = createManualClock();
  const reads: string[] = [];
  const stand = (id: string, account_id: string | null): ModelStatus => ({
    id,
    first_seen_at: 7_000,
    is_off: stored.off?.includes(id) ?? false,
    is_blocked: stored.blocked?.includes(id) ?? false,
    is_granted: account_id !== null && (stored.grants?.includes(id) ?? false),
  });
  const registry = new ModelRegistry({
    alias: "svc",
    catalog: { default_model: "second", models },
    store: {
      async find(id, account_id) {
        reads.push(`${id} for ${account_id}`);
        return stand(id, account_id);
      },
      async list(account_id) {
        reads.push(`all for ${account_id}`);
        return ["forgotten", ...models.map(({ settings }) => settings.id)].map((id) =>
          stand(id, account_id),
        );
      },
    },
    clock,
  });
  return { registry, reads, clock };
}

const caller = (some: Partial<Caller> = {}): Caller => ({
  key_id: "key-1",
  account_id: "account-1",
  kind: "ordinary",
  scopes: [],
  models: null,
  max_output_tokens: null,
  ...some,
});

describe("the registry", () => {
  test("finds the default model without a name, by the alias and by its second name", () => {
    const { registry } = createTestRegistry([serve("first"), serve("second")]);
    const names = [undefined, "svc", "svc-v0", "second", "first", "other", "SVC", ""].map(
      (sent) => {
        const { model, by } = registry.resolve(sent);
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

  test("refuses an unknown default model", () => {
    expect(() => createTestRegistry([serve("first")])).toThrow("second");
  });

  test("lists the alias, the default model, and then the others in order", async () => {
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

  test("lists the models of the key, and the alias only with the default model", async () => {
    const models = [
      serve("first", { self_hosted: false }),
      serve("second"),
      serve("third", { visibility: "private" }),
      serve("fourth", { visibility: "internal" }),
      serve("fifth", { think: "required" }),
    ];
    const list = async (some: Partial<Caller>, grants: string[] = []) =>
      (await createTestRegistry(models, { grants }).registry.list(caller(some))).map(
        ({ id }) => id,
      );
    expect(await list({})).toEqual(["svc", "second"]);
    expect(await list({}, ["first", "third", "fourth"])).toEqual([
      "svc",
      "second",
      "first",
      "third",
    ]);
    expect(await list({ models: ["first"] }, ["first", "third"])).toEqual(["first"]);
    expect(await list({ scopes: ["think"] })).toEqual(["svc", "second", "fifth"]);
    expect(await list({ account_id: null }, ["first", "third"])).toEqual(["svc", "second"]);
  });

  test("limits both budgets to the minimum of model, key and ceiling", async () => {
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

  test("gateway.resources.model.status lists a model that is off as offline, and a blocked one not", async () => {
    const models = [serve("first"), serve("second"), serve("third")];
    const list = async (stored: Stored) =>
      (await createTestRegistry(models, stored).registry.list(caller())).map(
        ({ id, status }) => `${id} ${status}`,
      );
    expect(await list({ off: ["first"] })).toEqual([
      ...["svc on", "second on", "first offline", "third on"],
    ]);
    expect(await list({ off: ["second"], blocked: ["third"] })).toEqual([
      ...["svc offline", "second offline", "first on"],
    ]);
    expect(await list({ off: ["second"], blocked: ["second"] })).toEqual(["first on", "third on"]);
  });

  test("checks the key's permission before the operator's switch", async () => {
    const models = [
      serve("second"),
      serve("hidden", { visibility: "internal" }),
      serve("rented", { self_hosted: false }),
      serve("deep", { think: "required" }),
    ];
    const ids = models.map(({ settings }) => settings.id);
    const statesOf = async (stored: Stored) => {
      const { registry } = createTestRegistry(models, stored);
      return Promise.all(models.map((model) => registry.authorize(model, caller())));
    };
    const others = ["hidden", "refused", "unscoped"];
    expect(await statesOf({})).toEqual(["allowed", ...others] as never);
    expect(await statesOf({ off: ids })).toEqual(["off", ...others] as never);
    expect(await statesOf({ off: ids, blocked: ids })).toEqual(["blocked", ...others] as never);
    for (const { backend } of models) backend.isDown = () => true;
    expect(await statesOf({})).toEqual(["off", ...others] as never);
    expect(await statesOf({ blocked: ids })).toEqual(["blocked", ...others] as never);
  });

  test("serves by default unless the default model is off, blocked or down", async () => {
    const models = [serve("first"), serve("second")];
    const ask = (stored: Stored, served = models) =>
      createTestRegistry(served, stored).registry.isDefaultServable();
    const down = ({ backend, ...model }: ServedModel): ServedModel => {
      return { ...model, backend: { ...backend, isDown: () => true } };
    };
    expect(await ask({}, [down(models[0]!), models[1]!])).toBe(true);
    expect(await ask({}, [models[0]!, down(models[1]!)])).toBe(false);
    expect(await ask({ off: ["first"], blocked: ["first"] })).toBe(true);
    expect(await ask({ off: ["second"] })).toBe(false);
    expect(await ask({ blocked: ["second"] })).toBe(false);
  });

  test("reads once for a call and once for a list", async () => {
    const { registry, reads } = createTestRegistry([serve("first"), serve("second")]);
    await registry.list(caller());
    await registry.authorize(registry.resolve("first").model, caller());
    await registry.authorize(registry.resolve("svc").model, caller({ account_id: null }));
    expect(reads).toEqual(["all for account-1", "first for account-1", "second for null"]);
  });

  test("reads nothing for a call whose key was read with the models, unless that is long ago", async () => {
    const served = serve("own", { self_hosted: false });
    const { registry, reads, clock } = createTestRegistry([served, serve("second")]);
    const { model } = registry.resolve("own");
    const read_at = clock.monotonic();
    const ask = (row: Partial<ModelStatesRow>) => {
      const none = { off_models: null, blocked_models: null, granted_models: null };
      const model_states = { ...none, ...row, read_at };
      return registry.authorize(model, caller({ model_states }));
    };
    const granted_models = "owner own";
    expect(await ask({ granted_models })).toBe("allowed");
    expect(await ask({ granted_models: "owner" })).toBe("refused");
    expect(await ask({ granted_models, off_models: "own" })).toBe("off");
    expect(await ask({ granted_models, off_models: "own", blocked_models: "own" })).toBe("blocked");
    expect(reads).toEqual([]);
    await clock.advance(101);
    expect(await ask({ granted_models })).toBe("refused");
    expect(reads).toEqual(["own for account-1"]);
  });
});

describe("a change of the settings", () => {
  const model = (id: string, max_tokens = 100) => `
[[models]]
id = "${id}"
self_hosted = true
max_output_tokens = ${max_tokens}
upstream = { kind = "stub" }
`;
  const read = (...models: string[]) =>
    readSettings(`[service]\ndefault_model = "one"\n${models.join("")}`, "wadi.toml", {}, {});

  /** Models whose backends note their starts and stops. */
  async function openModels() {
    const clock = createManualClock();
    const database = await openTestDatabase({ kind: "memory" });
    const noted: string[] = [];
    const models = await buildModels({
      settings: read(model("one"), model("two")),
      process: ALONE,
      database,
      egress: createTrustedEgress({ clock }),
      clock,
      ids: createSeededIds(),
      log: createLog(clock, () => {}, false),
      open({ id }) {
        return {
          ...serve(id).backend,
          start: () => void noted.push(`start ${id}`),
          stop: () => void noted.push(`stop ${id}`),
        };
      },
    });
    const { service, registry } = models;
    const change = async (...others: string[]) => {
      await models.change(read(...others));
      return noted.splice(0);
    };
    return { noted, service, registry, change, close: () => database.close() };
  }

  test("starts added backends, then stops removed ones, and leaves all others alone", async () => {
    const { noted, service, registry, change, close } = await openModels();
    service.start();
    expect(noted.splice(0)).toEqual(["start one", "start two"]);
    expect(await change(model("one", 200), model("two"))).toEqual([]);
    for (const name of [undefined, "one"]) {
      expect(registry.resolve(name).model.settings.max_output_tokens).toBe(200);
    }
    expect(await change(model("one"), model("three"))).toEqual(["start three", "stop two"]);
    service.stop(0);
    expect(noted).toEqual(["stop one", "stop three"]);
    await close();
  });

  test("before the start and after the stop starts and stops nothing", async () => {
    const { noted, service, change, close } = await openModels();
    expect(await change(model("one"), model("three"))).toEqual([]);
    service.start();
    service.stop(0);
    expect(noted.splice(0)).toEqual(["start one", "start three", "stop one", "stop three"]);
    expect(await change(model("one"), model("four"))).toEqual([]);
    await close();
  });
});
