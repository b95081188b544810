// How many are sent at once: to one endpoint, to those that are dead or slow, and in all.
import { afterEach, expect, test } from "bun:test";
import { hang, reply, type Sent, type Trial } from "./trial.ts";
import { createTrials } from "./trials.ts";

const { open, closeAll } = createTrials();
afterEach(closeAll);

const SECOND_MS = 1_000;

/** Receivers that answer when they are told to; how many wait now, and at most. */
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

const listenTo = async (trial: Trial, kind: string, count: number) => {
  for (let n = 0; n < count; n++) await trial.listen(`https://${kind}-${n}.example.com/`);
};
const sentTo = (trial: Trial, kind: string) =>
  trial.sent.filter(({ url }) => url.startsWith(`https://${kind}-`));

test("an endpoint begins with one, has one more for each quick success, and eight at most", async () => {
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

test("a failure leaves an endpoint one, until something arrives", async () => {
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

test("a slow success brings no place, and is not forgotten until a quick one", async () => {
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

test("no more than 64 are sent at once", async () => {
  const receivers = createReceivers();
  const trial = await open(receivers.respond);
  await listenTo(trial, "live", 20);
  await trial.happen(20);
  for (let n = 0; n < 40; n++) await receivers.answer(trial);
  expect(trial.sent).toHaveLength(400);
  expect(receivers.most()).toBe(64);
});

test("dead endpoints take half of the places, whatever waits for them", async () => {
  const trial = await open((sent) =>
    sent.url.includes("dead") ? hang(trial.clock, sent) : reply(),
  );
  await listenTo(trial, "dead", 100);
  await listenTo(trial, "live", 50);
  // Nobody knows them yet: of those that never took anything a few places are kept free.
  await trial.happen();
  expect(trial.dispatcher.look().sending).toBe(56);
  await trial.pass(31 * SECOND_MS);
  expect(sentTo(trial, "live").length).toBeGreaterThanOrEqual(50);
  for (let n = 0; n < 10; n++) {
    await trial.happen();
    await trial.pass(15 * SECOND_MS);
    expect(sentTo(trial, "live")).toHaveLength(50 * (n + 2));
    expect(trial.dispatcher.look().sending).toBe(32);
  }
});

test("those that hang while they are tried first leave room for those that are known", async () => {
  const trial = await open((sent) =>
    sent.url.includes("dead") ? hang(trial.clock, sent) : reply(),
  );
  await listenTo(trial, "live", 8);
  await trial.happen();
  await listenTo(trial, "dead", 100);
  await trial.happen(5);
  expect(sentTo(trial, "live")).toHaveLength(48);
  expect(trial.dispatcher.look().sending).toBe(56);
});

test("endpoints take turns, however much waits for one of them", async () => {
  const trial = await open();
  await listenTo(trial, "busy", 1);
  trial.agents.webhooks = false;
  await trial.happen(500);
  await listenTo(trial, "calm", 10);
  await trial.happen(1);
  trial.agents.webhooks = true;
  trial.dispatcher.change();
  await trial.settle();
  const places = sentTo(trial, "calm").map((sent) => trial.sent.indexOf(sent));
  expect(places).toHaveLength(10);
  expect(Math.max(...places)).toBeLessThan(60);
});
