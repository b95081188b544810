// POST /v1/search: permission, requests to the engine, replies, and failures of the engine.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { KEY } from "../../support/app.ts";
import {
  BRAVE_KEY,
  startBrave,
  startSearxng,
  writeErrorPage,
  writeSearxngReply,
} from "../../support/search-servers.ts";
import { createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";
import {
  readOutcome,
  readReply,
  readWaits,
  type SearchFront,
  startSearchFront,
  UNLIMITED,
} from "./search-front.ts";

let front: SearchFront;
beforeAll(async () => {
  front = await startSearchFront();
});
afterAll(() => front.stop());
beforeEach(() => {
  front.server.script = null;
  front.server.asked.length = 0;
});

test("gateway.does.3 gateway.endpoints.post_search gateway.resources.search_result.p1 a search gives hits of a title, a link and a snippet", async () => {
  const response = await front.search("what is what", {}, { headers: { "x-request-id": "mine" } });
  expect(response.headers.get("x-request-id")).toBe("mine");
  const reply = await readReply(response);
  expect(reply).toEqual({
    object: "list",
    data: Array.from({ length: 5 }, (_, index) => ({
      object: "search_result",
      index,
      title: `Page ${index}`,
      url: `https://example.org/${index}`,
      snippet: `What page ${index} says.`,
    })),
    query: "what is what",
  });
});

test("a lone surrogate in a query is U+FFFD to the engine and in the reply", async () => {
  const reply = await readReply(await front.search("a\ud83d b"));
  expect([reply.query, front.server.asked[0]!.query.q]).toEqual(["a\ufffd b", "a\ufffd b"]);
});

test("gateway.does.3 Brave returns the same", async () => {
  const search = `${UNLIMITED}api_key_env = "BRAVE"`;
  const server = startBrave();
  await using own = await startSearchFront(
    { server, kind: "brave", search },
    { env: { BRAVE: BRAVE_KEY } },
  );
  const ask = { query: "what is what", max_results: 20, language: "DE" };
  const [reply, same] = [await own.send(ask), await front.send(ask)];
  expect(await readReply(reply)).toEqual(await readReply(same));
  expect([own.server, front.server].map(({ asked: requests }) => requests[0]!.query)).toMatchObject(
    [
      { q: "what is what", count: "20", search_lang: "de" },
      { q: "what is what", language: "de" },
    ],
  );
});

test("gateway.resources.search_result.p1 snippets are plain text, links are http or https, and none is repeated", async () => {
  front.server.script = ({ query }) =>
    writeSearxngReply(query.q!, [
      {
        title: "A <b>title</b> &amp; more",
        url: "https://a.example",
        content: "Says&hellip; &lt;b&gt;",
      },
      { title: "Script", url: "javascript:alert(1)", content: "" },
      { title: "Again", url: "https://a.example/", content: "" },
      { title: "User", url: "https://bank.example@evil.example/", content: "" },
      { title: "", url: "http://b.example/x", content: null },
    ]);
  expect((await readReply(await front.search("x"))).data).toEqual([
    {
      object: "search_result",
      index: 0,
      title: "A title & more",
      url: "https://a.example/",
      snippet: "Says… <b>",
    },
    {
      object: "search_result",
      index: 1,
      title: "b.example",
      url: "http://b.example/x",
      snippet: "",
    },
  ]);
});

test("gateway.endpoints.post_search an empty result is an empty list", async () => {
  front.server.script = ({ query }) => writeSearxngReply(query.q!, []);
  expect(await readReply(await front.search("x"))).toEqual({
    object: "list",
    data: [],
    query: "x",
  });
});

describe("gateway.endpoints.post_search the body", () => {
  const GOOD: [title: string, body: object, results: number][] = [
    ["one character", { query: "x" }, 5],
    ["400 characters of two units each", { query: "😀".repeat(400) }, 5],
    ["leading and trailing white space", { query: " \n x \t" }, 5],
    ["the fewest results", { query: "x", max_results: 1 }, 1],
    ["the most results", { query: "x", max_results: 20 }, 20],
    ["a language in capitals", { query: "x", language: "FR" }, 5],
    ["a user", { query: "x", user: "😀".repeat(256) }, 5],
    ["fields that are not listed", { query: "x", model: 7, n: null, safe: {} }, 5],
  ];
  for (const [title, body, results] of GOOD) {
    test(`may have ${title}`, async () => {
      const reply = await readReply(await front.send(body));
      expect([reply.data.length, reply.query]).toEqual([
        results,
        (body as { query: string }).query,
      ]);
    });
  }

  const BAD: [title: string, body: unknown, param: string | null][] = [
    ["nothing", {}, "query"],
    ["a list", [], null],
    ["null", null, null],
    ["no JSON", "{", null],
    ["an empty query", { query: "" }, "query"],
    ["a query of white space", { query: " \t\n\u00a0\u3000" }, "query"],
    ["a query of 401 characters", { query: "x".repeat(401) }, "query"],
    ["a query that is null", { query: null }, "query"],
    ["a query that is a list", { query: ["x"] }, "query"],
    ["no results", { query: "x", max_results: 0 }, "max_results"],
    ["21 results", { query: "x", max_results: 21 }, "max_results"],
    ["half a result", { query: "x", max_results: 1.5 }, "max_results"],
    ["a number as a text", { query: "x", max_results: "5" }, "max_results"],
    ["null results", { query: "x", max_results: null }, "max_results"],
    ["a language by its name", { query: "x", language: "french" }, "language"],
    ["a language with a country", { query: "x", language: "fr-FR" }, "language"],
    ["a language of three letters", { query: "x", language: "deu" }, "language"],
    ["a language of one letter", { query: "x", language: "f" }, "language"],
    ["a language of other letters", { query: "x", language: "日本" }, "language"],
    ["a language and a line end", { query: "x", language: "fr\n" }, "language"],
    ["a language that is null", { query: "x", language: null }, "language"],
    ["a user of 257 characters", { query: "x", user: "x".repeat(257) }, "user"],
    ["a user that is null", { query: "x", user: null }, "user"],
    ["two faults, the first of which is reported", { query: "", max_results: 0 }, "query"],
  ];
  for (const [title, body, param] of BAD) {
    test(`must not have ${title}`, async () => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      expect(await readRefusal(await front.send(text))).toEqual([400, "invalid_request", param]);
      expect(front.server.asked).toEqual([]);
    });
  }
});

test("gateway.limits.body_size 100 KB are answered, and one byte more is refused", async () => {
  const [head, tail] = ['{"query":"x","more":"', '"}'];
  const fill = (bytes: number) => head + "x".repeat(bytes - head.length - tail.length) + tail;
  const LIMIT = 100 * 1_024;
  expect((await front.send(fill(LIMIT))).status).toBe(200);
  const reply = await front.send(fill(LIMIT + 1));
  expect(await readRefusal(reply)).toEqual([413, "request_too_large", null]);
});

describe("gateway.authentication.4 gateway.errors.scope_required the scope", () => {
  test("`search` alone is enough", async () => {
    const key = await createKey(front, { scopes: ["search"] });
    expect((await front.search("x", {}, { key })).status).toBe(200);
  });

  test("without it only the key is checked: 403 without `param`", async () => {
    const key = await createKey(front, {
      scopes: ["reasoning", "think", "embeddings", "agents"],
    });
    for (const body of [{ query: "x" }, {}, "{"]) {
      expect(await readRefusal(await front.send(body, { key }))).toEqual([
        403,
        "scope_required",
        undefined,
      ]);
    }
    expect(await readRefusal(await front.send({}, { key: null }))).toEqual([
      401,
      "missing_api_key",
      null,
    ]);
    expect(front.server.asked).toEqual([]);
  });
});

describe("gateway.errors.service_unavailable", () => {
  test("search that is switched off or not configured", async () => {
    await using off = await startSearchFront({ kind: "off", url: "" });
    expect(await readRefusal(await off.search("x"))).toEqual([503, "service_unavailable", null]);
    // An invalid request is reported first.
    expect(await readRefusal(await off.search(""))).toEqual([400, "invalid_request", "query"]);
    expect(readWaits(await off.search("x"))).toEqual([null, null]);
  });

  test("an engine that rejects our key: the log has the reason, the caller does not", async () => {
    const server = startSearxng({ formats: ["html"] });
    await using own = await startSearchFront({ server });
    const reply = await own.search("secret words");
    expect(readWaits(reply)).toEqual([null, null]);
    const message = "The search engine cannot take the request now.";
    expect(await reply.clone().text()).toContain(message);
    expect(await readOutcome(reply)).toBe("503 service_unavailable");
    expect(own.lines).toEqual([
      expect.objectContaining({
        level: "warn",
        code: "model_unavailable",
        upstream_status: 403,
        request_id: expect.any(String),
        account_id: expect.any(String),
        key_id: expect.any(String),
      }),
    ]);
    expect(JSON.stringify(own.lines)).toContain("search.formats must name json");
    expect(JSON.stringify(own.lines)).not.toMatch(/secret|127\.0\.0\.1/);
  });

  const STATES: [title: string, answer: () => Response, outcome: string][] = [
    ["its limiter", () => writeErrorPage(429, "Too Many Requests"), "503 service_unavailable"],
    ["no time for us", () => writeErrorPage(503, "Busy"), "503 service_unavailable"],
    ["a wrong address", () => writeErrorPage(404, "Not Found"), "503 service_unavailable"],
    ["an error", () => Response.json({ error: "x" }, { status: 500 }), "502 upstream_error"],
    ["a refusal of the query", () => writeErrorPage(400, "Bad Request"), "502 upstream_error"],
    ["a page", () => new Response("<!doctype html>"), "502 upstream_error"],
    [
      "only engines that did not answer",
      () => writeSearxngReply("x", [], [["brave", "timeout"]]),
      "502 upstream_error",
    ],
    ["a gateway that waited", () => writeErrorPage(504, "Time-out"), "504 upstream_timeout"],
  ];
  for (const [title, answer, outcome] of STATES) {
    test(`gateway.errors.upstream_error gateway.errors.headers.x_should_retry an engine with ${title} is ${outcome}, and may be retried`, async () => {
      front.server.script = answer;
      const reply = await front.search("x");
      expect(readWaits(reply)).toEqual([null, null]);
      expect(await readOutcome(reply)).toBe(outcome);
      front.server.script = null;
      expect(await readOutcome(await front.search("x"))).toBe("200 5");
    });
  }
});

test("gateway.errors.client_closed_request a caller that leaves closes the engine's connection", async () => {
  await using own = await startSearchFront({}, { listens: true });
  const met = Promise.withResolvers<AbortSignal>();
  own.server.script = ({ signal }) => {
    met.resolve(signal);
    return new Promise<Response>(() => undefined);
  };
  const leaving = new AbortController();
  const request = fetch(`${own.url}/v1/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "x-request-id": "left" },
    body: '{"query":"secret words"}',
    signal: leaving.signal,
  });
  const connection = await met.promise;
  const gone = new Promise((resolve) => connection.addEventListener("abort", resolve));
  leaving.abort();
  await expect(request).rejects.toThrow();
  await gone;
  const line = await own.logged("client_closed_request");
  expect(line).toMatchObject({ level: "info", request_id: "left", status: 499 });
  expect(JSON.stringify(own.lines)).not.toContain("secret");
  own.server.script = null;
  expect(await readOutcome(await own.search("x"))).toBe("200 5");
});
