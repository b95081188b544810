// Spec 000, "Model" and "GET /v1/models": the list that a key sees, field by field.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type Model, ModelList } from "../../../src/models/model.ts";
import { type AskOptions, KEY, startApp, type TestApp } from "../../support/app.ts";
import { allow, createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";

type List = Static<typeof ModelList>;

async function list(app: TestApp, options?: AskOptions): Promise<Model[]> {
  const reply = await app.get("/v1/models", options);
  expect(reply.status).toBe(200);
  const body = (await reply.json()) as List;
  expect(Value.Check(ModelList, body)).toBe(true);
  return body.data;
}
const idsOf = (models: Model[]) => models.map(({ id }) => id);

/** One model of the settings; what is not given is left out. */
const model = (id: string, lines = "", urls = "http://127.0.0.1:9/v1") => `
[[models]]
id = "${id}"
${lines}
upstream = { kind = "openai", urls = ["${urls}"] }
`;

const SETTINGS = `
[service]
default_model = "main"
operator = "acme"
${model("first", "self_hosted = true")}
${model(
  "main",
  'self_hosted = true\nprovider = "acme"\ncontext_window = 32768\nmax_output_tokens = 4096\n' +
    'default_max_tokens = 2048\ncapabilities = ["tools", "streaming"]',
)}
${model("large", "self_hosted = true\nmax_output_tokens = 100000\ndefault_max_tokens = 50000")}
${model("elsewhere", 'provider = "others"\nself_hosted = false')}
${model("elsewhere-too", 'provider = "others"\nself_hosted = false')}
${model("hidden", 'self_hosted = true\nvisibility = "private"')}
${model("inner", 'self_hosted = true\nvisibility = "internal"')}
${model("deep", 'self_hosted = true\nthink = "required"')}
`;

describe("the list", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ settings: SETTINGS });
  });
  afterAll(() => app.stop());

  const find = async (id: string, options?: AskOptions) =>
    (await list(app, options)).find((one) => one.id === id)!;

  test("gateway.resources.model.p1 gateway.endpoints.models.p1 has the form {object: list, data: [Model]}", async () => {
    const body = (await (await app.get("/v1/models")).json()) as List;
    expect(Object.keys(body)).toEqual(["object", "data"]);
    expect(body.object).toBe("list");
    for (const one of body.data) {
      expect(Object.keys(one)).toEqual([
        ...["id", "object", "created", "owned_by", "provider", "self_hosted", "upstream_revision"],
        ...["context_window", "max_output_tokens", "default_max_tokens", "capabilities", "status"],
      ]);
    }
  });

  test("gateway.resources.model.p3 gateway.resources.model.p4 begins with the alias and then the default model, with the same fields", async () => {
    const [alias, main, ...others] = await list(app);
    expect([alias!.id, main!.id]).toEqual(["svc", "main"]);
    expect({ ...alias, id: "main" }).toEqual(main!);
    // The others follow the order of the settings.
    expect(idsOf(others)).toEqual(["first", "large", "deep"]);
  });

  test("gateway.resources.model.id is the value of `model` in a request", async () => {
    for (const id of idsOf(await list(app))) {
      const reply = await app.chat("Hello", { model: id, think: id === "deep" });
      // These models have no server: none must be unknown or refused.
      expect([id, reply.status >= 500]).toEqual([id, true]);
      expect(reply.headers.get("deprecation")).toBeNull();
    }
  });

  test("gateway.resources.model.object gateway.resources.model.owned_by gateway.resources.model.provider", async () => {
    expect(await find("main")).toMatchObject({
      object: "model",
      owned_by: "acme",
      provider: "acme",
    });
    expect(await find("first")).toMatchObject({ owned_by: "unknown", provider: "unknown" });
  });

  test("gateway.resources.model.context_window is null if none is recorded", async () => {
    expect((await find("main")).context_window).toBe(32_768);
    expect((await find("first")).context_window).toBeNull();
  });

  test("gateway.resources.model.capabilities are those of the settings", async () => {
    expect((await find("main")).capabilities).toEqual(["tools", "streaming"]);
    expect((await find("first")).capabilities).toEqual(["streaming"]);
  });

  test("gateway.resources.model.status gateway.states.model_status is on", async () => {
    for (const { status } of await list(app)) expect(status).toBe("on");
  });

  test("gateway.limits.output_budget_ceiling gateway.endpoints.chat_completions.6 never shows a budget above 8,192", async () => {
    const shown = { max_output_tokens: 8_192, default_max_tokens: 8_192 };
    expect(await find("large")).toMatchObject(shown);
  });

  test("gateway.resources.model.max_output_tokens gateway.resources.model.default_max_tokens are lowered to the key's output cap", async () => {
    const budgets = async (cap: number | null, id: string) => {
      const key = await createKey(app, { max_output_tokens: cap });
      const { max_output_tokens, default_max_tokens } = await find(id, { key });
      return [max_output_tokens, default_max_tokens];
    };
    expect(await budgets(null, "main")).toEqual([4_096, 2_048]);
    expect(await budgets(3_000, "main")).toEqual([3_000, 2_048]);
    expect(await budgets(1_000, "main")).toEqual([1_000, 1_000]);
    expect(await budgets(100_000, "main")).toEqual([4_096, 2_048]);
    expect(await budgets(1_000, "svc")).toEqual([1_000, 1_000]);
    expect(await budgets(100_000, "large")).toEqual([8_192, 8_192]);
  });

  test("gateway.resources.model.p2 gateway.authentication.5 contains only models of the key's own list", async () => {
    const listed = async (models: string[]) => {
      const key = await createKey(app, { models });
      return idsOf(await list(app, { key }));
    };
    expect(await listed(["large", "main"])).toEqual(["svc", "main", "large"]);
    expect(await listed(["large"])).toEqual(["large"]);
    expect(await listed(["hidden", "inner", "elsewhere", "unheard-of"])).toEqual([]);
    expect(await listed([])).toEqual([]);
  });

  test("gateway.authentication.8 gateway.authentication.6 contains external and private models with a grant, and never internal ones", async () => {
    const { key, grant, ungrant } = await allow(app, "granted");
    const before = ["svc", "main", "first", "large"];
    expect(idsOf(await list(app, { key }))).toEqual(before);
    for (const id of ["elsewhere", "hidden", "inner"]) await grant(id);
    expect(idsOf(await list(app, { key }))).toEqual([...before, "elsewhere", "hidden"]);
    // Another account's grant is none.
    const other = { key: `${KEY}-other` };
    expect(idsOf(await list(app, other))).toEqual([...before, "deep"]);
    await ungrant("elsewhere");
    expect(idsOf(await list(app, { key }))).toEqual([...before, "hidden"]);
  });

  test("gateway.endpoints.chat_completions.7 contains a model that needs deep thinking only for keys with the scope", async () => {
    expect(idsOf(await list(app, { key: `${KEY}-none` }))).not.toContain("deep");
    const key = await createKey(app, { scopes: ["think"] });
    expect(idsOf(await list(app, { key }))).toContain("deep");
  });

  test("gateway.resources.model.self_hosted gateway.resources.model.upstream_revision show the party of external models, and nothing of our own", async () => {
    const { key, grant } = await allow(app, "curious");
    await grant("elsewhere");
    await grant("elsewhere-too");
    expect(await find("main", { key })).toMatchObject({
      self_hosted: true,
      upstream_revision: null,
    });
    const elsewhere = await find("elsewhere", { key });
    expect(elsewhere.self_hosted).toBe(false);
    expect(elsewhere.upstream_revision).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("GET /v1/models/{id}", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ settings: SETTINGS + model("maker/one", "self_hosted = true") });
  });
  afterAll(() => app.stop());

  test("shows each model as it stands in the list, with its slash encoded", async () => {
    const models = await list(app);
    expect(idsOf(models)).toContain("maker/one");
    for (const one of models) {
      const reply = await app.get(`/v1/models/${encodeURIComponent(one.id)}`);
      expect([reply.status, await reply.json()]).toEqual([200, one]);
    }
  });

  test("takes both names of the default model", async () => {
    const [first] = await list(app);
    expect(await (await app.get("/v1/models/svc-v0")).json()).toEqual(first!);
  });

  test("an id that the list lacks is `model_not_found`, in the envelope of a chat", async () => {
    for (const id of ["unknown", "hidden", "inner", "elsewhere", "MAIN", "%", "%2F"]) {
      const refused = await readRefusal(await app.get(`/v1/models/${id}`));
      expect([id, ...refused]).toEqual([id, 404, "model_not_found", "model"]);
    }
  });

  test("needs a key", async () => {
    const refused = await readRefusal(await app.get("/v1/models/main", { key: null }));
    expect(refused).toEqual([401, "missing_api_key", null]);
  });
});

describe("over restarts on kept data", () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-models-"));
  const place = { kind: "sqlite", file: join(directory, "wadi.db") } as const;
  afterAll(() => rmSync(directory, { recursive: true }));

  const first_start_ms = Date.UTC(2026, 10, 20);
  let key = "";
  /** The list of one account after a start with these settings. */
  async function start(settings: string, start_ms: number): Promise<Record<string, Model>> {
    const app = await startApp({ settings, start_ms, place, listens: true });
    try {
      if (key === "") {
        const account = await allow(app, "constant");
        await account.grant("away");
        key = account.key;
      }
      const models = await list(app, { key });
      return Object.fromEntries(models.map((one) => [one.id, one]));
    } finally {
      await app.stop();
    }
  }

  test("gateway.resources.model.created gateway.resources.model.upstream_revision keep their values until the settings change", async () => {
    const away = (urls: string) => model("away", 'provider = "others"\nself_hosted = false', urls);
    const own = model("own", "self_hosted = true");
    const first = await start(own + away("http://127.0.0.1:9/v1"), first_start_ms);
    expect(first.own!.created).toBe(first_start_ms / 1_000);

    const day_ms = 86_400_000;
    const more = own + away("http://127.0.0.1:9/v1") + model("more", "self_hosted = true");
    const second = await start(more, first_start_ms + day_ms);
    expect(second.own).toEqual(first.own!);
    expect(second.away).toEqual(first.away!);
    expect(second.more!.created).toBe((first_start_ms + day_ms) / 1_000);

    // Away for a while and back: it was added when it was first seen.
    await start(away("http://127.0.0.1:9/v1"), first_start_ms + 2 * day_ms);
    const moved = own + away("http://127.0.0.1:10/v1");
    const third = await start(moved, first_start_ms + 3 * day_ms);
    expect(third.own).toEqual(first.own!);
    expect(third.away!.created).toBe(first.away!.created);
    expect(third.away!.upstream_revision).toMatch(/^[0-9a-f]{64}$/);
    expect(third.away!.upstream_revision).not.toBe(first.away!.upstream_revision);
  });
});
