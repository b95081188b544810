// Searches from inside: they wait for quota, places and engines where a caller would be refused.
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

const wish = (query: string) => ({ query, max_results: 2, language: null });

/** Until something real, such as a server, has answered. */
async function until(front: InsideFront, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await front.clock.advance(0);
}

/** The engine has answered so often, and the search waits without a place. */
const untilItWaits = (front: SearchInsideFront, times: number) =>
  until(front, () => front.server.asked.length === times && front.countSearches() === 0);

test("what is found is told as to callers, with a row of the ledger", async () => {
  await using front = await openSearch();
  const caller = await front.openKey();
  const found = await front.inside.search.ask(comeFrom(caller, "run-1"), wish("sand"), NEVER);
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

test("gateway.limits.search_quota is waited for, exactly as long as it takes", async () => {
  await using front = await openSearch("requests_per_minute = 2");
  const caller = await front.openKey();
  const done: string[] = [];
  const ask = async (query: string) => {
    const found = await front.inside.search.ask(comeFrom(caller), wish(query), NEVER);
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

test("another account's quota is its own, and its own requests count", async () => {
  await using front = await openSearch("requests_per_minute = 1");
  const caller = await front.openKey();
  await front.admin.accounts.create("other");
  const other = await front.openKey({ account: "other" });
  await front.inside.search.ask(comeFrom(caller), wish("a"), NEVER);
  // It comes through without a move of the clock.
  expect(await front.inside.search.ask(comeFrom(other), wish("b"), NEVER)).toMatchObject({
    ok: true,
  });
});

test("gateway.limits.shared_capacity is waited for, and the quota is taken once", async () => {
  await using front = await openSearch(
    "requests_per_minute = 2\nmax_concurrent = 1\nmax_queued = 0",
  );
  const caller = await front.openKey();
  const held = Promise.withResolvers<Response>();
  front.server.script = () => held.promise;
  const ask = (query: string) => front.inside.search.ask(comeFrom(caller), wish(query), NEVER);
  const first = ask("a");
  const second = ask("b");
  await until(front, () => front.server.asked.length === 1);
  // It looks again and again, and is told to wait; of the quota of two nothing more is taken.
  await front.clock.advance(3_000);
  expect(front.server.asked).toHaveLength(1);
  front.server.script = null;
  held.resolve(writeErrorPage(500, "Error"));
  expect(await first).toMatchObject({ ok: false, code: "upstream_error" });
  await front.clock.advance(10_000);
  expect(await second).toMatchObject({ ok: true });
});

test("an engine that tells us to wait is asked again then", async () => {
  await using front = await openSearch("requests_per_minute = 1");
  const caller = await front.openKey();
  const busy = writeErrorPage(429, "Too Many Requests");
  busy.headers.set("retry-after", "90");
  front.server.script = () => {
    front.server.script = null;
    return busy;
  };
  const asking = front.inside.search.ask(comeFrom(caller), wish("a"), NEVER);
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

test("but for ten minutes in all", async () => {
  await using front = await openSearch();
  const caller = await front.openKey();
  front.server.script = () => {
    return new Response("", { status: 503, headers: { "retry-after": "250" } });
  };
  const asking = front.inside.search.ask(comeFrom(caller), wish("a"), NEVER);
  await untilItWaits(front, 1);
  await front.clock.advance(250_000);
  await untilItWaits(front, 2);
  await front.clock.advance(250_000);
  expect(await asking).toMatchObject({ ok: false, code: "service_unavailable" });
  expect(front.server.asked).toHaveLength(3);
  expect(await front.readRows()).toMatchObject([{ status: 503, attempts: 3 }]);
});

test.each<[string, number, string]>([
  ["an engine that fails", 500, "upstream_error"],
  ["one that turns us away", 403, "service_unavailable"],
])("%s is told at once, and noted", async (_, status, code) => {
  await using front = await openSearch();
  const caller = await front.openKey();
  front.server.script = () => writeErrorPage(status, "Error");
  const failed = await front.inside.search.ask(comeFrom(caller), wish("secret words"), NEVER);
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

test("a search that is off is told, and takes nothing", async () => {
  await using front = await openInside('[search]\nkind = "off"');
  const caller = await front.openKey();
  const failed = await front.inside.search.ask(comeFrom(caller), wish("a"), NEVER);
  expect(failed).toMatchObject({ ok: false, code: "service_unavailable" });
  expect(await front.readRows()).toMatchObject([{ status: 503, attempts: null }]);
});

test("who leaves while it waits for its turn leaves at once", async () => {
  await using front = await openSearch("requests_per_minute = 1");
  const caller = await front.openKey();
  await front.inside.search.ask(comeFrom(caller), wish("a"), NEVER);
  const leaving = new AbortController();
  const asking = front.inside.search.ask(comeFrom(caller), wish("b"), leaving.signal);
  await front.clock.advance(10);
  leaving.abort();
  expect(await asking).toMatchObject({ ok: false, code: "client_closed_request" });
  // And so does who had left before.
  const late = front.inside.search.ask(comeFrom(caller), wish("c"), leaving.signal);
  expect(await late).toMatchObject({ ok: false, code: "client_closed_request" });
  expect(front.server.asked).toHaveLength(1);
  const rows = await front.readRows();
  expect(rows.map(({ status }) => status)).toEqual([200, 499, 499]);
});

test("a stop of the program ends the waiting, and says so", async () => {
  await using front = await openSearch("requests_per_minute = 1");
  const caller = await front.openKey();
  await front.inside.search.ask(comeFrom(caller), wish("a"), NEVER);
  const asking = front.inside.search.ask(comeFrom(caller), wish("b"), NEVER);
  await front.clock.advance(10);
  front.endRunning();
  expect(await asking).toMatchObject({ ok: false, code: "service_unavailable", is_stopped: true });
});
