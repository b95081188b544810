// Tests the number of concurrent attempts: per endpoint, for dead or slow ones, and in total.
import { afterEach, expect, test } from "bun:test";
import { hang, reply, type Sent, type Trial } from "./trial.ts";
import { createTrials } from "./trials.ts";

const { open, closeAll } = createTrials();
afterEach(closeAll);

const SECOND_MS = 1_000;

/** Receivers that answer on request; the number of those waiting now, and its maximum. */
function createReceivers() {
  const waiting: { sent: Sent; resolve: (answer: ReturnType<typeof reply>) => void }[] = [];
  let most = 0;
  const respond = (sent: Sent) =>
    new Promise<ReturnType<typeof reply>>((resolve) => {
      waiting.push({ sent, resolve });
      most = Math.max(most, waiting.length);
    });
  return {
    respond,
    count: () => waiting.length,
    most: () => most,
    async answer(trial: Trial, count = waiting.length, status = 204) {
      for (const { resolve } of waiting.splice(0, count)) resolve(reply(status));
      await trial.settle();
    },
  };
}

const listenTo = async (trial: Trial, kind: string, count: number, account_id?: string) => {
  for (let n = 0; n < count; n++) {
    await trial.listen(`https://${kind}-${n}.example.com/`, {}, account_id);
  }
};
const sentTo = (trial: Trial, kind: string) =>
  trial.sent.filter(({ url }) => url.startsWith(`https://${kind}-`));

test("an endpoint begins with one slot, gains one per quick success, and has eight at most", async () => {
  const receivers = createReceivers();
  const trial = await open(receivers.respond);
  await trial.listen();
  await trial.happen(100);
  for (const places of [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]) {
    expect(receivers.count()).toBe(places);
    await receivers.answer(trial, 1);
  }
  while (receivers.count() > 0) await receivers.answer(trial);
  expect(trial.sent).toHaveLength(100);
  expect(receivers.most()).toBe(8);
});

test("a failure leaves an endpoint one slot, until a delivery succeeds", async () => {
  const receivers = createReceivers();
  const trial = await open(receivers.respond);
  await trial.listen();
  await trial.happen(60);
  while (receivers.count() < 8) await receivers.answer(trial, 1);
  await receivers.answer(trial, 1, 500);
  expect(receivers.count()).toBe(7);
  for (const places of [6, 5, 4, 3, 2, 1, 1]) {
    await receivers.answer(trial, 1, 500);
    expect(receivers.count()).toBe(places);
  }
  await receivers.answer(trial, 1);
  expect(receivers.count()).toBe(2);
});

test("a slow success gains no slot, and counts until a quick one", async () => {
  const receivers = createReceivers();
  const trial = await open(receivers.respond);
  await trial.listen();
  await trial.happen(20);
  await trial.pass(2 * SECOND_MS);
  await receivers.answer(trial);
  expect(receivers.count()).toBe(1);
  await receivers.answer(trial);
  expect(receivers.count()).toBe(2);
});

test("at most 64 deliveries are sent at once to healthy endpoints", async () => {
  const receivers = createReceivers();
  let isKnown = false;
  const trial = await open((sent) => (isKnown ? receivers.respond(sent) : reply()));
  const accounts = Array.from({ length: 30 }, (_, n) => `a-${n}`);
  for (const account_id of accounts) await listenTo(trial, account_id, 2, account_id);
  for (const account_id of accounts) await trial.happen(1, account_id);
  isKnown = true;
  for (const account_id of accounts) await trial.happen(10, account_id);
  for (let n = 0; n < 40; n++) await receivers.answer(trial);
  expect(trial.sent).toHaveLength(60 + 600);
  expect(receivers.most()).toBe(64);
});

test("one account leaves a quarter to others, whose deliveries are sent at once", async () => {
  const receivers = createReceivers();
  const trial = await open((sent) =>
    sent.url.includes("live") ? reply() : receivers.respond(sent),
  );
  await listenTo(trial, "trap", 20);
  await trial.happen(20);
  // They answer until they have all possible slots, and then no more.
  for (let n = 0; n < 10 && receivers.count() < 32; n++) await receivers.answer(trial);
  const holding = receivers.count();
  expect(holding).toBeWithin(32, 49);
  await listenTo(trial, "live", 2, "a-2");
  await trial.happen(50, "a-2");
  expect(sentTo(trial, "live")).toHaveLength(100);
  expect(trial.worker.stats().sending).toBe(holding);
});

test("a second account at its maximum leaves room for a third", async () => {
  const receivers = createReceivers();
  const trial = await open((sent) =>
    sent.url.includes("live") ? reply() : receivers.respond(sent),
  );
  for (const account_id of ["a-1", "a-2"]) await listenTo(trial, account_id, 20, account_id);
  for (const account_id of ["a-1", "a-2"]) await trial.happen(20, account_id);
  for (let n = 0; n < 8; n++) await receivers.answer(trial);
  const holding = receivers.count();
  expect(holding).toBeGreaterThan(48);
  await listenTo(trial, "live", 1, "a-3");
  await trial.happen(20, "a-3");
  expect(sentTo(trial, "live")).toHaveLength(20);
  expect(trial.worker.stats().sending).toBe(holding);
});

test("endpoints that have just stopped answering take at most half of the slots with new deliveries", async () => {
  const receivers = createReceivers();
  let isStuck = false;
  const trial = await open((sent) => (isStuck ? receivers.respond(sent) : reply()));
  const accounts = Array.from({ length: 10 }, (_, n) => `a-${n}`);
  for (const account_id of accounts) await listenTo(trial, account_id, 1, account_id);
  for (const account_id of accounts) await trial.happen(10, account_id);
  isStuck = true;
  for (const account_id of accounts) await trial.happen(2, account_id);
  expect(receivers.count()).toBe(20);
  await trial.pass(2 * SECOND_MS);
  for (const account_id of accounts) await trial.happen(20, account_id);
  expect(receivers.count()).toBe(20 + 32);
});

/** Ten accounts with ten endpoints each that hang. */
const DEAD = Array.from({ length: 10 }, (_, n) => `dead-${n}`);
const listenDead = async (trial: Trial) => {
  for (const account_id of DEAD) await listenTo(trial, account_id, 10, account_id);
};
const happenDead = async (trial: Trial, times = 1) => {
  for (const account_id of DEAD) await trial.happen(times, account_id);
};
const openBeside = async () => {
  const trial: Trial = await open((sent) =>
    sent.url.includes("dead") ? hang(trial.clock, sent) : reply(),
  );
  return trial;
};

test("dead endpoints share one pool of slots, whatever their backlog", async () => {
  const trial = await openBeside();
  await listenDead(trial);
  await listenTo(trial, "live", 50);
  await happenDead(trial);
  expect(trial.worker.stats().sending).toBe(32);
  await trial.happen();
  // Working and dead endpoints are equally unknown: each is tried in its turn.
  await trial.pass(61 * SECOND_MS);
  expect(sentTo(trial, "live").length).toBeGreaterThanOrEqual(50);
  for (let n = 0; n < 10; n++) {
    await happenDead(trial);
    await trial.happen();
    await trial.pass(15 * SECOND_MS);
    expect(sentTo(trial, "live")).toHaveLength(50 * (n + 2));
    // The last one is for an account with few slots.
    expect(trial.worker.stats().sending).toBeWithin(31, 33);
  }
});

test("endpoints that hang at their first attempt leave room for known ones", async () => {
  const trial = await openBeside();
  await listenTo(trial, "live", 8);
  await trial.happen();
  await listenDead(trial);
  await happenDead(trial, 5);
  await trial.happen(5);
  expect(sentTo(trial, "live")).toHaveLength(48);
  expect(trial.worker.stats().sending).toBe(32);
});

test("the dead endpoints of one account leave slots to those of another", async () => {
  const trial = await openBeside();
  await listenTo(trial, "dead", 100);
  await trial.happen(20);
  expect(trial.worker.stats().sending).toBe(24);
  // By then each of them was tried once.
  for (let n = 0; n < 6; n++) await trial.pass(15 * SECOND_MS);
  expect(trial.worker.stats().sending).toBe(24);
  await listenTo(trial, "dead-other", 20, "a-2");
  await trial.happen(20, "a-2");
  for (let n = 0; n < 6; n++) await trial.pass(15 * SECOND_MS);
  // Both have about as many, and four are free for a third.
  expect(trial.worker.stats().sending).toBe(28);
  const begun = ({ at }: Sent) => trial.clock.now() - at < 15 * SECOND_MS;
  expect(sentTo(trial, "dead-other").filter(begun).length).toBeWithin(12, 17);
});

test("endpoints take turns, however large the backlog of one", async () => {
  const trial = await open();
  await listenTo(trial, "busy", 1);
  trial.agents.webhooks = false;
  await trial.happen(500);
  await listenTo(trial, "calm", 10);
  await trial.happen(1);
  trial.agents.webhooks = true;
  trial.worker.wake();
  await trial.settle();
  const places = sentTo(trial, "calm").map((sent) => trial.sent.indexOf(sent));
  expect(places).toHaveLength(10);
  expect(Math.max(...places)).toBeLessThan(60);
});
