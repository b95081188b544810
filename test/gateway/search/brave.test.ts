// Tests the requests to Brave's web search, their limits, and the handling of its replies.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createBrave } from "../../../src/gateway/search/brave.ts";
import { readSettings } from "../../../src/settings/index.ts";
import {
  BRAVE_KEY,
  PAGES,
  type SearchServer,
  startBrave,
  writeBraveError,
  writeBraveReply,
  writeLimits,
} from "../../support/search-servers.ts";
import { type EngineTest, openTestEngine, outcomeOf } from "./engines.ts";

let server: SearchServer;
let own: EngineTest;
const open = (key = BRAVE_KEY) =>
  openTestEngine(`kind = "brave"\nurl = "${server.url}"\napi_key_env = "KEY"`, key);
beforeEach(() => {
  server = startBrave();
  own = open();
});
afterEach(async () => {
  await own[Symbol.asyncDispose]();
  await server.stop();
});

describe("the query", () => {
  test("requests plain web results in the given number, with the key", async () => {
    const query = 'a+b & c=d #1 100% "ü" 😀';
    expect(await outcomeOf(own.search(query, { max_results: 7 }))).toHaveLength(7);
    const [asked] = server.asked;
    expect(asked!.path).toBe("/res/v1/web/search");
    expect(asked!.query).toEqual({
      q: query,
      count: "7",
      text_decorations: "false",
      result_filter: "web",
    });
    expect(asked!.raw).not.toContain("+");
    const { headers } = asked!;
    expect(headers.get("x-subscription-token")).toBe(BRAVE_KEY);
    // Brave is a third party: our internal headers are not sent.
    expect(headers.get("x-request-id")).toBeNull();
    expect(headers.get("authorization")).toBeNull();
  });

  const LANGUAGES: [language: string, name: string | undefined][] = [
    ["en", "en"],
    ["de", "de"],
    ["ja", "jp"],
    ["zh", "zh-hans"],
    ["pt", "pt-br"],
    ["no", "nb"],
    ["nb", "nb"],
    ["ar", "ar"],
    ["eo", undefined],
    ["jp", undefined],
    ["xx", undefined],
  ];
  for (const [language, name] of LANGUAGES) {
    test(`names the language ${language} ${name ?? "not at all"}`, async () => {
      expect((await own.search("x", { language })).ok).toBe(true);
      expect(server.asked[0]!.query.search_lang).toBe(name!);
    });
  }

  test("every two-letter language is mapped to one of Brave's, or omitted", async () => {
    const letters = [..."abcdefghijklmnopqrstuvwxyz"];
    const refused: string[] = [];
    for (const language of letters.flatMap((a) => letters.map((b) => a + b))) {
      if (!(await own.search("x", { language })).ok) refused.push(language);
    }
    expect(refused).toEqual([]);
  });

  test("has at most fifty words", async () => {
    const words = Array.from({ length: 60 }, (_, n) => `w${n}`);
    expect((await own.search(` ${words.join("\n ")} `)).ok).toBe(true);
    expect(server.asked[0]!.query.q).toBe(words.slice(0, 50).join(" "));
    await own.search(words.slice(0, 50).join("  "));
    expect(server.asked[1]!.query.q).toBe(words.slice(0, 50).join("  "));
    expect((await own.search("😀".repeat(400))).ok).toBe(true);
  });
});

describe("the reply", () => {
  test("is returned as hits", async () => {
    expect(await own.search("x")).toMatchObject({ ok: true, attempts: 1 });
    expect(await outcomeOf(own.search("x"))).toEqual(
      PAGES.slice(0, 5).map(
        ({ title, url, content }) => ({ title, url, snippet: content }) as never,
      ),
    );
  });

  test("without `web` is no hits", async () => {
    server.script = ({ query }) => writeBraveReply(query.q!, []);
    expect(await outcomeOf(own.search("x"))).toEqual([]);
    server.script = () => Response.json({ type: "search", web: null });
    expect(await outcomeOf(own.search("x"))).toEqual([]);
  });

  for (const web of [7, "x", [], {}, { results: null }, { results: {} }]) {
    test(`with ${JSON.stringify(web)} as \`web\` is a failure`, async () => {
      server.script = () => Response.json({ type: "search", web });
      expect(await outcomeOf(own.search("x"))).toMatchObject({ code: "upstream_error" });
    });
  }

  test("that is not JSON is a failure", async () => {
    server.script = () => new Response("<html>");
    expect(await outcomeOf(own.search("x"))).toMatchObject({ code: "upstream_error" });
  });
});

describe("its errors", () => {
  test("a wrong key, reported as 422, is a configuration error", async () => {
    await using other = open("another-key");
    const refused = {
      code: "model_unavailable",
      reason: "it refuses our key",
      upstreamStatus: 422,
    };
    expect(await outcomeOf(other.search("x"))).toMatchObject(refused);
    server.script = () => {
      const errors = [{ type: "missing", loc: ["header", "x-subscription-token"] }];
      return writeBraveError(422, "VALIDATION", { errors });
    };
    expect(await outcomeOf(own.search("x"))).toMatchObject(refused);
  });

  test("a bad request is not a key error", async () => {
    for (const meta of [{}, { errors: "x" }, { errors: [null, {}, { loc: ["query", "q"] }] }]) {
      server.script = () => writeBraveError(422, "VALIDATION", meta);
      expect(await outcomeOf(own.search("x"))).toMatchObject({
        code: "upstream_error",
        reason: "it refuses the request",
      });
    }
    for (const text of ["", "null", "[]", '{"error":7}', '{"error":null}']) {
      server.script = () => new Response(text, { status: 422 });
      expect(await outcomeOf(own.search("x"))).toMatchObject({ code: "upstream_error" });
    }
  });

  const CODES: [status: number, code: string][] = [
    [400, "upstream_error"],
    [401, "model_unavailable"],
    [402, "model_unavailable"],
    [403, "model_unavailable"],
    [404, "model_unavailable"],
    [500, "upstream_error"],
    [502, "upstream_error"],
    [503, "upstream_rate_limited"],
    [504, "upstream_timeout"],
  ];
  for (const [status, code] of CODES) {
    test(`${status} is ${code}`, async () => {
      server.script = () => writeBraveError(status, "CODE", {}, {});
      const reply = await outcomeOf(own.search("x"));
      expect(reply).toMatchObject({ code, upstreamStatus: status, retryAfterMs: undefined });
    });
  }
});

describe("a reached limit", () => {
  test("of the month blocks requests until its end, and the engine is down", async () => {
    server.script = () => writeBraveError(429, "RATE_LIMITED", {}, writeLimits("0, 0"));
    expect(await own.search("x")).toMatchObject({
      code: "upstream_rate_limited",
      retryAfterMs: 1_419_704_000,
    });
    expect(own.engine.isDown()).toBe(true);
    await own.clock.advance(1_419_703_000);
    expect(own.engine.isDown()).toBe(false);
    expect(await own.search("x")).toMatchObject({ retryAfterMs: 1_000, attempts: 0 });
    expect(server.asked).toHaveLength(1);
    server.script = null;
    await own.clock.advance(1_000);
    expect((await own.search("x")).ok).toBe(true);
  });

  test("of the second ends after one, also on a plan without a month", async () => {
    for (const limits of [writeLimits("0, 12"), writeLimits("0, 0", "1, 1419704", "50, 0")]) {
      server.script = () => writeBraveError(429, "RATE_LIMITED", {}, limits);
      expect(await own.search("x")).toMatchObject({ retryAfterMs: 1_000 });
      expect(own.engine.isDown()).toBe(false);
      await own.clock.advance(1_000);
    }
    expect(server.asked).toHaveLength(2);
  });

  test("without its headers follows Retry-After, and without that blocks nothing", async () => {
    server.script = () => writeBraveError(429, "RATE_LIMITED", {}, { "retry-after": "5" });
    expect(await own.search("x")).toMatchObject({ retryAfterMs: 5_000 });
    await own.clock.advance(5_000);
    server.script = () => writeBraveError(429, "RATE_LIMITED", {}, {});
    expect(await outcomeOf(own.search("x"))).toMatchObject({ retryAfterMs: undefined });
    server.script = null;
    expect((await own.search("x")).ok).toBe(true);
  });

  test("of an exhausted window takes precedence over a shorter Retry-After", async () => {
    const limits = { ...writeLimits("0, 0", "1, 3600"), "retry-after": "5" };
    server.script = () => writeBraveError(429, "RATE_LIMITED", {}, limits);
    expect(await own.search("x")).toMatchObject({ retryAfterMs: 3_600_000 });
  });

  test("in a successful reply blocks nothing: only successes count", async () => {
    for (let n = 0; n < 3; n++) expect((await own.search("x")).ok).toBe(true);
    expect(server.asked).toHaveLength(3);
  });
});

test("without a url Brave's address is used, and a key is required", () => {
  const read = (lines: string) =>
    readSettings(`[search]\nkind = "brave"\n${lines}`, "wadi.toml", { KEY: "k" }, {}).search;
  const { url, path } = createBrave(read('api_key_env = "KEY"'));
  expect(url + path).toBe("https://api.search.brave.com/res/v1/web/search");
  expect(() => read("")).toThrow("search.api_key_env");
});

describe("the rate-limit windows", () => {
  type Lists = [limit: string | null, remaining: string | null, reset: string | null];
  const CASES: [...lists: Lists, wait_ms: number | null][] = [
    ["1, 15000", "0, 12", "1, 1419704", 1_000],
    ["1, 15000", "0, 0", "1, 1419704", 1_419_704_000],
    ["1, 15000", "1, 0", "1, 1419704", 1_419_704_000],
    ["1, 15000", "1, 12", "1, 1419704", null],
    // A plan without a monthly limit always reports nothing left of it.
    ["50, 0", "0, 0", "1, 1419704", 1_000],
    ["50, 0", "49, 0", "1, 1419704", null],
    ["1,15000", "0,0", "1,90", 90_000],
    ["1, 5", "0, 0", "90, 8", 90_000],
    ["1", "0", "0", 1_000],
    ["1", "0", "99999999999", 31 * 86_400_000],
    [null, "0, 5", "2, 9", 2_000],
    ["1, 2", null, "1, 2", null],
    ["1, 2", "0, 0", null, null],
    ["x", "y", "z", null],
    ["1, 5", "0, 0", ", 8", 8_000],
    ["1, 5", "0, 0", "-4, 8", 8_000],
  ];
  const settings = readSettings(
    '[search]\nkind = "brave"\napi_key_env = "KEY"',
    "wadi.toml",
    { KEY: BRAVE_KEY },
    {},
  );
  const kind = createBrave(settings.search);
  for (const [limit, remaining, reset, wait_ms] of CASES) {
    test(`${limit} · ${remaining} · ${reset} is ${wait_ms} ms`, () => {
      const limitHeaders: Record<string, string | null> = {
        "x-ratelimit-limit": limit,
        "x-ratelimit-remaining": remaining,
        "x-ratelimit-reset": reset,
      };
      expect(kind.readPause!((name) => limitHeaders[name] ?? null)).toBe(wait_ms);
    });
  }
});
