// Tests budgets of embeddings, searches and internal requests.
import { describe, expect, test } from "bun:test";
import { comeFrom, NEVER, openInside, question } from "../inside/front.ts";
import { openBudgetFront } from "./fixture.ts";

const EMBEDDINGS = '[embeddings]\nkind = "stub"\nprice = "1000.00"\n[search]\nkind = "stub"\n';

describe("embeddings", () => {
  const embed = (front: Awaited<ReturnType<typeof openBudgetFront>>, input: string | string[]) =>
    front.outcome(front.post("/v1/embeddings", { input }, { key: front.key }));

  test("count their tokens and cost", async () => {
    await using front = await openBudgetFront({ head: EMBEDDINGS });
    await front.limit({ tokens_day: 5 });
    // Words of four letters are one token each.
    expect(await embed(front, ["one two", "word"])).toBe("200");
    expect(await embed(front, "one two six")).toBe("429 rate_limit_exceeded after 43200");
    expect(await embed(front, "one two")).toBe("200");
    expect(await front.used()).toEqual({ requests: 2, estimated: 0, tokens: 5, cost: 5_000 });
  });

  test("are refused where money is limited and used up, or their price is unknown", async () => {
    await using front = await openBudgetFront({ head: EMBEDDINGS });
    await front.limit({ cost_day: 2_000 });
    expect(await embed(front, "one two")).toBe("200");
    expect(await embed(front, "one")).toBe("403 permission_denied final");
    await using unpriced = await openBudgetFront({ head: '[embeddings]\nkind = "stub"\n' });
    await unpriced.limit({ cost_day: 2_000 });
    expect(await embed(unpriced, "one")).toBe("403 permission_denied final");
  });

  test("that are refused for their budget take no quota", async () => {
    const head = EMBEDDINGS.replace("[search]", "requests_per_minute = 2\n[search]");
    await using front = await openBudgetFront({ head });
    await front.limit({ requests_day: 1 });
    expect(await embed(front, "one")).toBe("200");
    expect(await embed(front, "one")).toBe("429 rate_limit_exceeded after 43200");
    await front.limit({ requests_day: 9 });
    expect(await embed(front, "one")).toBe("200");
    expect(await embed(front, "one")).toBe("429 rate_limit_exceeded after 60");
  });

  test("that are refused for their quota hold no budget", async () => {
    const head = EMBEDDINGS.replace("[search]", "requests_per_minute = 1\n[search]");
    await using front = await openBudgetFront({ head });
    await front.limit({ requests_day: 2 });
    expect(await embed(front, "one")).toBe("200");
    expect(await embed(front, "one")).toBe("429 rate_limit_exceeded after 60");
    await front.clock.advance(60_000);
    expect(await embed(front, "one")).toBe("200");
    expect(await front.used()).toMatchObject({ requests: 2 });
  });
});

test("searches count as requests, without tokens and cost", async () => {
  await using front = await openBudgetFront({ head: EMBEDDINGS });
  await front.limit({ requests_day: 2, cost_day: 0, tokens_day: 0 });
  const search = () =>
    front.outcome(front.post("/v1/search", { query: "wadi" }, { key: front.key }));
  expect([await search(), await search(), await search()]).toEqual([
    ...["200", "200", "429 rate_limit_exceeded after 43200"],
  ]);
  expect(await front.used()).toEqual({ requests: 2, estimated: 0, tokens: 0, cost: 0 });
});

describe("internal requests", () => {
  const PRICED = `
[[models]]
id = "one"
self_hosted = true
price = { prompt = "1.00", completion = "2.00" }
upstream = { kind = "stub" }
`;

  test("are refused with the code, the pause and whether it is final", async () => {
    await using front = await openInside(PRICED);
    const { key_id } = await front.openKey();
    await front.admin.limits.limitKey(key_id, { requests_minute: 1, cost_month: 400 });
    const caller = (await front.findCaller(key_id))!;
    const ask = (max_tokens: number) =>
      front.inside.chat.ask(comeFrom(caller), question("Hello", { max_tokens }), NEVER);
    expect(await ask(200)).toMatchObject({ ok: false, code: "permission_denied", isFinal: true });
    expect(await ask(10)).toMatchObject({ ok: true });
    expect(await ask(10)).toEqual({
      ok: false,
      code: "rate_limit_exceeded",
      reason: expect.stringContaining("the limit of this key is 1 a minute"),
      retry_after_ms: 60_000,
    });
    const search = await front.inside.search.ask(
      comeFrom(caller),
      { query: "wadi", max_results: 1, language: null },
      NEVER,
    );
    expect(search).toMatchObject({ ok: false, code: "rate_limit_exceeded" });
    expect(await front.readRows()).toMatchObject([
      { route: "chat", status: 403, code: "permission_denied", prompt_tokens: null },
      { route: "chat", status: 201, code: null },
      { route: "chat", status: 429, code: "rate_limit_exceeded" },
      { route: "search", status: 429, code: "rate_limit_exceeded" },
    ]);
  });
});
