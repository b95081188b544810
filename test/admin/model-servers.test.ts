// Tests what operators see and do of the servers of models: traffic, in flight, start and stop.
import { afterEach, expect, test } from "bun:test";
import { modelOperations, nameLocalActor, perform } from "../../src/admin/index.ts";
import { writeEntries } from "../../src/gateway/request-log/entry.ts";
import { requestLogStore } from "../../src/gateway/request-log/store/index.ts";
import { firstIdAt } from "../../src/platform/ids.ts";
import { startApp } from "../support/app.ts";
import { makeEntry } from "../support/request-log.ts";
import { openFixture } from "./fixture.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const ACTOR = nameLocalActor();
const MODELS = `
[[models]]
id = "steady"
self_hosted = true
price = { prompt = "1.20", completion = "3.60" }
upstream = { kind = "openai", urls = ["http://127.0.0.1:9/v1"], max_in_flight = 4 }
[[models]]
id = "asleep"
self_hosted = true
upstream = { kind = "stub", start_delay = "9s" }
[service]
default_model = "steady"
`;

test("a model shows its servers, its price and what waits", async () => {
  const app = await startApp({ settings: MODELS });
  closing.push(app.stop);
  const [steady, asleep] = await app.app.admin.models.list();
  expect(steady).toMatchObject({
    price: { prompt: "1.200000", completion: "3.600000" },
    in_flight_max: 4,
    waiting: 0,
    can_stop: false,
    servers: [{ name: "127.0.0.1:9", is_up: true, is_passed_over: false, in_flight: 0 }],
  });
  expect(asleep).toMatchObject({ price: null, in_flight_max: null, can_stop: true, servers: [] });
});

test("the server of a model is started and stopped by hand", async () => {
  const app = await startApp({ settings: MODELS });
  closing.push(app.stop);
  const { admin } = app.app;
  const turn = (verb: "start" | "stop", id = "asleep") =>
    perform(admin, modelOperations[verb], { id }, ACTOR);
  const until = async (unit: string) => {
    while ((await admin.models.list())[1]!.unit !== unit) await app.clock.advance(1_000);
  };
  expect(turn("stop")).rejects.toThrow("it cannot stop");
  expect(await turn("start")).toMatchObject({ id: "asleep", unit: "starting" });
  await until("up");
  expect((await admin.models.list())[1]).toMatchObject({
    unit_changed_at: expect.any(String),
    ...{ start_ms: expect.any(Number), healthy_replicas: 1 },
  });
  expect(turn("start")).rejects.toThrow("it cannot start");
  expect(await turn("stop")).toMatchObject({ unit: "stopping" });
  await until("stopped");
  expect((await admin.models.list())[1]).toMatchObject({ healthy_replicas: 0 });
  expect(turn("start", "steady")).rejects.toThrow("always runs");
  expect(turn("start", "none")).rejects.toThrow("none");
});

test("a command without a server says that it needs one", async () => {
  const fixture = await openFixture();
  closing.push(fixture.close);
  const start = fixture.admin.models.command("stub-1", "start");
  expect(start).rejects.toThrow("--server");
});

test("embeddings and search tell their state, load and times", async () => {
  const settings = `${MODELS}[embeddings]\nkind = "openai"\nurls = ["http://127.0.0.1:9/v1"]\n`;
  const app = await startApp({ settings });
  closing.push(app.stop);
  const { admin } = app.app;
  const [embeddings, search] = await perform(admin, modelOperations.services, {}, ACTOR);
  expect(embeddings).toMatchObject({
    ...{ id: "embeddings", model: "bge-m3", kind: "openai", state: "on" },
    ...{ in_flight: 0, in_flight_max: 8, waiting: 0, requests: 0, duration_p50_ms: null },
    servers: [{ name: "127.0.0.1:9", is_up: true, is_passed_over: false, in_flight: 0 }],
  });
  expect(search).toMatchObject({ id: "search", model: null, kind: "off", state: "off" });
});

test("times of a service are those of its answers in the last minutes", async () => {
  const fixture = await openFixture();
  closing.push(fixture.close);
  const times = [10, 20, 400].map((duration_ms, n) => {
    const id = `${firstIdAt(fixture.clock.now() - 1_000).slice(0, -4)}${1_000 + n}`;
    return makeEntry(id, { route: "embeddings", duration_ms });
  });
  const refused = { ...times[0]!, id: times[0]!.id.replace(/.$/, "9"), code: "upstream_error" };
  await fixture.database.bind(requestLogStore).add(writeEntries([...times, refused]), false);
  const [embeddings] = await perform(fixture.admin, modelOperations.services, {}, ACTOR);
  expect(embeddings).toMatchObject({
    ...{ state: "off", in_flight: null, servers: null },
    ...{ requests: 3, duration_p50_ms: 20, duration_p95_ms: 400 },
  });
});

test("traffic is that of the last minutes, by model and by server", async () => {
  const fixture = await openFixture();
  closing.push(fixture.close);
  const now = fixture.clock.now();
  const entry = (n: number, fields: object) =>
    makeEntry(`${firstIdAt(now - 1_000).slice(0, -4)}${1_000 + n}`, {
      at: now - 1_000,
      ...{ duration_ms: 500, completion_tokens: 30, ...fields },
    });
  const rows = [
    entry(1, { first_token_ms: 300, waited_ms: 100, replica: "a:1" }),
    entry(2, { first_token_ms: 100, replica: "a:1" }),
    entry(3, { first_token_ms: 900, replica: "b:1" }),
    entry(4, { model: null, replica: null }),
    makeEntry(firstIdAt(now - 3_600_000), { at: now - 3_600_000, first_token_ms: 1 }),
  ];
  await fixture.database.bind(requestLogStore).add(writeEntries(rows), false);
  const traffic = await fixture.admin.readTraffic();
  const shared = { model: "stub-1" };
  expect(traffic).toHaveLength(3);
  expect(traffic).toContainEqual({
    ...{ ...shared, replica: null, requests: 3, first_token_p50_ms: 200 },
    ...{ first_token_p95_ms: 900, tokens_per_second: 1.5 },
  });
  expect(traffic).toContainEqual({
    ...{ ...shared, replica: "a:1", requests: 2, first_token_p50_ms: 100 },
    ...{ first_token_p95_ms: 200, tokens_per_second: 1 },
  });
  expect(traffic.at(-1)).toMatchObject({ replica: expect.stringMatching(/^[ab]:1$/) });
});

test("tokens a second are those of requests that ended in the last minute", async () => {
  const fixture = await openFixture();
  closing.push(fixture.close);
  const endedAt = fixture.clock.now() - 60_000;
  const rows = [endedAt - 1, endedAt].map((at) =>
    makeEntry(firstIdAt(at), { at, duration_ms: 0, completion_tokens: 60, replica: null }),
  );
  await fixture.database.bind(requestLogStore).add(writeEntries(rows), false);
  expect(await fixture.admin.readTraffic()).toMatchObject([{ requests: 2, tokens_per_second: 1 }]);
});
