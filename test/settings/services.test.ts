// Tests the settings of embeddings, search and thinking, and their errors.
import { describe, expect, test } from "bun:test";
import {
  applySettings,
  describeChange,
  readSettings,
  type ServiceStandIn,
} from "../../src/settings/index.ts";
import { type Env, refusalOf, STUB } from "./refusal.ts";

const read = (text: string, env: Env = {}, standIn?: ServiceStandIn) =>
  readSettings(text, "wadi.toml", env, {}, { standIn });
const kinds = (text: string, env: Env = {}, standIn?: ServiceStandIn) => {
  const { embeddings, search } = read(text, env, standIn);
  return [embeddings.kind, search.kind];
};

const TEI = '[embeddings]\nkind = "tei"\nurls = ["http://10.0.0.7:8080"]\n';
const SEARXNG = '[search]\nkind = "searxng"\nurl = "http://10.0.0.8:8888"\n';

describe("the value auto", () => {
  test("means the stub if no model is configured; beside models it means off", () => {
    expect(kinds("")).toEqual(["stub", "stub"]);
    expect(kinds("[limits]\nrequests_per_minute = 7\n")).toEqual(["stub", "stub"]);
    expect(kinds(STUB)).toEqual(["off", "off"]);
    expect(kinds(`${STUB}[embeddings]\nkind = "auto"\n`)).toEqual(["off", "off"]);
  });

  test("means the stub in development, beside models too", () => {
    expect(kinds(STUB, {}, "unnamed")).toEqual(["stub", "stub"]);
    expect(kinds(TEI + SEARXNG, {}, "unnamed")).toEqual(["tei", "searxng"]);
  });

  test("offline, a configured service is off, and others are the stub", () => {
    expect(kinds(STUB, {}, "offline")).toEqual(["stub", "stub"]);
    expect(kinds(TEI + SEARXNG, {}, "offline")).toEqual(["off", "off"]);
    const inside = '[embeddings]\nkind = "stub"\n[search]\nkind = "stub"\nfolder = "./pages"\n';
    expect(kinds(inside, {}, "offline")).toEqual(["stub", "stub"]);
  });

  test("an explicit value applies whatever else is set", () => {
    const off = '[embeddings]\nkind = "off"\n[search]\nkind = "off"\n';
    const stub = '[embeddings]\nkind = "stub"\n[search]\nkind = "stub"\n';
    for (const standIn of ["unnamed", "none", "offline"] as const) {
      expect(kinds(off, {}, standIn)).toEqual(["off", "off"]);
      expect(kinds(STUB + stub, {}, standIn)).toEqual(["stub", "stub"]);
    }
  });

  test("one service is configured without the other", () => {
    expect(kinds(STUB + TEI)).toEqual(["tei", "off"]);
    expect(kinds(TEI)).toEqual(["tei", "stub"]);
  });
});

describe("variables take precedence over the file", () => {
  test("kinds, lists and numbers", () => {
    const env = {
      WADI_EMBEDDINGS__KIND: "openai",
      WADI_EMBEDDINGS__URLS: "http://a:1/v1/, http://b:2/v1",
      WADI_EMBEDDINGS__MAX_BATCH: "8",
      WADI_SEARCH__KIND: "off",
      WADI_SEARCH__TIMEOUT: "3s",
      WADI_THINK__ATTEMPTS: "5",
    };
    const { embeddings, search, think } = read(TEI + SEARXNG, env);
    expect(embeddings).toMatchObject({
      kind: "openai",
      urls: ["http://a:1/v1", "http://b:2/v1"],
      max_batch: 8,
    });
    expect(search).toMatchObject({ kind: "off", url: "http://10.0.0.8:8888", timeout_ms: 3_000 });
    expect(think).toEqual({ attempts: 5, attempts_more: 2 });
  });

  test.each<[Env, string]>([
    [
      { WADI_SEARCH__KIND: "bing" },
      'WADI_SEARCH__KIND must be "auto", "off", "searxng", "brave" or "stub", but is "bing"',
    ],
    [
      { WADI_EMBEDDINGS__URLS: "10.0.0.7:8080" },
      "WADI_EMBEDDINGS__URLS must be an http or https URL without user, query or fragment",
    ],
    [
      { WADI_EMBEDDINGS__URLS: "http://a:1" },
      'embeddings.kind must be "openai" or "tei" where urls are named',
    ],
    [{ WADI_EMBEDDINGS__HEADERS: "x" }, "WADI_EMBEDDINGS__HEADERS must be a table, but is text"],
  ])("%j", (env, message) => {
    expect(refusalOf("", env)).toBe(message);
  });
});

describe("keys", () => {
  const keyed = `${TEI}api_key_env = "TEI_KEY"\n[search]\nkind = "brave"\napi_key_env = "BRAVE"\n`;

  test("are read from the environment or a file, for services that send requests", () => {
    const { embeddings, search } = read(keyed, { TEI_KEY: "sk-1", BRAVE: "sk-2" });
    expect([embeddings.api_key, search.api_key]).toEqual(["sk-1", "sk-2"]);
    const readText = (path: string) => `${path.toUpperCase()}\n`;
    const file = keyed.replace('api_key_env = "TEI_KEY"', 'api_key_file = "tei.key"');
    const settings = readSettings(file, "wadi.toml", { BRAVE: "sk-2" }, {}, { readText });
    expect(settings.embeddings.api_key).toBe("TEI.KEY");
  });

  test("need not exist for a service that is off or offline", () => {
    const off = { WADI_EMBEDDINGS__KIND: "off", WADI_SEARCH__KIND: "off" };
    for (const { embeddings, search } of [read(keyed, off), read(keyed, {}, "offline")]) {
      expect([embeddings.kind, embeddings.api_key]).toEqual(["off", null]);
      expect([search.kind, search.api_key]).toEqual(["off", null]);
    }
    expect(refusalOf(keyed, { BRAVE: "sk-2" })).toBe(
      "wadi.toml:4:1: embeddings.api_key_env names an environment variable that is not set",
    );
  });
});

describe("refused settings name the line", () => {
  test.each<[string, string]>([
    [
      '[embeddings]\nurls = ["http://10.0.0.7:8080"]\n',
      'wadi.toml:1:2: embeddings.kind must be "openai" or "tei" where urls are named',
    ],
    [
      '[limits]\n\n[embeddings]\nkind = "auto"\nurls = ["http://10.0.0.7:8080"]\n',
      'wadi.toml:4:1: embeddings.kind must be "openai" or "tei" where urls are named',
    ],
    [
      '[embeddings]\nkind = "tei"\n',
      'wadi.toml:1:2: embeddings.urls must not be empty with kind "tei"',
    ],
    [
      '[embeddings]\nkind = "openai"\nurls = []\n',
      'wadi.toml:3:1: embeddings.urls must not be empty with kind "openai"',
    ],
    [
      '[embeddings]\nkind = "stub"\nurls = ["http://10.0.0.7:8080"]\n',
      'wadi.toml:3:1: embeddings.urls must be empty with kind "stub", which asks no server',
    ],
    [
      `${TEI}health_every = "10ms"`,
      "wadi.toml:4:1: embeddings.health_every must be 0s or at least 1s",
    ],
    [
      `${TEI}health = "ping"`,
      'wadi.toml:4:1: embeddings.health must be empty or a path that begins with /, but is "ping"',
    ],
    [
      `${TEI}headers = { Authorization = "Bearer x" }`,
      "wadi.toml:4:13: embeddings.headers.Authorization cannot be set; use api_key_env or api_key_file",
    ],
    [
      `${SEARXNG}headers = { Host = "x" }`,
      "wadi.toml:4:13: search.headers.Host is set by the gateway itself",
    ],
    [
      `${TEI}headers = { Host = "x" }`,
      "wadi.toml:4:13: embeddings.headers.Host is set by the gateway itself",
    ],
    [
      `${TEI}max_batch = 65`,
      "wadi.toml:4:1: embeddings.max_batch must be an integer from 0 to 64, but is 65",
    ],
    [
      `${TEI}max_concurrent = 0`,
      "wadi.toml:4:1: embeddings.max_concurrent must be an integer from 1 to 10000, but is 0",
    ],
    [
      `${TEI}api_key_env = "A"\napi_key_file = "b"\n`,
      "wadi.toml:4:1: embeddings.api_key_env cannot stand beside api_key_file",
    ],
    [
      '[search]\nurl = "http://10.0.0.8:8888"\n',
      'wadi.toml:1:2: search.kind must be "searxng" or "brave" where a url is named',
    ],
    [
      '[search]\nfolder = "./pages"\n',
      'wadi.toml:1:2: search.kind must be "stub" where a folder is named',
    ],
    [
      '[search]\nkind = "searxng"\n',
      'wadi.toml:1:2: search.url must not be empty with kind "searxng"',
    ],
    ['[search]\nkind = "brave"\n', "wadi.toml:1:2: search.api_key_env is required by brave"],
    [
      `${SEARXNG}folder = "./pages"\n`,
      'wadi.toml:4:1: search.folder must be empty with kind "searxng", which looks elsewhere',
    ],
    [
      '[search]\nkind = "searxng"\nurl = "http://10.0.0.8:8888/?key=s3cret"\n',
      "wadi.toml:3:1: search.url must be an http or https URL without user, query or fragment",
    ],
    [
      '[search]\nkind = "stub"\nurl = "http://10.0.0.8:8888"\n',
      'wadi.toml:3:1: search.url must be empty with kind "stub", which asks no server',
    ],
    [
      "[search]\nkind = 1\n",
      'wadi.toml:2:1: search.kind must be "auto", "off", "searxng", "brave" or "stub", but is 1',
    ],
    [
      "[think]\nattempts = 2\n",
      "wadi.toml:2:1: think.attempts must be an integer from 3 to 9, but is 2",
    ],
    [
      "[think]\nattempts = 8\n",
      "wadi.toml:1:2: think.attempts_more must be at most 1 beside attempts = 8: 9 in all",
    ],
    [
      "[think]\nattempts = 4\nattempts_more = 6\n",
      "wadi.toml:3:1: think.attempts_more must be at most 5 beside attempts = 4: 9 in all",
    ],
  ])("%#", (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });

  test("nine attempts in total are accepted", () => {
    expect(read("[think]\nattempts = 9\nattempts_more = 0\n").think.attempts).toBe(9);
    expect(read("[think]\nattempts = 3\nattempts_more = 6\n").think.attempts_more).toBe(6);
  });

  test("addresses of a service that is off are allowed", () => {
    const text = (TEI + SEARXNG).replaceAll(/kind = "\w+"/g, 'kind = "off"');
    expect(kinds(text)).toEqual(["off", "off"]);
  });
});

describe("a reload", () => {
  test("takes all of them over, and reports the changed ones", () => {
    const before = read(STUB + TEI);
    const after = read(`${STUB + TEI}max_queued = 0\n${SEARXNG}[think]\nattempts_more = 0\n`);
    expect(applySettings(before, after)).toEqual({ settings: after, pending: [] });
    expect(describeChange(before, after)).toBe(
      "think.attempts_more; embeddings.max_queued; search.kind; search.url",
    );
  });

  test("reports the end of the stubs once a model is configured", () => {
    const change = describeChange(read(""), read(STUB));
    expect(change).toContain("embeddings.kind; search.kind");
  });

  test("reports that a key changed, and not which", () => {
    const text = `${TEI}api_key_env = "K"\n`;
    const change = describeChange(read(text, { K: "sk-1" }), read(text, { K: "sk-2" }));
    expect(change).toBe("embeddings.api_key");
  });
});
