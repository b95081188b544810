// Tests internal searches: they wait for quota, slots and engines where callers are refused.
import { expect, test } from "bun:test";
import { startSearxng, writeErrorPage } from "../../support/search-servers.ts";
import { comeFrom, type InsideFront, NEVER, openInside } from "./front.ts";

interface SearchInsideFront extends InsideFront {
  server: ReturnType<typeof startSearxng>;
}

async function openSearch(lines = ""): Promise<SearchInsideFront> {
  const server = startSearxng();
  const front = await openInside(`[search]\nkind = "searxng"\nurl = "${server.url}"\n${lines}`);
  const close = front[Symbol.asyncDispose];
  return {
    ...front,
    server,
    async [Symbol.asyncDispose]() {
      await close();
      await server.stop();
    },
  };
}

const request = (query: string) => ({ query, max_results: 2, language: null });

/** Waits for a reply of something real, such as a server. */
async function until(front: InsideFront, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await front.clock.advance(0);
}

/** Waits until the engine has this number of requests, and the search waits without a slot. */
const untilItWaits = (front: SearchInsideFront, times: number) =>
  until(front, () => front.server.asked.length === times && front.countSearches() === 0);

test("results are those of HTTP callers, with a row in the request log", async () => {
  await using front = await openSearch();
  const caller = await front.openKey();
  const found = await front.inside.search.ask(comeFrom(caller, "run-1"), request("sand"), NEVER);
  expect(found).toEqual({
    ok: true,
    results: [0, 1].map((index) => ({
      object: "search_result",
      index,
      title: `Page ${index}`,
      url: `https://example.org/${index}`,
      snippet: `What page ${index} says.`,
    })),
  });
  expect(await front.readRows()).toMatchObject([
    {
      ...{ request_id: "run-1", route: "search", status: 200, code: null, attempts: 1 },
      ...{ account_id: front.account_id, key_id: caller.key_id, waited_ms: 0 },
    },
  ]);
});

test("gateway.limits.search_quota waits exactly as long as the quota requires", async () => {
  await using front = await openSearch("requests_per_minute = 2");
  const caller = await front.openKey();
  const done: string[] = [];
  const ask = async (query: string) => {
    const found = await front.inside.search.ask(comeFrom(caller), request(query), NEVER);
    done.push(`${query} ${found.ok}`);
  };
  await ask("a");
  await front.clock.advance(20_000);
  await ask("b");
  const others = Promise.all([ask("c"), ask("d"), ask("e")]);
  await front.clock.advance(39_999);
  expect(front.server.asked).toHaveLength(2);
  await front.clock.advance(1);
  await until(front, () => done.length === 3);
  expect(front.server.asked.map(({ query }) => query.q)).toEqual(["a", "b", "c"]);
  await front.clock.advance(20_000);
  await until(front, () => done.length === 4);
  await front.clock.advance(40_000);
  await others;
  expect(done).toEqual(["a true", "b true", "c true", "d true", "e true"]);
  const rows = await front.readRows();
  expect(rows.map(({ waited_ms }) => waited_ms)).toEqual([0, 0, 40_000, 60_000, 100_000]);
});

test("an account has its own quota, which its own HTTP requests share", async () => {
  await using front = await openSearch("requests_per_minute = 1");
  const caller = await front.openKey();
  await front.admin.accounts.create("other");
  const other = await front.openKey({ account: "other" });
  await front.inside.search.ask(comeFrom(caller), request("a"), NEVER);
  // It succeeds without an advance of the clock.
  expect(await front.inside.search.ask(comeFrom(other), request("b"), NEVER)).toMatchObject({
    ok: true,
  });
});

test("gateway.limits.shared_capacity waits for a slot, and takes the quota once", async () => {
  await using front = await openSearch(
    "requests_per_minute = 2\nmax_concurrent = 1\nmax_queued = 0",
  );
  const caller = await front.openKey();
  const held = Promise.withResolvers<Response>();
  front.server.script = () => held.promise;
  const ask = (query: string) => front.inside.search.ask(comeFrom(caller), request(query), NEVER);
  const first = ask("a");
  const second = ask("b");
  await until(front, () => front.server.asked.length === 1);
  // It retries again and again; no more of the quota of two is used.
  await front.clock.advance(3_000);
  expect(front.server.asked).toHaveLength(1);
  front.server.script = null;
  held.resolve(writeErrorPage(500, "Error"));
  expect(await first).toMatchObject({ ok: false, code: "upstream_error" });
  await front.clock.advance(10_000);
  expect(await second).toMatchObject({ ok: true });
});

test("an engine is queried again after its Retry-After", async () => {
  await using front = await openSearch("requests_per_minute = 1");
  const caller = await front.openKey();
  const busy = writeErrorPage(429, "Too Many Requests");
  busy.headers.set("retry-after", "90");
  front.server.script = () => {
    front.server.script = null;
    return busy;
  };
  const asking = front.inside.search.ask(comeFrom(caller), request("a"), NEVER);
  await untilItWaits(front, 1);
  let isDone = false;
  const end = asking.finally(() => {
    isDone = true;
  });
  await front.clock.advance(89_000);
  expect(isDone).toBe(false);
  await front.clock.advance(1_100);
  expect(await end).toMatchObject({ ok: true });
  expect(front.server.asked).toHaveLength(2);
  expect(await front.readRows()).toMatchObject([{ status: 200, attempts: 2 }]);
});

test("waits ten minutes at most in total", async () => {
  await using front = await openSearch();
  const caller = await front.openKey();
  front.server.script = () => {
    return new Response("", { status: 503, headers: { "retry-after": "300" } });
  };
  const asking = front.inside.search.ask(comeFrom(caller), request("a"), NEVER);
  await untilItWaits(front, 1);
  await front.clock.advance(300_000);
  await untilItWaits(front, 2);
  await front.clock.advance(300_000);
  expect(await asking).toMatchObject({ ok: false, code: "service_unavailable" });
  expect(front.server.asked).toHaveLength(3);
  expect(await front.readRows()).toMatchObject([{ status: 503, attempts: 3 }]);
});

test.each<[string, number, string]>([
  ["an engine that fails", 500, "upstream_error"],
  ["one that turns us away", 403, "service_unavailable"],
])("%s fails at once, and is logged", async (_, status, code) => {
  await using front = await openSearch();
  const caller = await front.openKey();
  front.server.script = () => writeErrorPage(status, "Error");
  const failed = await front.inside.search.ask(comeFrom(caller), request("secret words"), NEVER);
  expect(failed).toMatchObject({
    ok: false,
    code,
    reason: expect.stringContaining("search engine"),
  });
  const line = { code: expect.any(String), key_id: caller.key_id, request_id: "request-1" };
  const noted = front.lines.filter(({ key_id }) => key_id === caller.key_id);
  expect(noted).toMatchObject([line]);
  expect(JSON.stringify(front.lines)).not.toContain("secret words");
});

test("a disabled search is refused, and uses no quota", async () => {
  await using front = await openInside('[search]\nkind = "off"');
  const caller = await front.openKey();
  const failed = await front.inside.search.ask(comeFrom(caller), request("a"), NEVER);
  expect(failed).toMatchObject({ ok: false, code: "service_unavailable" });
  expect(await front.readRows()).toMatchObject([{ status: 503, attempts: null }]);
});

test("a caller who leaves the queue leaves at once", async () => {
  await using front = await openSearch("requests_per_minute = 1");
  const caller = await front.openKey();
  await front.inside.search.ask(comeFrom(caller), request("a"), NEVER);
  const leaving = new AbortController();
  const asking = front.inside.search.ask(comeFrom(caller), request("b"), leaving.signal);
  await front.clock.advance(10);
  leaving.abort();
  expect(await asking).toMatchObject({ ok: false, code: "client_closed_request" });
  // A caller who left before gets the same result.
  const late = front.inside.search.ask(comeFrom(caller), request("c"), leaving.signal);
  expect(await late).toMatchObject({ ok: false, code: "client_closed_request" });
  expect(front.server.asked).toHaveLength(1);
  const rows = await front.readRows();
  expect(rows.map(({ status }) => status)).toEqual([200, 499, 499]);
});

test("a stop of the process ends the wait with a reason", async () => {
  await using front = await openSearch("requests_per_minute = 1");
  const caller = await front.openKey();
  await front.inside.search.ask(comeFrom(caller), request("a"), NEVER);
  const asking = front.inside.search.ask(comeFrom(caller), request("b"), NEVER);
  await front.clock.advance(10);
  front.endRunning();
  expect(await asking).toMatchObject({ ok: false, code: "service_unavailable", isStopped: true });
});
