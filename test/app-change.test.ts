// Other settings in the whole app: from the next request on, and never under one that runs.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSettings } from "../src/settings/index.ts";
import type { Predecessor } from "../src/takeover/index.ts";
import { startApp } from "./support/app.ts";
import { readRequestLog } from "./support/request-log.ts";
import { answerText, startUpstream, writeSettings } from "./support/upstream.ts";

const read = (text: string) => readSettings(text, "wadi.toml", {}, { "server.port": 0 });

const writeModel = (id: string, more = "") => `
[[models]]
id = "${id}"
self_hosted = true
${more}
upstream = { kind = "stub" }
`;

test("models, limits and links take effect from the next request", async () => {
  const app = await startApp({ settings: writeModel("one") });
  const list = async () => {
    const { data } = (await (await app.get("/v1/models")).json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };
  const askUnknown = async () => (await app.chat("Hello", { model: "gone" })).headers.get("link");
  expect(await list()).toEqual(["svc", "one"]);
  expect(await askUnknown()).toContain("</docs/changes>");
  expect((await app.chat("Hello", { model: "two" })).headers.has("deprecation")).toBe(true);

  await app.app.change(
    read(`[service]
default_model = "two"
changelog_url = "https://acme.example/changes"
[limits]
requests_per_minute = 4
${writeModel("one", "max_output_tokens = 1")}${writeModel("two")}`),
  );
  expect(await list()).toEqual(["svc", "two", "one"]);
  expect(await askUnknown()).toContain("<https://acme.example/changes>");
  const two = await app.chat("Hello", { model: "two" });
  expect([two.status, two.headers.has("deprecation")]).toEqual([201, false]);
  // Three chats were counted under the old limit, too.
  expect((await app.chat("Hello", { model: "two" })).status).toBe(429);
  await app.stop();
});

test("the operator of a running server sees the new settings, too", async () => {
  const app = await startApp({ settings: writeModel("one") });
  await app.app.change(read(writeModel("two")));
  const { models } = app.app.admin;
  expect((await models.list()).map(({ id }) => id)).toEqual(["two"]);
  await expect(models.turn("one", "off")).rejects.toThrow();
  await models.turn("two", "off");
  expect((await app.chat("Hello", { model: "two" })).status).toBe(503);
  await app.stop();
});

test("a request in progress keeps its price; the next one costs the new price", async () => {
  const arrived = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const upstream = startUpstream(async () => {
    arrived.resolve();
    await answered.promise;
    return answerText("Hello");
  });
  const price = (amount: string) => `price = { prompt = "${amount}", completion = "${amount}" }`;
  const app = await startApp({ settings: writeSettings(upstream.url, price("1.00")) });
  const first = app.chat("Hello");
  await arrived.promise;
  await app.app.change(read(writeSettings(upstream.url, price("5.00"))));
  answered.resolve();
  await first;
  await app.chat("Hello");
  await app.clock.advance(25);
  const entries = await readRequestLog(app.app.database).entries();
  // Ten tokens each, at a price for a million of them.
  expect(entries.map(({ cost }) => cost)).toEqual([10, 50]);
  await app.stop();
  await upstream.stop();
});

test("a request in progress ends with the model that it began with, even if that is removed", async () => {
  const arrived = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const upstream = startUpstream(async () => {
    arrived.resolve();
    await answered.promise;
    return answerText("from the old one");
  });
  const app = await startApp({ settings: writeSettings(upstream.url) });
  const reply = app.chat("Hello");
  await arrived.promise;
  await app.app.change(read(writeModel("other")));
  const next = await app.chat("Hello", { model: "test-1" });
  expect([next.status, next.headers.has("deprecation")]).toEqual([201, true]);
  expect(await next.text()).toContain("You said: Hello");
  answered.resolve();
  const response = await reply;
  expect(response.status).toBe(201);
  expect(await response.text()).toContain("from the old one");
  await app.stop();
  await upstream.stop();
});

test("a change that the database cannot record has no effect", async () => {
  const app = await startApp({ settings: writeModel("one") });
  await app.app.database.close();
  const origin = "https://app.example.com";
  const lines = `[server]\ncors_origins = ["${origin}"]\n[limits]\nrequests_per_minute = 1\n`;
  await expect(app.app.change(read(lines + writeModel("two")))).rejects.toThrow();
  const asked = { headers: { origin, "access-control-request-method": "POST" } };
  expect((await app.ask("OPTIONS", "/v1/models", asked)).status).toBe(404);
  await expect(app.app.admin.models.turn("two", "off")).rejects.toThrow('"two"');
  await app.stop().catch(() => {});
});

test("a run keeps the tool prices of its start, and the next run has the current ones", async () => {
  const price = (amount: string) => `${writeModel("one", 'capabilities = ["tools"]')}
[agents]\ntool_prices = { web_search = "${amount}" }\n`;
  const app = await startApp({ settings: price("0.1") });
  const ask = async (path: string, body: object) =>
    (await (await app.post(path, body)).json()) as { id: string; cost: { prices: unknown } };
  const version = { name: "Clerk", system_prompt: "You are brief.", tools: ["web_search"] };
  const agent = await ask("/v1/agents", version);
  const start = () => ask(`/v1/agents/${agent.id}/runs`, { input: { message: "Hello" } });
  const first = await start();
  await app.app.change(read(price("0.2")));
  const second = await start();
  const again = (await (await app.get(`/v1/runs/${first.id}`)).json()) as typeof first;
  expect([again, second].map(({ cost }) => cost.prices)).toMatchObject([
    { tools: { web_search: "0.100000" } },
    { tools: { web_search: "0.200000" } },
  ]);
  await app.stop();
});

test("a build that fails leaves the data to the next one", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-build-"));
  const options = {
    place: { kind: "sqlite", file: join(directory, "wadi.db") },
    secretsKeyFile: join(directory, "secrets.key"),
  } as const;
  const openBackend = () => () => {
    throw new Error("no backend");
  };
  await expect(startApp({ ...options, openBackend })).rejects.toThrow("no backend");
  await (await startApp(options)).stop();
  rmSync(directory, { recursive: true });
});

test("every limit of requests changes hands in a takeover", async () => {
  const app = await startApp();
  const names = ["accounts", "addresses", "embeddings", "hooks", "keys", "operators", "search"];
  expect(Object.keys(app.app.handover.limits.export())).toEqual(expect.arrayContaining(names));
  await app.stop();
});

test("a takeover that would change the port is refused before anything listens", async () => {
  const asked: number[] = [];
  const predecessor = {
    installation: undefined,
    addresses: [],
    requirePort(port: number) {
      asked.push(port);
      throw new Error("another port");
    },
  };
  const options = { predecessor: predecessor as unknown as Predecessor };
  await expect(startApp(options)).rejects.toThrow("another port");
  expect(asked).toEqual([0]);
});
