// Tests random receivers, callers and databases, with a death after some write and one later: every
// event arrives or is reported lost, with the same id and bytes, and all is counted.
import { afterEach, expect, test } from "bun:test";
import { createDraw } from "../support/draw.ts";
import { countRounds } from "../support/rounds.ts";
import { createDeath } from "./death.ts";
import {
  ACCOUNT,
  fail,
  hang,
  openTrial,
  type Respond,
  reply,
  type Store,
  type Trial,
} from "./trial.ts";

const opened: Trial[] = [];
afterEach(async () => {
  for (const trial of opened.toReversed()) await trial.stop();
  await opened[0]?.database.close();
  opened.length = 0;
});

const ENDPOINTS = 4;
const EVENTS = 25;
const MANY = 1_000;
const WRITES = ["claim", "settle", "fanOut", "release", "disable", "pull"] as const;

type Draw = () => number;

/** Random responses; the first endpoint mostly works, the last one mostly fails. */
const makeRespond =
  (draw: Draw, isCalm: () => boolean, clock: () => Trial["clock"]): Respond =>
  (sent) => {
    const badness = (Number(/\/(\d)/.exec(sent.url)![1]) + 1) / (ENDPOINTS + 1);
    if (isCalm() || draw() > badness) return reply([200, 202, 204][Math.floor(draw() * 3)]);
    const drawn = draw();
    if (drawn < 0.3) return fail();
    if (drawn < 0.5) return hang(clock(), sent);
    if (drawn < 0.6) return reply(429, { "retry-after": "7200" });
    if (drawn < 0.62) return reply(410);
    return reply(500, {}, "\ufffd no \0");
  };

/** Some writes fail, before or after their commit; the nth one is the last. */
const makeWrap =
  (draw: Draw, isCalm: () => boolean, dies: () => void, dies_at: number) =>
  (store: Store): Store => {
    let writes = 0;
    const wrapped = WRITES.map((name) => {
      const write = store[name] as (...stored: unknown[]) => Promise<unknown>;
      const act = async (...stored: unknown[]) => {
        const isLast = ++writes === dies_at;
        if (isLast && draw() < 0.5) dies();
        const isFailing = !isCalm() && draw() < 0.08;
        if (isFailing && draw() < 0.5) throw new Error("before the commit");
        const answer = await write(...stored);
        if (isLast) dies();
        if (isFailing) throw new Error("behind the commit");
        return answer;
      };
      return [name, act];
    });
    return { ...store, ...Object.fromEntries(wrapped) };
  };

const seen = { deaths: 0, repeated: 0, cancelled: 0, failed: 0, delivered: 0, replayed: 0 };

/** The endpoints that were enabled at each event. */
type Expected = Map<string, readonly string[]>;

async function happen(trial: Trial, expected: Expected): Promise<void> {
  const listEnabled = async () =>
    (await trial.outside.endpoints()).filter(({ status }) => status === "enabled");
  const before = await listEnabled();
  const [event] = await trial.happen();
  const after = new Set((await listEnabled()).map(({ id }) => id));
  // An endpoint disabled at that moment may have been so before or after the event.
  expected.set(
    event!,
    before.map(({ id }) => id).filter((id) => after.has(id)),
  );
}

/** A disabled endpoint refuses it. */
async function testOne(trial: Trial, webhookId: string, expected: Expected): Promise<void> {
  const request = { webhookId, accountId: ACCOUNT, now: trial.clock.now(), waitingMax: MANY };
  const eventId = trial.ids.uuid();
  const fresh = { eventId, deliveryId: trial.ids.uuid(), storedMax: 1e9 };
  const made = await trial.store.test(request, fresh).catch(() => undefined);
  if (made) expected.set(eventId, [webhookId]);
}

async function act(trial: Trial, draw: Draw, expected: Expected): Promise<void> {
  const drawn = draw();
  const deliveries = await trial.deliveries();
  const one = deliveries[Math.floor(draw() * deliveries.length)];
  const request = { accountId: ACCOUNT, now: trial.clock.now(), waitingMax: MANY };
  if (drawn < 0.4) await happen(trial, expected);
  else if (drawn < 0.45 && one) await testOne(trial, one.webhook_id, expected);
  else if (drawn < 0.7) await trial.pass(Math.floor(draw() * 400_000));
  else if (drawn < 0.8) trial.clock.shiftWall((draw() - 0.3) * 40_000_000);
  else if (drawn < 0.9 && one) {
    const replayRequest = { ...request, webhookId: one.webhook_id };
    const isDone = await trial.store.replay(one.id, replayRequest).then(
      () => true,
      () => false,
    );
    if (isDone) seen.replayed++;
  } else if (one) {
    const status = draw() < 0.3 ? ("disabled" as const) : ("enabled" as const);
    await trial.endpoints.change(one.webhook_id, ACCOUNT, { status }).catch(() => undefined);
  }
  await trial.settle();
}

async function verify(trial: Trial, expected: Expected): Promise<void> {
  const sent = opened.flatMap((one) => one.sent);
  // Equal ids have equal bytes, for every receiver and at any time.
  const bodies = new Map<string, string>();
  for (const { id, body } of sent) {
    expect(body).toBe(bodies.get(id) ?? body);
    bodies.set(id, body);
    expect(JSON.parse(body).id).toBe(id);
    expect(expected.has(id)).toBe(true);
  }
  const stored = (await trial.deliveries()).map((one) => `${one.event_id} ${one.webhook_id}`);
  expect(new Set(stored).size).toBe(stored.length);
  for (const [event, endpoints] of expected) {
    for (const id of endpoints) expect(stored).toContain(`${event} ${id}`);
  }
  const urls = new Map((await trial.outside.endpoints()).map(({ id, url }) => [id, url]));
  const attempts = Map.groupBy(await trial.attempts(), (one) => one.delivery_id);
  for (const delivery of await trial.deliveries()) {
    const { id, webhook_id, event_id, status, attempt_count, epoch, next_attempt_at } = delivery;
    const made = attempts.get(id) ?? [];
    expect(made.map(({ number }) => number)).toEqual(made.map((_, at) => at + 1));
    expect(attempt_count).toBe(made.length);
    const received = sent.filter((one) => one.id === event_id && one.url === urls.get(webhook_id));
    // At least once: a recorded attempt was sent, and one interrupted by a death is repeated.
    expect(received.length).toBeGreaterThanOrEqual(made.length);
    seen.repeated += received.length > made.length ? 1 : 0;
    expect([epoch, status, next_attempt_at]).toEqual([0, status, null]);
    expect(["delivered", "failed", "cancelled"]).toContain(status);
    if (status === "delivered") expect(made.some(({ error }) => error === null)).toBe(true);
    if (status === "failed") {
      const isTest = made.at(-1)!.kind === "test";
      expect(made.length).toBeGreaterThanOrEqual(isTest ? 1 : 10);
    }
    seen[status as "delivered"] += 1;
  }
  expect((await trial.outside.waiting()).length).toBe(0);
  for (const { pending_deliveries, counted } of await trial.outside.count()) {
    expect([pending_deliveries, counted]).toEqual([0, 0]);
  }
  const held = trial.worker.stats().sending;
  expect(held).toBe(0);
}

async function live(seed: number): Promise<void> {
  const draw = createDraw(seed);
  let isCalm = false;
  let isStarting = false;
  let now: Trial;
  const open = async (dies_at: number) => {
    const death = createDeath();
    const { database, clock, secrets } = opened[0] ?? {};
    const respond = makeRespond(
      draw,
      () => isCalm,
      () => now.clock,
    );
    let isDead = false;
    const dies = () => {
      isDead = true;
      death.die();
    };
    now = await openTrial(respond, {
      ...{ database, clock, secrets, seed: 100 * seed + opened.length, guard: death.guard },
      wrap: makeWrap(draw, () => isCalm || isStarting, dies, dies_at),
    });
    opened.push(now);
    // A server whose database fails at its start does not start.
    isStarting = true;
    await now.start();
    isStarting = false;
    return () => isDead;
  };
  const deaths = [5 + Math.floor(draw() * 60), 5 + Math.floor(draw() * 60), Infinity];
  let isDead = await open(deaths.shift()!);
  for (let n = 0; n < ENDPOINTS; n++) await now!.listen(`https://e.example.com/${n}`);
  const expected: Expected = new Map();
  for (let step = 0; expected.size < EVENTS || step < 60; step++) {
    await act(now!, draw, expected);
    if (!isDead()) continue;
    seen.deaths++;
    isDead = await open(deaths.shift()!);
  }
  // From now on nothing fails, and time passes until no delivery waits.
  isCalm = true;
  for (const { id } of await now!.outside.endpoints()) {
    await now!.endpoints.change(id, ACCOUNT, { status: "enabled" });
  }
  for (let days = 0; days < 30; days++) {
    now!.clock.shiftWall(30 * 3_600_000);
    await now!.pass(64_000);
    const waiting = (await now!.deliveries()).some(({ status }) => status === "pending");
    if (!waiting) break;
  }
  await verify(now!, expected);
}

test("with random failures and crashes, no delivery is lost and all are counted", async () => {
  for (let seed = 1; seed <= countRounds(12); seed++) {
    await live(seed);
    for (const trial of opened.toReversed()) await trial.stop();
    await opened[0]?.database.close();
    opened.length = 0;
  }
  // Without them it would prove little.
  for (const [what, times] of Object.entries(seen)) {
    expect([what, times >= countRounds(5)]).toEqual([what, true]);
  }
}, 120_000);
