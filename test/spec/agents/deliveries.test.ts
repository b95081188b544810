// The agents API for deliveries: lists, reads and replays by the owner of the endpoint.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { outboxStore } from "../../../src/outbox/store.ts";
import { KEY, type TestApp } from "../../support/app.ts";
import { expectRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { createWebhook, type Json, readJson, startService } from "./service.ts";
import { countDeliveries, give, happen, listDeliveries, PATH, patch } from "./webhooks-front.ts";

const LONG_AGO = "2026-01-01T00:00:00.000Z";
const FAR_MS = 10 ** 13;

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

const read = async (id: string, delivery: string, on = app): Promise<Json> =>
  readJson(await on.get(`${PATH}/${id}/deliveries/${delivery}`));
const replay = (id: string, delivery: string, on = app) =>
  on.post(`${PATH}/${id}/deliveries/${delivery}/replay`, undefined);
const recover = (id: string, body: object, on = app) => on.post(`${PATH}/${id}/deliveries`, body);
const tryOut = async (id: string, on = app): Promise<Json> =>
  readJson(await on.post(`${PATH}/${id}/test`, undefined), 202);
/** An account of its own, with an endpoint for runs that fail. */
async function open(env: Record<string, string> = {}) {
  const front = await startService({ env });
  const { id } = await createWebhook(front, { events: ["run.failed"] });
  return { front, id: id as string };
}
const disable = async (front: TestApp, id: string) =>
  readJson(await patch(front, id, { status: "disabled" }));
const enable = async (front: TestApp, id: string) =>
  readJson(await patch(front, id, { status: "enabled" }));
const forget = (front: TestApp) => front.app.database.bind(outboxStore).sweep(FAR_MS, 1_000);

describe("POST /v1/webhooks/{id}/test", () => {
  test("agents.events.webhook.1 agents.resources.delivery an event `webhook.test` is due at once, whatever types are selected", async () => {
    const { id, url } = await createWebhook(app, { events: ["run.failed"] });
    const delivery = await tryOut(id);
    const now = new Date(app.clock.now()).toISOString();
    expect(delivery).toEqual({
      ...{ id: delivery.id, webhook_id: id, event_id: delivery.event_id },
      ...{ event_type: "webhook.test", status: "pending", attempt_count: 0, next_attempt_at: now },
      ...{ last_response_status: null, last_error: null, created_at: now, completed_at: null },
    });
    const event = { id: delivery.event_id, type: "webhook.test", created_at: now };
    // agents.resources.webhook_event_body
    expect(await read(id, delivery.id)).toEqual({
      ...{ ...delivery, attempts: [] },
      event: { ...event, data: { webhook: { id, url } } },
    });
    expect((await readJson(await app.get(`${PATH}/${id}`))).pending_deliveries).toBe(1);
  });

  test("agents.errors.endpoint_disabled a disabled endpoint must be enabled first", async () => {
    const { id } = await createWebhook(app);
    const delivery = await tryOut(id);
    await disable(app, id);
    for (const reply of [
      await app.post(`${PATH}/${id}/test`, undefined),
      await replay(id, delivery.id),
      await recover(id, { since: LONG_AGO }),
    ]) {
      await expectRefusal(reply, 409, "endpoint_disabled");
    }
    await enable(app, id);
    await tryOut(id);
    expect((await readJson(await replay(id, delivery.id), 202)).status).toBe("pending");
  });
});

describe("GET /v1/webhooks/{id}/deliveries", () => {
  test("agents.endpoints.webhooks.p1 agents.resources.webhook_event_body lists each delivery with its state, and returns it with its event", async () => {
    const { front, id } = await open();
    await happen(front, 1);
    await give(front);
    const [delivery, ...others] = await listDeliveries(front, id);
    expect(others).toEqual([]);
    const { event, attempts, ...shown } = await read(id, delivery.id, front);
    expect(shown).toEqual(delivery);
    expect(attempts).toEqual([]);
    const [run] = (await readJson(await front.get("/v1/runs"))).data;
    // agents.events.webhook.2, agents.events.webhook.4
    expect(event).toEqual({
      ...{ id: delivery.event_id, type: "run.failed", created_at: run.finished_at },
      data: { run },
    });
    await front.stop();
  });

  test("agents.endpoints.webhooks.p1 pages are newest first, filtered by status, by type, or unfiltered", async () => {
    const { front, id } = await open({ WADI_LIMITS__WAITING_DELIVERIES: "4" });
    await happen(front, 3);
    await give(front);
    await front.clock.advance(1);
    await tryOut(id, front);
    await happen(front, 2);
    await give(front);
    const all = await listDeliveries(front, id);
    const look = ({ event_type, status }: Json) => `${event_type} ${status}`;
    expect(all.map(look)).toEqual([
      ...["run.failed failed", "run.failed failed", "webhook.test pending"],
      ...["run.failed pending", "run.failed pending", "run.failed pending"],
    ]);
    const ask = (query: string) => listDeliveries(front, id, query);
    expect(await ask("?status=failed")).toEqual(all.slice(0, 2));
    expect(await ask("?status=delivered")).toEqual([]);
    expect(await ask("?type=webhook.test")).toEqual([all[2]]);
    expect(await ask("?type=run.failed&status=pending")).toEqual(all.slice(3));
    for (const filter of ["", "&type=run.failed"]) {
      const pages: Json[] = [];
      for (let query = `?limit=2${filter}`; ; ) {
        const page = await readJson(await front.get(`${PATH}/${id}/deliveries${query}`));
        pages.push(...page.data);
        if (page.next_before === null) break;
        expect(page.data).toHaveLength(2);
        query = `?limit=2${filter}&before=${page.next_before}`;
      }
      const wanted = filter ? all.filter((one) => one.event_type === "run.failed") : all;
      expect(pages).toEqual(wanted);
    }
    await front.stop();
  });

  test("agents.errors.p9 a page has 1 to 200 deliveries, and a cursor belongs to its list and filters", async () => {
    const { front, id } = await open();
    await happen(front, 3);
    await give(front);
    const path = `${PATH}/${id}/deliveries`;
    for (const query of ["limit=0", "limit=201", "status=lost", "type=run", "before=x"]) {
      const param = query.split("=")[0]!;
      await expectRefusal(await front.get(`${path}?${query}`), 400, undefined, param);
    }
    expect(await listDeliveries(front, id, "?limit=200")).toHaveLength(3);
    const { next_before } = await readJson(await front.get(`${path}?limit=1`));
    const other = await createWebhook(front);
    const filtered = ["status=pending", "type=run.completed"].map((one) => `${path}?${one}&`);
    for (const elsewhere of [...filtered, `${PATH}/${other.id}/deliveries?`]) {
      const reply = await front.get(`${elsewhere}before=${next_before}`);
      await expectRefusal(reply, 400, undefined, "before");
    }
    await front.stop();
  });

  test("agents.errors.delivery_not_found agents.errors.webhook_not_found a delivery is found under its own endpoint only", async () => {
    const { id } = await createWebhook(app);
    const other = await createWebhook(app);
    const delivery = await tryOut(id);
    for (const [webhook, one] of [
      [other.id, delivery.id],
      [id, NOWHERE],
      [id, delivery.event_id],
    ]) {
      const path = `${PATH}/${webhook}/deliveries/${one}`;
      await expectRefusal(await app.get(path), 404, "delivery_not_found");
      await expectRefusal(await replay(webhook, one), 404, "delivery_not_found");
    }
    const key = `${KEY}-other`;
    for (const path of [`${PATH}/${id}/deliveries`, `${PATH}/${id}/deliveries/${delivery.id}`]) {
      await expectRefusal(await app.get(path, { key }), 404, "webhook_not_found");
    }
    await expectRefusal(await replay(NOWHERE, delivery.id), 404, "webhook_not_found");
  });
});

describe("POST /v1/webhooks/{id}/deliveries/{delivery_id}/replay", () => {
  test("agents.events.webhook.3 agents.resources.delivery the same delivery of the same event is due again", async () => {
    const { front, id } = await open();
    await happen(front, 1);
    await disable(front, id);
    await enable(front, id);
    const [cancelled] = await listDeliveries(front, id);
    expect(cancelled).toMatchObject({
      ...{ status: "cancelled", next_attempt_at: null },
      completed_at: new Date(front.clock.now()).toISOString(),
    });
    await front.clock.advance(5_000);
    const again = await readJson(await replay(id, cancelled.id, front), 202);
    expect(again).toEqual({
      ...{ ...cancelled, status: "pending", completed_at: null },
      next_attempt_at: new Date(front.clock.now()).toISOString(),
    });
    // Once more it is still one: it has not been sent yet.
    expect(await readJson(await replay(id, cancelled.id, front), 202)).toEqual(again);
    expect(await listDeliveries(front, id)).toEqual([again]);
    expect((await readJson(await front.get(`${PATH}/${id}`))).pending_deliveries).toBe(1);
    await front.stop();
  });

  test("agents.errors.event_expired an event past its retention is not sent again", async () => {
    const { front, id } = await open();
    await happen(front, 1);
    await give(front);
    const [delivery] = await listDeliveries(front, id);
    await forget(front);
    await expectRefusal(await replay(id, delivery.id, front), 409, "event_expired");
    expect(await read(id, delivery.id, front)).toEqual({
      ...{ ...delivery, attempts: [], event: null },
    });
    await front.stop();
  });
});

describe("agents.errors.deliveries_limit", () => {
  test("agents.errors.deliveries_limit agents.limits.run_admission_trigger_endpoint deliveries over the limit are stored as failed, and can be sent when there is room", async () => {
    const { front, id } = await open({ WADI_LIMITS__WAITING_DELIVERIES: "2" });
    await happen(front, 5);
    await give(front);
    expect(await countDeliveries(front, id)).toBe("3 failed, 2 pending");
    const [failed] = await listDeliveries(front, id, "?status=failed");
    expect(failed).toMatchObject({
      ...{ last_error: expect.stringContaining("deliveries_limit"), attempt_count: 0 },
      ...{ next_attempt_at: null, completed_at: failed.created_at },
    });
    for (const reply of [
      await front.post(`${PATH}/${id}/test`, undefined),
      await replay(id, failed.id, front),
      await recover(id, { since: LONG_AGO }, front),
    ]) {
      await expectRefusal(reply, 429, "deliveries_limit");
    }
    // One that waits already takes no other's place.
    const [waiting] = await listDeliveries(front, id, "?status=pending");
    await readJson(await replay(id, waiting.id, front), 202);
    // Other accounts are not delayed.
    const other = await createWebhook(front, {}, { key: `${KEY}-other` });
    const theirs = await front.post(`${PATH}/${other.id}/test`, undefined, { key: `${KEY}-other` });
    expect(theirs.status).toBe(202);
    await disable(front, id);
    await enable(front, id);
    expect(await readJson(await recover(id, { since: LONG_AGO }, front), 202)).toEqual({
      queued: 2,
    });
    expect(await countDeliveries(front, id)).toBe("3 failed, 2 pending");
    await front.stop();
  });
});

test("agents.errors.deliveries_limit agents.errors.endpoints_limit of concurrent requests only as many as the limit are accepted", async () => {
  const env = { WADI_LIMITS__WAITING_DELIVERIES: "5", WADI_LIMITS__ENDPOINTS: "3" };
  const { front, id } = await open(env);
  const many = (ask: () => Promise<Response>) => Promise.all(Array.from({ length: 12 }, ask));
  const count = (replies: Response[], status: number) =>
    replies.filter((reply) => reply.status === status).length;
  const tests = await many(() => front.post(`${PATH}/${id}/test`, undefined));
  expect([count(tests, 202), count(tests, 429)]).toEqual([5, 7]);
  expect((await readJson(await front.get(`${PATH}/${id}`))).pending_deliveries).toBe(5);
  const body = { url: "http://127.0.0.1:9/hooks", events: ["run.failed"] };
  const made = await many(() => front.post(PATH, body));
  expect([count(made, 201), count(made, 429)]).toEqual([2, 10]);
  await front.stop();
});

describe("POST /v1/webhooks/{id}/deliveries", () => {
  test("agents.endpoints.webhooks.p1 resends all deliveries lost in a period", async () => {
    const { front, id } = await open();
    const lose = async (count: number) => {
      await happen(front, count);
      await disable(front, id);
      await enable(front, id);
      return new Date(front.clock.now()).toISOString();
    };
    const first = await lose(2);
    await front.clock.advance(60_000);
    const second = await lose(3);
    await front.clock.advance(60_000);
    const third = await lose(4);
    const ask = async (body: object) =>
      (await readJson(await recover(id, body, front), 202)).queued;
    await front.clock.advance(1_000);
    const now = new Date(front.clock.now()).toISOString();
    expect(await ask({ since: now })).toBe(0);
    expect(await ask({ since: "2036-01-01T00:00:00Z" })).toBe(0);
    expect(await ask({ since: second, until: second })).toBe(3);
    expect(await countDeliveries(front, id)).toBe("6 cancelled, 3 pending");
    expect(await ask({ since: first, until: second })).toBe(2);
    expect(await ask({ since: third, until: null })).toBe(4);
    expect(await ask({ since: first })).toBe(0);
    expect(await countDeliveries(front, id)).toBe("9 pending");
    await front.stop();
  });

  test("agents.endpoints.webhooks.p1 many deliveries are resent in several batches, and expired ones are skipped", async () => {
    const env = { WADI_LIMITS__ACTIVE_RUNS: "10000", WADI_LIMITS__DAILY_RUNS: "10000" };
    const { front, id } = await open(env);
    await happen(front, 3);
    await give(front);
    await forget(front);
    await happen(front, 600);
    await disable(front, id);
    await enable(front, id);
    expect(await readJson(await recover(id, { since: LONG_AGO }, front), 202)).toEqual({
      queued: 600,
    });
    expect((await readJson(await front.get(`${PATH}/${id}`))).pending_deliveries).toBe(600);
    await front.stop();
  });

  test("agents.errors.invalid_request its dates are valid instants in ascending order", async () => {
    const { id } = await createWebhook(app);
    for (const [body, param] of [
      [{ since: "yesterday" }, "since"],
      [{ since: "2026-02-30T00:00:00Z" }, "since"],
      [{ since: "2026-11-20" }, "since"],
      [{ since: LONG_AGO, until: "soon" }, "until"],
      [{ since: LONG_AGO, until: "2025-01-01T00:00:00Z" }, "until"],
    ] as const) {
      await expectRefusal(await recover(id, body), 400, "invalid_request", param);
    }
    await expectRefusal(await recover(id, {}), 400, undefined, "since");
    await expectRefusal(await recover(id, { since: 5 }), 400, undefined, "since");
    await expectRefusal(await recover(id, { since: "x".repeat(41) }), 400, undefined, "since");
    const body = { since: LONG_AGO };
    await expectRefusal(await recover(NOWHERE, body), 404, "webhook_not_found");
    const reversed = { since: LONG_AGO, until: "2025-01-01T00:00:00Z" };
    await expectRefusal(await recover(NOWHERE, reversed), 404, "webhook_not_found");
  });
});
