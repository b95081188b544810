// Tests what callers see of their budgets: GET /v1/usage, and headers where they are switched on.
import { describe, expect, test } from "bun:test";
import { readSettings } from "../../../src/settings/index.ts";
import { openBudgetFront, PROMPT } from "./fixture.ts";

const readUsage = async (front: Awaited<ReturnType<typeof openBudgetFront>>) => {
  const reply = await front.get("/v1/usage", { key: front.key });
  expect(reply.status).toBe(200);
  return reply.json();
};

describe("GET /v1/usage", () => {
  test("shows the key's own limits and those of its account", async () => {
    await using front = await openBudgetFront();
    const { key_id, account_id } = front;
    expect(await readUsage(front)).toEqual({
      object: "usage",
      key: { id: key_id, limits: [] },
      account: { id: account_id, limits: [] },
    });
    await front.limit({ cost_month: 1_000 });
    await front.limitKey({ tokens_day: 100, requests_minute: 5 });
    await front.ask(20);
    expect(await readUsage(front)).toMatchObject({
      key: {
        limits: [
          { name: "requests_minute", maximum: 5, used: 1, reserved: 0 },
          {
            ...{ name: "tokens_day", maximum: 100, used: PROMPT + 20, reserved: 0 },
            ...{ starts_at: "2026-11-20T00:00:00.000Z", resets_at: "2026-11-21T00:00:00.000Z" },
          },
        ],
      },
      account: { limits: [{ name: "cost_month", maximum: "0.001000", used: "0.000050" }] },
    });
  });

  test("shows what requests under way hold", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_day: 100 });
    const held = Promise.withResolvers<Response>();
    const begun = Promise.withResolvers<void>();
    const { script } = front.upstream;
    front.upstream.script = (asked) => {
      if (asked.path.endsWith("/tokenize")) return script(asked);
      begun.resolve();
      return held.promise;
    };
    const reply = front.ask(20);
    await begun.promise;
    expect(await readUsage(front)).toMatchObject({
      account: { limits: [{ used: 0, reserved: PROMPT + 20 }] },
    });
    held.resolve(new Response("{}", { status: 500 }));
    await reply;
    expect(await readUsage(front)).toMatchObject({
      account: { limits: [{ used: 0, reserved: 0 }] },
    });
  });

  test("of a key without an owner has no account", async () => {
    await using front = await openBudgetFront();
    const reply = await front.get("/v1/usage", { key: "svc_sk_test-ownerless" });
    expect(await reply.json()).toMatchObject({ key: { limits: [] }, account: null });
    expect((await front.get("/v1/usage", { key: null })).status).toBe(401);
  });
});

describe("headers x-ratelimit-…", () => {
  const HEAD = "[service]\nratelimit_headers = true\n";
  const shown = ({ headers }: Response) =>
    [...headers].filter(([name]) => name.startsWith("x-ratelimit-"));

  test("show the limit with the least left, on replies, streams and refusals", async () => {
    await using front = await openBudgetFront({ head: HEAD });
    expect(shown(await front.ask(20))).toEqual([]);
    await front.limit({ tokens_day: 100, requests_day: 9, cost_month: 1_000_000 });
    await front.limitKey({ tokens_minute: 1_000, requests_minute: 3 });
    await front.clock.advance(1_000);
    const requests = (left: number) => [
      ["x-ratelimit-limit-requests", "3"],
      ["x-ratelimit-remaining-requests", String(left)],
      ["x-ratelimit-reset-requests", "59s"],
    ];
    const tokens = (left: number) => [
      ["x-ratelimit-limit-tokens", "100"],
      ["x-ratelimit-remaining-tokens", String(left)],
      ["x-ratelimit-reset-tokens", "11h59m59s"],
    ];
    const sort = (pairs: string[][]) => pairs.toSorted(([a], [b]) => (a! < b! ? -1 : 1));
    const json = await front.ask(20);
    expect(shown(json)).toEqual(sort([...requests(2), ...tokens(70)]) as never);
    const stream = await front.ask(20, { stream: true });
    expect(stream.headers.get("content-type")).toStartWith("text/event-stream");
    expect(shown(stream)).toEqual(sort([...requests(1), ...tokens(40)]) as never);
    const refused = await front.ask(90);
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("43199");
    expect(shown(refused)).toEqual(sort([...requests(1), ...tokens(40)]) as never);
  });

  test("are switched on by a reload, and absent by default", async () => {
    await using front = await openBudgetFront();
    await front.limit({ requests_day: 9 });
    expect(shown(await front.ask(1))).toEqual([]);
    const text = `${HEAD}[embeddings]\nkind = "stub"\n`;
    await front.app.change(readSettings(text, "wadi.toml", {}, {}));
    const reply = await front.post("/v1/embeddings", { input: "Hello" }, { key: front.key });
    expect(reply.headers.get("x-ratelimit-remaining-requests")).toBe("7");
  });
});
