// Embeddings and search under other settings: from the next request on, and no more is exchanged
// than has changed.
import { afterEach, expect, test } from "bun:test";
import { readSettings } from "../src/settings/index.ts";
import { startApp, type TestApp } from "./support/app.ts";
import { startModelServer } from "./support/model-servers.ts";

const closing: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of closing.splice(0)) await one.stop();
});

const read = (text: string) => readSettings(text, "wadi.toml", {}, { "server.port": 0 });

async function start(settings: string, listens = false) {
  const app = await startApp({ settings, listens, hasOpenMetrics: true });
  closing.unshift(app);
  return app;
}

const MODEL = '[[models]]\nid = "one"\nself_hosted = true\nupstream = { kind = "stub" }\n';
const STUBS = '[embeddings]\nkind = "stub"\n[search]\nkind = "stub"\n';

const embed = (app: TestApp, input = "Hello") =>
  app.post("/v1/embeddings", { model: "bge-m3", input });
const search = (app: TestApp) => app.post("/v1/search", { query: "test" });

const readReady = async (app: TestApp) =>
  (await (await app.get("/readyz", { key: null })).text()).split("\n").slice(1, 3);

/** A server of embeddings with delayed replies; it records health checks too. */
function startEmbedder() {
  const held: (() => void)[] = [];
  let isHeld = false;
  let arrive = () => {};
  const server = startModelServer({
    "GET /health": () => {
      looked.shift()?.();
      return new Response("");
    },
    async "POST /v1/embeddings"(body) {
      arrive();
      if (isHeld) await new Promise<void>((go) => held.push(go));
      const data = [body.input].flat().map((_, index) => {
        return { object: "embedding", index, embedding: new Array(1024).fill(0.03125) };
      });
      return { object: "list", data, usage: { prompt_tokens: 1, total_tokens: 1 } };
    },
  });
  closing.push(server);
  const looked: (() => void)[] = [];
  const count = (name: string) => server.asked.filter((one) => one === name).length;
  return {
    url: `${server.root}/v1`,
    countEmbeddings: () => count("POST /v1/embeddings"),
    countLooks: () => count("GET /health"),
    /** Resolves with the next look at its health. */
    waitForLook: () => new Promise<void>((resolve) => looked.push(resolve)),
    /** Resolves with the next request, which waits for `release`. */
    hold() {
      isHeld = true;
      return new Promise<void>((resolve) => {
        arrive = resolve;
      });
    },
    release() {
      isHeld = false;
      for (const go of held.splice(0)) go();
    },
  };
}
const name = (url: string, more = "") =>
  `${MODEL}[embeddings]\nkind = "openai"\nurls = ["${url}"]\n${more}\n`;

test("an added service answers from the next request, and a removed one stops answering", async () => {
  const app = await start(MODEL);
  expect([(await embed(app)).status, (await search(app)).status]).toEqual([503, 503]);
  expect(await readReady(app)).toEqual(["embeddings off", "search off"]);
  await app.app.change(read(MODEL + STUBS));
  expect([(await embed(app)).status, (await search(app)).status]).toEqual([200, 200]);
  expect(await readReady(app)).toEqual(["embeddings on", "search on"]);
  await app.app.change(read(MODEL));
  expect([(await embed(app)).status, (await search(app)).status]).toEqual([503, 503]);
  expect(await readReady(app)).toEqual(["embeddings off", "search off"]);
});

test("a new quota applies at once and keeps the requests already counted", async () => {
  const limit = (count: number) =>
    MODEL + STUBS.replaceAll('"stub"\n', `"stub"\nrequests_per_minute = ${count}\n`);
  const app = await start(limit(2));
  const ask = async () => [(await embed(app)).status, (await search(app)).status];
  expect([await ask(), await ask(), await ask()]).toEqual([
    [200, 200],
    [200, 200],
    [429, 429],
  ]);
  await app.app.change(read(limit(3)));
  expect([await ask(), await ask()]).toEqual([
    [200, 200],
    [429, 429],
  ]);
  await app.app.change(read(limit(1)));
  await app.clock.advance(30_000);
  expect(await ask()).toEqual([429, 429]);
});

test("a request in progress ends with the server that it began with", async () => {
  const [old, other] = [startEmbedder(), startEmbedder()];
  const app = await start(name(old.url));
  const arrived = old.hold();
  const first = embed(app);
  await arrived;
  await app.app.change(read(name(other.url)));
  expect((await embed(app)).status).toBe(200);
  expect([old.countEmbeddings(), other.countEmbeddings()]).toEqual([1, 1]);
  old.release();
  expect((await first).status).toBe(200);
  expect([old.countEmbeddings(), other.countEmbeddings()]).toEqual([1, 1]);
});

test("a new capacity applies at once, also to waiting requests", async () => {
  const server = startEmbedder();
  const size = (places: number, queue: number) =>
    name(server.url, `max_concurrent = ${places}\nmax_queued = ${queue}`);
  const app = await start(size(1, 0));
  const arrived = server.hold();
  const first = embed(app, "first");
  await arrived;
  const full = await embed(app, "none");
  expect([full.status, await full.text()]).toEqual([
    429,
    expect.stringContaining("capacity_exceeded"),
  ]);
  await app.app.change(read(size(1, 1)));
  const second = embed(app, "second");
  const readFigures = async () => (await app.get("/metrics", { key: null })).text();
  const QUEUED = 'wadi_service_requests_queued{service="embeddings"} 1';
  while (!(await readFigures()).includes(QUEUED));
  const third = server.hold();
  await app.app.change(read(size(2, 1)));
  await third;
  server.release();
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
});

test("the state of its servers survives a change of sizes, and is discarded by any other change", async () => {
  const server = startEmbedder();
  const seen = server.waitForLook();
  const app = await start(name(server.url), true);
  await seen;
  await app.app.change(
    read(name(server.url, "max_concurrent = 1\nmax_queued = 0\nrequests_per_minute = 5")),
  );
  // A newly watched server is checked before the first request.
  expect((await embed(app)).status).toBe(200);
  expect(server.countLooks()).toBe(1);
  const again = server.waitForLook();
  await app.app.change(read(name(server.url, 'timeout = "9s"')));
  await again;
  expect(server.countLooks()).toBe(2);
});

test("readiness reports a removed server, and chats stay in service", async () => {
  const server = startEmbedder();
  const seen = server.waitForLook();
  const app = await start(name(server.url), true);
  await seen;
  expect(await readReady(app)).toEqual(["embeddings on", "search off"]);
  await app.app.change(read(name("http://127.0.0.1:1/v1")));
  while ((await readReady(app))[0] !== "embeddings down");
  expect((await app.get("/readyz", { key: null })).status).toBe(200);
  expect((await embed(app)).status).toBe(503);
  expect((await app.chat("Hello")).status).toBe(201);
  await app.app.change(read(name(server.url)));
  expect(await readReady(app)).toEqual(["embeddings on", "search off"]);
});
