// Tests how the operator lists and switches models.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { managedServerStore } from "../../src/models/autostart/store.ts";
import { modelStore } from "../../src/models/store.ts";
import { type AdminFixture, openFixture } from "./fixture.ts";

const RENTED = `
[[models]]
id = "rented"
provider = "others"
visibility = "private"
context_window = 4_096
max_output_tokens = 512
capabilities = ["tools", "streaming"]
upstream = { kind = "openai", urls = ["http://127.0.0.1:9/v1"] }
[service]
default_model = "qwen3-32b"
`;

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture(["stub-1", "qwen3-32b"], RENTED);
});
afterEach(() => fixture.close());

const states = async () =>
  (await fixture.admin.models.list()).map(({ id, state }) => `${id} ${state}`);

test("models are listed in the order of the settings, with all their facts", async () => {
  const listed = await fixture.admin.models.list();
  expect(listed.map(({ id, is_default }) => [id, is_default])).toEqual([
    ["stub-1", false],
    ["qwen3-32b", true],
    ["rented", false],
  ]);
  expect(listed[2]).toEqual({
    id: "rented",
    is_default: false,
    state: "on",
    is_off: false,
    is_blocked: false,
    provider: "others",
    self_hosted: false,
    visibility: "private",
    context_window: 4_096,
    max_output_tokens: 512,
    capabilities: ["tools", "streaming"],
    upstream: "openai",
    replicas: 1,
    healthy_replicas: null,
    unit: "none",
    ...{ start_ms: null, unit_changed_at: null, can_stop: null, in_flight_max: null },
    ...{ waiting: null, servers: null, price: null },
    // No server has started it yet.
    first_seen_at: null,
  });
  await fixture.database.bind(modelStore).see(["rented"], 7);
  expect((await fixture.admin.models.list())[2]).toMatchObject({
    first_seen_at: "1970-01-01T00:00:00.007Z",
  });
});

test("a switch returns the model's new state, and changes no other", async () => {
  const { models } = fixture.admin;
  expect(await models.turn("stub-1", "block")).toMatchObject({ state: "blocked", is_off: false });
  expect(await models.turn("stub-1", "off")).toMatchObject({ state: "blocked", is_off: true });
  expect(await models.turn("qwen3-32b", "off")).toMatchObject({ state: "off", is_default: true });
  expect(await states()).toEqual(["stub-1 blocked", "qwen3-32b off", "rented on"]);
  expect(await models.turn("stub-1", "unblock")).toMatchObject({ state: "off" });
  expect(await models.turn("stub-1", "on")).toMatchObject({ state: "on" });
});

test("only models of the settings can be switched, and the alias cannot", async () => {
  const { models } = fixture.admin;
  for (const [id, says] of [
    ["stub1", 'there is no model "stub1"; did you mean "stub-1"?'],
    ["gpt", "the settings name stub-1, qwen3-32b, rented"],
    ["svc", '"svc" is the alias of qwen3-32b'],
    ["svc-v0", '"svc-v0" is the alias of qwen3-32b'],
  ] as const) {
    const problem = await models.turn(id, "off").catch((failure) => failure);
    expect(problem).toBeInstanceOf(AdminError);
    expect(problem.message).toContain(says);
  }
  expect(await states()).toEqual(["stub-1 on", "qwen3-32b on", "rented on"]);
});

test("a model removed from the settings keeps its switches and is not listed", async () => {
  const store = fixture.database.bind(modelStore);
  await store.turn("gone", "is_blocked", true, 7);
  expect(await states()).toEqual(["stub-1 on", "qwen3-32b on", "rented on"]);
  await expect(fixture.admin.models.turn("gone", "unblock")).rejects.toThrow("no model");
  expect(await store.find("gone", null)).toMatchObject({ is_blocked: true });
});

test("a managed model shows its last state, and its start time", async () => {
  const start =
    'request = "POST http://10.0.0.5:8000/wake_up"\nhealth = "http://10.0.0.5:8000/health"';
  const units = await openFixture(
    ["stub-1"],
    ["one", "two"]
      .map(
        (id) => `
[[models]]
id = "${id}"
upstream.kind = "openai"
upstream.urls = ["http://10.0.0.5:8000/v1"]
[models.upstream.start]
${start}
`,
      )
      .join(""),
  );
  const standings = async () =>
    (await units.admin.models.list()).map(({ id, unit, start_ms }) => [id, unit, start_ms]);
  expect(await standings()).toEqual([
    ["stub-1", "none", null],
    ["one", "unknown", null],
    ["two", "unknown", null],
  ]);
  const store = units.database.bind(managedServerStore);
  const id = new Bun.SHA256()
    .update('["POST http://10.0.0.5:8000/wake_up",[],"http://10.0.0.5:8000/health"]')
    .digest("hex");
  for (const start_ms of [40_000, 90_000, 41_000]) await store.learn(id, start_ms, 7);
  await store.note(id, "stopped", true, 8);
  // Both have the same start request, so they share one managed server.
  expect((await standings()).slice(1)).toEqual([
    ["one", "stopped", 41_000],
    ["two", "stopped", 41_000],
  ]);
  expect(await units.admin.models.turn("two", "off")).toMatchObject({
    state: "off",
    unit: "stopped",
    start_ms: 41_000,
  });
  await units.close();
});
