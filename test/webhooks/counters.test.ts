// Tests random operations: endpoints count their pending deliveries exactly, events are
// fanned out exactly once, and no more deliveries than the maximum wait.
import { expect, test } from "bun:test";
import { ApiError } from "../../src/platform/errors.ts";
import { createBatch } from "../../src/webhooks/fan-out.ts";
import { createDraw } from "../http/draw.ts";
import { countRounds } from "../support/rounds.ts";
import { makeHappened } from "../support/webhooks.ts";
import { type Fixture, openFixture, REQUEST } from "./fixture.ts";

const SEEDS = Array.from({ length: countRounds(6) }, (_, n) => n + 1);
const STEPS = 400;
const WAITING_MAX = 12;
const ACCOUNTS = ["a-1", "a-2"];
const KINDS = ["run.completed", "run.failed", "approval.requested"] as const;
const REFUSALS = ["endpoint_disabled", "deliveries_limit", "endpoints_limit"];

type Draw = ReturnType<typeof createDraw>;
type Act = (fixture: Fixture, draw: Draw, step: number) => Promise<unknown>;

const pick = <T>(values: readonly T[], draw: Draw): T | undefined => values[draw(values.length)];
const pickEndpoint = async ({ store }: Fixture, draw: Draw) => pick(await store.list(null), draw);
const pickDelivery = async ({ store, sent }: Fixture, draw: Draw) => {
  const delivery = pick(await sent.deliveries(), draw);
  const endpoint = delivery && (await store.find(delivery.webhook_id));
  return endpoint && { delivery, endpoint };
};
const drawKinds = (draw: Draw) => {
  const kinds = KINDS.filter(() => draw(2) === 0);
  return kinds.length > 0 ? kinds : [KINDS[0]];
};

const tell: Act = ({ sent }, draw, step) => {
  const about = { account_id: ACCOUNTS[draw(2)]!, type: pick(KINDS, draw)!, at: draw(1_000) };
  return sent.tell(makeHappened(`e-${step}`, about));
};
const fanOut: Act = ({ store, deps }, draw) =>
  store.fanOut(ACCOUNTS[draw(2)]!, { ...createBatch(deps), limit: 1 + draw(3) });

/** Settles like the worker, as far as it affects counters. */
const settle: Act = async ({ sent, clock }, draw) => {
  const delivery = pick(await sent.deliveries(), draw);
  const status = draw(3) === 0 ? "failed" : "delivered";
  if (delivery) await sent.settle(delivery.id, status, clock.now());
};

const ACTS: readonly Act[] = [
  ...[tell, tell, tell, tell, fanOut, fanOut, settle, settle, settle],
  ({ endpoints }, draw) =>
    endpoints.create(ACCOUNTS[draw(2)]!, { ...REQUEST, events: drawKinds(draw) }),
  async (fixture, draw) => {
    const found = await pickEndpoint(fixture, draw);
    const status = draw(2) === 0 ? "enabled" : "disabled";
    const change = draw(3) === 0 ? { events: drawKinds(draw) } : { status };
    if (found) await fixture.endpoints.change(found.id, found.account_id, change as never);
  },
  async (fixture, draw) => {
    const found = await pickEndpoint(fixture, draw);
    const fan = { ...createBatch(fixture.deps), limit: 1 + draw(20) };
    if (!found) return;
    const { id: webhookId, updated_at: updatedAt } = found;
    await fixture.store.disable({ webhookId, reason: "gone", updatedAt }, fan);
  },
  async (fixture, draw) => {
    const found = draw(8) === 0 && (await pickEndpoint(fixture, draw));
    if (found) await fixture.endpoints.remove(found.id, found.account_id);
  },
  async (fixture, draw) => {
    const found = await pickEndpoint(fixture, draw);
    if (found) await fixture.deliveries.test(found);
  },
  async (fixture, draw) => {
    const found = await pickDelivery(fixture, draw);
    if (found) await fixture.deliveries.replay(found.endpoint, found.delivery.id);
  },
  async (fixture, draw) => {
    const found = await pickEndpoint(fixture, draw);
    const span = { since: 0, until: fixture.clock.now() };
    if (found) await fixture.deliveries.recover(found, span);
  },
  async (fixture, draw) => {
    const found = await pickDelivery(fixture, draw);
    if (found) await fixture.sent.take(found.delivery.id, draw(3));
  },
  ({ store, clock }, draw) => store.sweep(clock.now() - draw(20), 3),
  ({ store }) => store.sweepGone(5),
];

async function verify({ sent, store }: Fixture): Promise<void> {
  const counts = await sent.count();
  expect(counts.map(({ counted }) => counted)).toEqual(
    counts.map(({ pending_deliveries }) => pending_deliveries),
  );
  const endpoints = await store.list(null);
  for (const account_id of ACCOUNTS) {
    const own = endpoints.filter((one) => one.account_id === account_id);
    const waiting = own.reduce((sum, one) => sum + one.pending_deliveries, 0);
    expect(waiting).toBeLessThanOrEqual(WAITING_MAX);
    const listens = own.some(({ status }) => status === "enabled");
    expect((await sent.listeners()).includes(account_id)).toBe(listens);
  }
  const disabled = endpoints.filter(({ status }) => status === "disabled");
  for (const one of disabled) expect(one.pending_deliveries).toBe(0);
  const pairs = (await sent.deliveries()).map((one) => `${one.event_id} to ${one.webhook_id}`);
  expect(new Set(pairs).size).toBe(pairs.length);
}

test.each(SEEDS)(
  "agents.events.webhook.4 counters and deliveries are right after each step, seed %p",
  async (seed) => {
    await using fixture = await openFixture(`[limits]\nwaiting_deliveries = ${WAITING_MAX}`);
    const draw = createDraw(seed);
    const refused = new Set<string>();
    const done = new Set<Act>();
    let most = 0;
    for (let step = 0; step < STEPS; step++) {
      await fixture.clock.advance(draw(3));
      const act = pick(ACTS, draw)!;
      done.add(act);
      try {
        await act(fixture, draw, step);
      } catch (failure) {
        if (!(failure instanceof ApiError)) throw failure;
        refused.add(failure.code);
      }
      await verify(fixture);
      most = Math.max(most, (await fixture.sent.deliveries()).length);
    }
    // Enough operations have happened for a result.
    expect(done).toEqual(new Set(ACTS));
    expect(most).toBeGreaterThan(WAITING_MAX);
    expect(refused.size).toBeGreaterThan(0);
    for (const code of refused) expect(REFUSALS).toContain(code);
  },
);
