// Tests delivery attempts: their content, their retries, and their end.
import { afterEach, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { ACCOUNT, fail, hang, reply, type Store, type Trial, URL_1 } from "./trial.ts";
import { createTrials } from "./trials.ts";

const { open, closeAll } = createTrials();
afterEach(closeAll);

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const MANY = 1_000;

const statuses = async ({ deliveries }: Trial) => (await deliveries()).map(({ status }) => status);
const asking = ({ clock }: Trial, webhookId: string) => ({
  ...{ webhookId, accountId: ACCOUNT, now: clock.now(), waitingMax: MANY },
});
/** Hours pass on every wall clock; the machine does not run meanwhile. */
const leap = async (trial: Trial, ms: number) => {
  trial.clock.shiftWall(ms);
  await trial.pass(2 * SECOND_MS);
};

describe("an event", () => {
  test("is sent at once, in order, to every endpoint that selected it", async () => {
    const trial = await open();
    await trial.listen();
    await trial.listen("https://two.example.com/", { events: ["run.completed", "run.failed"] });
    await trial.listen("https://three.example.com/", { events: ["run.failed"] });
    const events = await trial.happen(5);
    const idsTo = (url: string) => trial.sent.filter((one) => one.url === url).map(({ id }) => id);
    expect(idsTo(URL_1)).toEqual(events);
    expect(idsTo("https://two.example.com/")).toEqual(events);
    expect(trial.sent).toHaveLength(10);
    expect(await statuses(trial)).toEqual(Array(10).fill("delivered"));
    expect((await trial.attempts()).map(({ number, error }) => [number, error])).toEqual(
      Array(10).fill([1, null]),
    );
    expect((await trial.outside.count()).map((one) => one.pending_deliveries)).toEqual([0, 0, 0]);
  });

  test("stored before the start is sent at the start", async () => {
    const trial = await open();
    await trial.stop();
    await trial.listen();
    await trial.happen(3);
    expect(trial.sent).toEqual([]);
    const next = await open();
    expect(next.sent).toHaveLength(3);
  });

  test("is signed at each attempt, with every valid secret", async () => {
    const trial = await open(() => fail());
    const { id, secret } = await trial.listen();
    const [event] = await trial.happen();
    await trial.endpoints.rotate(id, ACCOUNT, HOUR_MS);
    await trial.pass(5 * SECOND_MS);
    const [first, second] = trial.sent;
    expect(second!.body).toBe(first!.body);
    expect([first!.id, second!.id]).toEqual([event!, event!]);
    const timesOf = ({ headers }: typeof first & {}) => Number(headers["webhook-timestamp"]);
    expect(timesOf(second!) - timesOf(first!)).toBe(5);
    expect(first!.headers["webhook-signature"]!.split(" ")).toHaveLength(1);
    expect(second!.headers["webhook-signature"]!.split(" ")).toHaveLength(2);
    // The library only uses the machine's clock, so its time check is removed.
    const attempts = await trial.attempts();
    expect(attempts.map(({ url, signatures }) => [url, signatures])).toEqual([
      [URL_1, 1],
      [URL_1, 2],
    ]);
    expect(attempts.map(({ started_at }) => Math.floor(started_at / 1_000))).toEqual(
      trial.sent.map(timesOf),
    );
    expect(await trial.store.find(id)).toMatchObject({
      ...{ last_answer_status: null, last_answer_error: expect.any(String) },
    });
    const verify = ({ body, headers }: typeof first & {}) => {
      const hook = new Webhook(secret);
      const at = new Date(1_000 * Number(headers["webhook-timestamp"]));
      return headers["webhook-signature"]!.split(" ").includes(hook.sign(event!, at, body));
    };
    expect([verify(first!), verify(second!)]).toEqual([true, true]);
  });
});

test("an attempt has fifteen seconds, and 4,096 bytes of its response are read", async () => {
  const trial = await open();
  await trial.listen();
  await trial.happen();
  expect(trial.sent).toMatchObject([{ timeoutMs: 15_000, responseBytesMax: 4_096 }]);
});

describe("a failure", () => {
  test("is followed by another attempt in 5 seconds, and by one in about 5 minutes", async () => {
    const trial = await open(() => reply(500, {}, "no"));
    await trial.listen();
    await trial.happen();
    await trial.pass(4 * SECOND_MS);
    expect(trial.sent).toHaveLength(1);
    await trial.pass(SECOND_MS);
    expect(trial.sent).toHaveLength(2);
    await trial.pass(4 * MINUTE_MS - SECOND_MS);
    expect(trial.sent).toHaveLength(2);
    await trial.pass(2 * MINUTE_MS + SECOND_MS);
    expect(trial.sent).toHaveLength(3);
    const [delivery] = await trial.deliveries();
    expect(delivery).toMatchObject({
      ...{ status: "pending", attempt_count: 3, tries: 3, lane: 1, last_response_status: 500 },
      last_error: "The endpoint answered 500.",
    });
  });

  test("at the tenth attempt is final", async () => {
    const trial = await open(() => fail());
    await trial.listen();
    await trial.happen();
    for (let tries = 1; tries < 10; tries++) {
      expect(await statuses(trial)).toEqual(["pending"]);
      await leap(trial, 30 * HOUR_MS);
      expect(trial.sent).toHaveLength(tries + 1);
    }
    const [delivery] = await trial.deliveries();
    expect(delivery).toMatchObject({ status: "failed", attempt_count: 10, next_attempt_at: null });
    expect(new Set(trial.sent.map(({ id, body }) => id + body)).size).toBe(1);
    await leap(trial, 300 * HOUR_MS);
    expect(trial.sent).toHaveLength(10);
  });

  test("waits for the endpoint's Retry-After, and for a minute after a timeout", async () => {
    const trial = await open((sent, nth) =>
      nth === 1 ? reply(503, { "retry-after": "30" }) : hang(trial.clock, sent),
    );
    await trial.listen();
    await trial.happen();
    await trial.pass(29 * SECOND_MS);
    expect(trial.sent).toHaveLength(1);
    await trial.pass(SECOND_MS);
    expect(trial.sent).toHaveLength(2);
    await trial.pass(15 * SECOND_MS);
    const [, attempt] = await trial.attempts();
    expect(attempt).toMatchObject({ duration_ms: 15_000, response_status: null });
  });

  test("of a test is final", async () => {
    const trial = await open(() => reply(404));
    const { id } = await trial.listen();
    const fresh = { eventId: trial.ids.uuid(), deliveryId: trial.ids.uuid(), storedMax: 1e9 };
    await trial.store.test(asking(trial, id), fresh);
    await trial.settle();
    expect(await statuses(trial)).toEqual(["failed"]);
    expect(await trial.attempts()).toMatchObject([{ kind: "test", response_status: 404 }]);
  });

  test("for five days disables the endpoint, and cancels its pending deliveries", async () => {
    const trial = await open(() => fail());
    const { id } = await trial.listen();
    await trial.happen(3);
    for (let hours = 0; hours < 120; hours += 30) {
      await leap(trial, 30 * HOUR_MS);
    }
    expect(await trial.store.find(id)).toMatchObject({
      ...{ status: "disabled", disabled_reason: "failing", pending_deliveries: 0 },
    });
    expect(await statuses(trial)).toEqual(Array(3).fill("cancelled"));
    const before = trial.sent.length;
    await trial.happen(1);
    await leap(trial, 30 * HOUR_MS);
    expect(trial.sent).toHaveLength(before);
  });
});

test("an endpoint that answers 410 is disabled, and its pending deliveries are cancelled", async () => {
  const trial = await open(() => reply(410));
  const { id } = await trial.listen();
  await trial.happen(4);
  expect(trial.sent).toHaveLength(1);
  expect(await trial.store.find(id)).toMatchObject({
    ...{ status: "disabled", disabled_reason: "gone", pending_deliveries: 0 },
  });
  expect(await statuses(trial)).toEqual(Array(4).fill("cancelled"));
  expect(trial.lines).toEqual(["webhooks: an endpoint was disabled, for it answered 410"]);
});

test("an endpoint that its owner changes concurrently stays enabled, without a log line", async () => {
  const wrap = (store: Store): Store => ({
    ...store,
    async disable(...given) {
      const [{ webhookId }] = given;
      await trial.endpoints.change(webhookId, ACCOUNT, { description: "It is mended." });
      return store.disable(...given);
    },
  });
  const trial: Trial = await open((_, nth) => reply(nth === 1 ? 410 : 204), { wrap });
  const { id } = await trial.listen();
  await trial.pass(SECOND_MS);
  await trial.happen();
  expect(await trial.store.find(id)).toMatchObject({ status: "enabled", failures: 1 });
  expect(trial.lines).toEqual([]);
  await trial.pass(MINUTE_MS);
  expect(await statuses(trial)).toEqual(["delivered"]);
});

describe("while an attempt is running", () => {
  // With earlier deliveries the endpoint has free slots, and due ones are claimed meanwhile.
  test.each([0, 3])("a delivery that is replayed is sent once more after it", async (before) => {
    const trial = await open((sent, nth) =>
      nth === before + 1 ? hang(trial.clock, sent) : reply(),
    );
    const { id } = await trial.listen();
    await trial.happen(before);
    await trial.happen();
    const delivery = (await trial.deliveries()).at(-1)!;
    await trial.store.replay(delivery.id, asking(trial, id));
    await trial.settle();
    expect(trial.sent).toHaveLength(before + 1);
    await trial.pass(15 * SECOND_MS);
    const sent = trial.sent.slice(before).map((one) => one.id);
    expect(sent).toEqual([delivery.event_id, delivery.event_id]);
    const attempts = (await trial.attempts()).filter((one) => one.delivery_id === delivery.id);
    expect(attempts.map(({ kind }) => kind)).toEqual(["scheduled", "replay"]);
    expect(await statuses(trial)).toEqual(Array(before + 1).fill("delivered"));
  });

  test("later deliveries follow the endpoint's change, and end with it", async () => {
    const trial = await open((sent, nth) => (nth === 1 ? hang(trial.clock, sent) : reply()));
    const { id } = await trial.listen();
    await trial.happen(4);
    await trial.endpoints.change(id, ACCOUNT, { url: "https://new.example.com/" });
    await trial.pass(15 * SECOND_MS);
    expect(trial.sent.map(({ url }) => url)).toEqual([
      URL_1,
      ...Array(3).fill("https://new.example.com/"),
    ]);
    expect(await statuses(trial)).toEqual(["pending", ...Array(3).fill("delivered")]);
  });

  test("a 410 of the endpoint's former URL does not disable it", async () => {
    const farewell = Promise.withResolvers<ReturnType<typeof reply>>();
    const trial = await open((_, nth) => (nth === 1 ? farewell.promise : reply()));
    const { id } = await trial.listen();
    await trial.happen();
    await trial.endpoints.change(id, ACCOUNT, { url: "https://new.example.com/" });
    farewell.resolve(reply(410));
    await trial.settle();
    expect(await trial.store.find(id)).toMatchObject({ status: "enabled", failing_since: null });
    await trial.happen();
    expect(await statuses(trial)).toEqual(["pending", "delivered"]);
    await trial.pass(MINUTE_MS);
    expect(await statuses(trial)).toEqual(["delivered", "delivered"]);
  });

  test("deliveries claimed ahead are released by a failure", async () => {
    const failure = Promise.withResolvers<ReturnType<typeof reply>>();
    const trial = await open((sent, nth) => {
      if (nth === 11) return failure.promise;
      return nth < 11 ? reply() : hang(trial.clock, sent);
    });
    await trial.listen();
    await trial.happen(10);
    await trial.happen(30);
    const countClaimed = async () =>
      (await trial.deliveries()).filter(({ epoch }) => epoch > 0).length;
    expect(await countClaimed()).toBe(16);
    failure.resolve(reply(500));
    await trial.settle();
    // Those that are running.
    expect(await countClaimed()).toBe(7);
  });

  const ENDED = ["disabled", "deleted", "disabled and enabled again"];
  test.each(ENDED)("no more deliveries are sent to an endpoint that is %s", async (what) => {
    const trial = await open((sent, nth) => (nth <= 10 ? reply() : hang(trial.clock, sent)));
    const { id } = await trial.listen();
    await trial.happen(10);
    // Eight are running, and as many are claimed ahead.
    await trial.happen(30);
    expect(trial.sent).toHaveLength(18);
    expect((await trial.deliveries()).filter(({ epoch }) => epoch > 0)).toHaveLength(16);
    if (what === "deleted") await trial.endpoints.remove(id, ACCOUNT);
    else await trial.endpoints.change(id, ACCOUNT, { status: "disabled" });
    if (what.endsWith("again")) await trial.endpoints.change(id, ACCOUNT, { status: "enabled" });
    await trial.pass(20 * MINUTE_MS);
    expect(trial.sent).toHaveLength(18);
    expect((await trial.deliveries()).filter(({ epoch }) => epoch > 0)).toEqual([]);
  });
});
