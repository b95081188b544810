// Tests the event `limit.reached`: once for each limit and period at 80 and at 100 percent.
import { expect, test } from "bun:test";
import { findRefused } from "../../../src/gateway/budgets/alerts.ts";
import { type Excess, explainExcesses, makeSubject } from "../../../src/gateway/budgets/excess.ts";
import { outboxStore } from "../../../src/outbox/store.ts";
import { createSeededIds } from "../../support/ids.ts";
import { openWebhookReceiver } from "../../support/webhook-receiver.ts";
import { type BudgetFront, openBudgetFront, PROMPT } from "./fixture.ts";

/** Name, percentage and use of each event of the account, in order. */
async function listEvents(front: BudgetFront, account = front.account_id) {
  await front.clock.advance(0);
  const events = await front.app.database.bind(outboxStore).list(account);
  return events.map(({ type, data }) => {
    expect(type).toBe("limit.reached");
    const { limit, percent, used } = JSON.parse(data);
    return [limit.kind, limit.name, percent, used];
  });
}

const use = async (front: BudgetFront, tokens: number) => (await front.ask(tokens - PROMPT)).status;

test("it is sent at 80 and at 100 percent, once in each period", async () => {
  await using front = await openBudgetFront();
  await front.limit({ tokens_minute: 100 });
  await use(front, 79);
  expect(await listEvents(front)).toEqual([]);
  await use(front, 11);
  const nearly = ["account", "tokens_minute", 80, 90];
  expect(await listEvents(front)).toEqual([nearly]);
  // 10 are left, and the smallest request needs one more.
  expect(await use(front, 11)).toBe(429);
  expect(await use(front, 11)).toBe(429);
  const wholly = ["account", "tokens_minute", 100, 90];
  expect(await listEvents(front)).toEqual([nearly, wholly]);
  await front.clock.advance(60_000);
  await use(front, 100);
  const both = [80, 100].map((percent) => ["account", "tokens_minute", percent, 100]);
  expect(await listEvents(front)).toEqual([nearly, wholly, ...both]);
});

test("limits of key and account have their own, with money as text", async () => {
  await using front = await openBudgetFront();
  await front.limit({ cost_month: 90 });
  await front.limitKey({ requests_day: 1 });
  // 10 + 2 × 35 = 80 micro-SAR.
  await front.ask(35);
  const events = await listEvents(front);
  expect(events).toContainEqual(["account", "cost_month", 80, "0.000080"]);
  expect(events).toContainEqual(["key", "requests_day", 80, 1]);
  expect(events).toContainEqual(["key", "requests_day", 100, 1]);
  expect(events).toHaveLength(3);
  const [row] = await front.app.database.bind(outboxStore).list(front.account_id);
  expect(JSON.parse(row!.data)).toEqual({
    limit: {
      kind: "account",
      id: front.account_id,
      name: "cost_month",
      measure: "cost",
      period: "month",
      maximum: "0.000090",
      starts_at: "2026-11-01T00:00:00.000Z",
      resets_at: "2026-12-01T00:00:00.000Z",
    },
    percent: 80,
    used: "0.000080",
  });
});

test("a request that alone is too large reaches no limit, and a changed limit is announced anew", async () => {
  await using front = await openBudgetFront();
  await front.limit({ tokens_day: 100 });
  expect(await use(front, 101)).toBe(429);
  expect(await listEvents(front)).toEqual([]);
  await use(front, 90);
  await front.limit({ tokens_day: 112 });
  await use(front, 11);
  const shares = (await listEvents(front)).map(([, , percent, used]) => [percent, used]);
  expect(shares).toEqual([
    [80, 90],
    [80, 101],
  ]);
});

test("endpoints that select it receive it", async () => {
  await using receiver = openWebhookReceiver();
  const head = `[agents]\nopen = true\n[egress]\nallow = ["${receiver.host}"]\n`;
  await using front = await openBudgetFront({ head, listens: true });
  const register = (events: string[]) =>
    front.post("/v1/webhooks", { url: receiver.url, events }, { key: front.key });
  expect((await register(["limit.reached"])).status).toBe(201);
  expect((await register(["run.failed"])).status).toBe(201);
  await front.limit({ tokens_day: 100 });
  await use(front, 80);
  const arrivals = receiver.came(1);
  await front.clock.advance(0);
  expect((await arrivals).map(({ text }) => JSON.parse(text))).toMatchObject([
    { type: "limit.reached", data: { percent: 80, used: 80, limit: { maximum: 100 } } },
  ]);
});

test("a refusal because of requests under way announces nothing: they may settle for less", () => {
  const subject = makeSubject("key", "k-1", { tokens_day: 100 });
  const use = {
    ...{ start: 0, end: 1, used: { requests: 1, tokens: 90, cost: 0 } },
    ...{ reserved: { requests: 1, tokens: 10, cost: 0 }, announced: new Set<string>() },
  };
  const context = { account_id: "a-1", ids: createSeededIds(), now: 0 };
  const refuse = (lasts: "reserved" | "used") =>
    findRefused([{ subject, name: "tokens_day", maximum: 100, use, lasts } as Excess], context);
  expect(refuse("reserved")).toEqual([]);
  // Money that requests under way hold may come back.
  const money = { subject, name: "cost_day", maximum: 1, use, lasts: "reserved" } as Excess;
  expect(explainExcesses([money], 0, "SAR").code).toBe("rate_limit_exceeded");
  expect(explainExcesses([{ ...money, lasts: "used" }], 0, "SAR").code).toBe("permission_denied");
  expect(refuse("used").map(({ percent }) => percent)).toEqual([100]);
});
