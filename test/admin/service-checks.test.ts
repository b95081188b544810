// Tests the check of embeddings and search, which requests each as the gateway does.
import { afterEach, describe, expect, test } from "bun:test";
import { checkInstallation } from "../../src/admin/index.ts";
import type { ServiceOpeners } from "../../src/admin/service-checks.ts";
import { readSettings } from "../../src/settings/index.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { type ModelServer, refuse, startModelServer } from "../support/model-servers.ts";

const clock = createManualClock();
const started: ModelServer[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
});

type Embed = NonNullable<ReturnType<ServiceOpeners["openEmbedder"]>>["embed"];
type Search = NonNullable<ReturnType<ServiceOpeners["openSearchEngine"]>>["search"];
type Plan = Parameters<ServiceOpeners["openEmbedder"]>[0];

const VECTOR = new Float32Array(1024);
const embed: Embed = async () => ({ ok: true, vectors: [VECTOR], prompt_tokens: 1 });
const hit = { title: "A", url: "https://a.example", snippet: "a" };
const search: Search = async () => ({ ok: true, hits: [hit] });
const fail = (reason: string) =>
  ({ ok: false, code: "upstream_error", retryable: true, reason }) as const;

/** Openers with these results that record their calls. */
function pretend({
  embedder = embed,
  engine = search,
}: {
  embedder?: Embed;
  engine?: Search;
} = {}) {
  const events: string[] = [];
  const plans: Plan[] = [];
  const note = (name: string) => ({
    isDown: () => false,
    start: () => void events.push(`${name} starts`),
    stop: () => void events.push(`${name} stops`),
  });
  const openers: ServiceOpeners = {
    openEmbedder(plan) {
      plans.push(plan);
      if (plan.kind === "off") return null;
      return { ...note("embeddings"), embed: embedder, countTokens: () => 1 };
    },
    openSearchEngine: (plan) =>
      plan.kind === "off" ? null : { ...note("search"), search: engine },
  };
  return { events, plans, openers };
}

async function check(text: string, openers: ServiceOpeners | undefined, env = {}) {
  const rows = await checkInstallation({
    settings: readSettings(text, "wadi.toml", env, {}),
    settingsName: "wadi.toml",
    place: { kind: "sqlite", file: "/nowhere/wadi.db" },
    dataName: "/nowhere",
    secretsKeyFile: "/nowhere/secrets.key",
    unusedFile: null,
    checkBackups: async () => {},
    clock,
    ids: createSeededIds(),
    openers,
  });
  const of = (what: string) => rows.filter((row) => row.what === what);
  return { rows, embeddings: of("embeddings"), search: of("search") };
}

const REAL = `[[models]]
id = "real"
upstream = { kind = "openai", urls = ["http://127.0.0.1:1/v1"] }
`;
const tei = (...urls: string[]) =>
  `[embeddings]\nkind = "tei"\nurls = ${JSON.stringify(urls)}\n[search]\nkind = "off"\n`;
const SEARXNG = '[search]\nkind = "searxng"\nurl = "http://10.0.0.8:8888"\n';
const NOBODY = "http://127.0.0.1:1";

test("a service that is off is ok, and the report says what calls receive", async () => {
  const { embeddings, search } = await check(REAL, pretend().openers);
  const says = "calls answer 503 service_unavailable";
  expect(embeddings).toEqual([{ status: "ok", what: "embeddings", name: "off", says }]);
  expect(search).toEqual([{ status: "ok", what: "search", name: "off", says }]);
});

describe("the stub", () => {
  test("is ok where no real model exists", async () => {
    const { embeddings, search } = await check("", pretend().openers);
    expect(embeddings).toMatchObject([{ status: "ok", name: "stub", says: "vectors made inside" }]);
    expect(search).toMatchObject([{ status: "ok", name: "stub" }]);
    expect(search[0]!.says).toMatch(/^pages made inside, one query asked, 1 result in \d+ ms$/);
  });

  test("gives a warning beside real models, as its vectors mean nothing", async () => {
    const named = '[embeddings]\nkind = "stub"\n[search]\nkind = "stub"\n';
    const { embeddings, search } = await check(REAL + named, pretend().openers);
    const says = "vectors made inside, beside real models: do not store them";
    expect(embeddings).toMatchObject([{ status: "warn", says }]);
    expect(search).toMatchObject([{ status: "warn" }]);
    const inside = '[[models]]\nid = "inside"\nupstream = { kind = "stub" }\n';
    const alone = await check(inside + named, pretend().openers);
    expect(alone.embeddings[0]!.status).toBe("ok");
  });

  test("that searches a configured folder is ok, but the folder has to exist", async () => {
    const folder = `${REAL}[search]\nkind = "stub"\nfolder = "./docs"\n`;
    const { search } = await check(folder, pretend().openers);
    expect(search).toMatchObject([{ status: "ok" }]);
    expect(search[0]!.says).toStartWith("the pages of ./docs, one query asked, 1 result");
    const engine: Search = async () => fail("its folder cannot be read");
    const lost = await check(folder, pretend({ engine }).openers);
    expect(lost.search).toMatchObject([
      { status: "fail", says: "one query asked: its folder cannot be read" },
    ]);
  });
});

describe("the embedding servers", () => {
  test("each replica gets its own request, with a short text and a long one", async () => {
    const requests: { inputs: readonly string[]; url: string }[] = [];
    const { openers, plans, events } = pretend();
    const openerSet: ServiceOpeners = {
      ...openers,
      openEmbedder(plan, options) {
        const embedder = openers.openEmbedder(plan, options)!;
        return {
          ...embedder,
          embed(ask, signal) {
            requests.push({ inputs: ask.inputs, url: plan.urls[0]! });
            return embedder.embed(ask, signal);
          },
        };
      },
    };
    const { embeddings } = await check(tei(NOBODY, "http://127.0.0.1:2"), openerSet);
    expect(embeddings.map(({ status, name, url }) => [status, name, url])).toEqual([
      ["ok", "tei", NOBODY],
      ["ok", "tei", "http://127.0.0.1:2"],
    ]);
    expect(embeddings[0]!.says).toMatch(/^one text in \d+ ms, 1024 numbers, 6000 words in \d+ ms$/);
    expect(plans.map(({ urls }) => urls.length)).toEqual([1, 1]);
    const ofFirst = requests.filter(({ url }) => url === NOBODY).map(({ inputs }) => inputs);
    expect(ofFirst.map((inputs) => inputs.length)).toEqual([1, 1]);
    const words = ofFirst.map(([text]) => text!.split(" ").length);
    expect(words).toEqual([1, 6_000]);
    // A check sends no input that callers may not send.
    expect(ofFirst[1]![0]!.length).toBeLessThanOrEqual(32_000);
    // Without health checks: a check sends its own request, once.
    expect(events.filter((event) => event.startsWith("embeddings"))).toEqual([]);
  });

  test("a failing replica gives the reason, and gets no more requests", async () => {
    let requests = 0;
    const embedder: Embed = async () => {
      requests++;
      return fail("the connection was refused");
    };
    const { embeddings } = await check(tei(NOBODY), pretend({ embedder }).openers);
    expect(embeddings).toMatchObject([{ status: "fail", says: "the connection was refused" }]);
    expect(requests).toBe(1);
  });

  test("a replica that takes no long text gives a warning with the reason", async () => {
    const embedder: Embed = async (ask, signal) =>
      ask.inputs[0]!.length > 100 ? fail("it answered with status 500") : embed(ask, signal);
    const { embeddings } = await check(tei(NOBODY), pretend({ embedder }).openers);
    expect(embeddings[0]).toMatchObject({ status: "warn" });
    expect(embeddings[0]!.says).toEndWith(
      "not 6000 words in one text: it answered with status 500",
    );
  });

  test("a replica that never answers fails after twenty seconds", async () => {
    const requests = Promise.withResolvers<void>();
    const embedder: Embed = (_, signal) => {
      requests.resolve();
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(fail("the caller left")));
      });
    };
    const checked = check(tei(NOBODY), pretend({ embedder }).openers);
    await requests.promise;
    await clock.advance(20_000);
    expect((await checked).embeddings[0]).toMatchObject({
      status: "fail",
      says: "no answer in 20 s",
    });
  });

  test("a replica whose health fails its check fails, although it answers", async () => {
    const seen: (string | null)[] = [];
    const server = startModelServer({
      "GET /health": (_, request) => {
        seen.push(request.headers.get("authorization"));
        return refuse(503, "sick");
      },
    });
    started.push(server);
    const text = (more: string) =>
      `[embeddings]\nkind = "openai"\nurls = ["${server.root}/v1"]\napi_key_env = "K"\n${more}\n`;
    const look = async (more: string, parts: Parameters<typeof pretend>[0] = {}) =>
      (await check(text(more), pretend(parts).openers, { K: "sk-1" })).embeddings[0]!;
    expect(await look("")).toMatchObject({
      status: "fail",
      says: expect.stringContaining("its /health says that it is not well"),
    });
    expect(seen).toEqual(["Bearer sk-1"]);
    expect((await look('health_every = "0s"')).status).toBe("warn");
    expect((await look('health = "/ping"')).status).toBe("ok");
    const embedder: Embed = async (ask, signal) =>
      ask.inputs[0]!.length > 100 ? fail("it is too long") : embed(ask, signal);
    expect((await look("", { embedder })).status).toBe("fail");
  });
});

describe("the search engine", () => {
  test("gets one query for one result, and is then released", async () => {
    const requests: { query: string; max_results: number }[] = [];
    const engine: Search = async ({ query, max_results }) => {
      requests.push({ query, max_results });
      return { ok: true, hits: [hit, hit] };
    };
    const { openers, events } = pretend({ engine });
    const { search } = await check(SEARXNG, openers);
    expect(search[0]).toMatchObject({
      ...{ status: "ok", name: "searxng", url: "http://10.0.0.8:8888" },
      says: expect.stringMatching(/^one query asked, 2 results in \d+ ms$/),
    });
    expect(requests).toEqual([{ query: "test", max_results: 1 }]);
    expect(events).toEqual(["search stops"]);
  });

  test("that finds the one result asked for is well", async () => {
    const { search } = await check(SEARXNG, pretend().openers);
    expect(search[0]).toMatchObject({
      ...{ status: "ok", says: expect.stringMatching(/^one query asked, 1 result in \d+ ms$/) },
    });
  });

  test("without any hit gives a warning; a failing one gives the reason and the request", async () => {
    const empty: Search = async () => ({ ok: true, hits: [] });
    const nothing = await check(SEARXNG, pretend({ engine: empty }).openers);
    expect(nothing.search[0]).toMatchObject({ status: "warn" });
    const closed: Search = async () => fail("it refuses our key");
    const brave = '[search]\nkind = "brave"\napi_key_env = "BRAVE"\n';
    const env = { BRAVE: "bsa-secret" };
    const { search, rows } = await check(brave, pretend({ engine: closed }).openers, env);
    expect(search[0]).toMatchObject({
      ...{ status: "fail", name: "brave", says: "one query asked: it refuses our key" },
    });
    expect(JSON.stringify(rows)).not.toContain("bsa-secret");
  });
});

test("a stand-alone check opens what a server would open", async () => {
  const { rows } = await check('[embeddings]\nkind = "off"\n[search]\nkind = "off"\n', undefined);
  expect(rows.map(({ what, status }) => [what, status])).toContainEqual(["embeddings", "ok"]);
  // After the models, before the clock.
  expect(rows.map(({ what }) => what).slice(-3)).toEqual(["model", "embeddings", "search"]);
});
