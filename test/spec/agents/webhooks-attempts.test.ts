// Events at a receiver on loopback: their types, signatures, and repeated attempts.
import { afterEach, describe, expect, test } from "bun:test";
import { readSettings } from "../../../src/settings/index.ts";
import type { TestApp, TestAppOptions } from "../../support/app.ts";
import {
  type Answer,
  type Arrival,
  openWebhookReceiver,
  verify,
  type WebhookReceiver,
} from "../../support/webhook-receiver.ts";
import { startRun } from "./population.ts";
import {
  createAgent,
  createTrigger,
  createWebhook,
  type Json,
  readJson,
  SETTINGS,
  startService,
} from "./service.ts";
import { listDeliveries, PATH } from "./webhooks-front.ts";

const EVENTS = [
  ...["run.completed", "run.failed", "approval.requested", "approval.decided"],
  "trigger.fired",
];
const ASKING = '!tool calculator {"expression":"1 + 1"}';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Front {
  app: TestApp;
  receiver: WebhookReceiver;
  /** As returned at its creation. */
  webhook: Json;
  read(): Promise<Json>;
}

/** An app that sends, at the machine's time: the library that verifies knows no other. */
async function open(answer?: Answer, options: TestAppOptions = {}): Promise<Front> {
  const receiver = openWebhookReceiver(answer);
  closing.push(async () => receiver[Symbol.asyncDispose]());
  const app = await startService({ listens: true, start_ms: Date.now(), ...options });
  closing.push(app.stop);
  const webhook = await createWebhook(app, { url: receiver.url, events: EVENTS });
  const read = async () => readJson(await app.get(`${PATH}/${webhook.id}`));
  return { app, receiver, webhook, read };
}

/** Sends a test event; resolves with the request received, and the delivery. */
async function tryOut({ app, receiver, webhook }: Front): Promise<{ id: string; came: Arrival }> {
  const { id } = await readJson(await app.post(`${PATH}/${webhook.id}/test`, undefined), 202);
  return { id, came: (await receiver.came(1)).at(-1)! };
}
/** The delivery once it has this many attempts. */
async function untilTried({ app, webhook }: Front, id: string, attempts: number): Promise<Json> {
  for (;;) {
    const read = await readJson(await app.get(`${PATH}/${webhook.id}/deliveries/${id}`));
    if (read.attempts.length === attempts) return read;
    await app.clock.advance(0);
  }
}
/** A run that ends as its script directs. */
async function run(app: TestApp, message: string, fields: object = {}): Promise<Json> {
  const agent = await createAgent(app, fields);
  return startRun(app, agent.id, { input: { message } });
}

/** The cause of each type of event, and its subject. */
const KINDS: Record<string, { about: string[]; act(app: TestApp): Promise<unknown> }> = {
  "run.completed": { about: ["run"], act: (app) => run(app, "!say Done.") },
  "run.failed": { about: ["run"], act: (app) => run(app, "!error invalid_request") },
  "approval.requested": { about: ["approval"], act: ask },
  "approval.decided": {
    about: ["approval"],
    async act(app) {
      const { id } = await ask(app);
      await waitForApproval(app, id);
      await readJson(await app.post(`/v1/runs/${id}/cancel`, undefined));
    },
  },
  "trigger.fired": {
    about: ["trigger", "fire"],
    async act(app) {
      const agent = await createAgent(app);
      const { id } = await createTrigger(app, { agent_id: agent.id });
      await readJson(await app.post(`/v1/triggers/${id}/fires`, undefined), 202);
    },
  },
};
function ask(app: TestApp): Promise<Json> {
  const policy = { require_approval: ["calculator"] };
  return run(app, ASKING, { tools: ["calculator"], policy });
}
async function waitForApproval(app: TestApp, run_id: string): Promise<void> {
  for (;;) {
    const { status } = await readJson(await app.get(`/v1/runs/${run_id}`));
    if (status === "waiting_approval") return;
    await app.clock.advance(0);
  }
}

describe("agents.events.webhook.1 agents.events.webhook.4 every type of event is sent", () => {
  test.each(Object.entries(KINDS))("%s", async (type, { about, act }) => {
    const front = await open();
    await act(front.app);
    for (let count = 1; ; count++) {
      const came = (await front.receiver.came(count))[count - 1]!;
      // agents.events.webhook.2 agents.resources.webhook_event_body
      const body = verify(came, front.webhook.secret) as Json;
      expect(Object.keys(body)).toEqual(["id", "type", "created_at", "data"]);
      expect(body.id).toBe(came.id);
      expect(new Date(body.created_at).toISOString()).toBe(body.created_at);
      if (body.type !== type) continue;
      expect(Object.keys(body.data)).toEqual(about);
      const [found] = await listDeliveries(front.app, front.webhook.id, `?type=${type}`);
      const { event } = await untilTried(front, found.id, 1);
      expect(event).toEqual(body);
      expect(JSON.stringify(event)).toBe(came.text);
      break;
    }
  });

  test("webhook.test, whatever types are selected", async () => {
    const front = await open();
    const { id, came } = await tryOut(front);
    const { webhook } = front;
    expect(verify(came, webhook.secret)).toMatchObject({
      ...{ type: "webhook.test", data: { webhook: { id: webhook.id, url: webhook.url } } },
    });
    expect(came.path).toBe("/hook");
    expect(came.headers.get("content-type")).toBe("application/json");
    const delivery = await untilTried(front, id, 1);
    expect(delivery).toMatchObject({ status: "delivered", last_response_status: 204 });
  });

  test("and no type that is not selected", async () => {
    const { app, receiver } = await open();
    await createWebhook(app, { url: `${receiver.url}/other`, events: ["run.failed"] });
    await run(app, "!say Done.");
    await run(app, "!error invalid_request");
    const arrivals = await receiver.came(3);
    const seen = arrivals.map(({ path, text }) => `${path} ${JSON.parse(text).type}`);
    expect(seen.toSorted()).toEqual([
      ...["/hook run.completed", "/hook run.failed", "/hook/other run.failed"],
    ]);
  });
});

describe("agents.authentication.7", () => {
  test("agents.authentication.webhook_id agents.authentication.webhook_timestamp the signature covers the event's id, the time of the attempt and the exact bytes", async () => {
    const front = await open();
    const { came } = await tryOut(front);
    const { secret } = front.webhook;
    expect(() => verify(came, secret)).not.toThrow();
    const seconds = Math.floor(front.app.clock.now() / 1_000);
    expect(came.headers.get("webhook-timestamp")).toBe(String(seconds));
    expect(JSON.parse(came.text).id).toBe(came.headers.get("webhook-id"));
    const other = { ...came, text: came.text.replace("webhook.test", "webhook.tess") };
    expect(() => verify(other, secret)).toThrow("No matching signature");
    const headers = new Headers(came.headers);
    headers.set("webhook-id", "another");
    expect(() => verify({ ...came, headers }, secret)).toThrow("No matching signature");
    expect(() => verify(came, `whsec_${btoa("x".repeat(32))}`)).toThrow("No matching signature");
  });

  test("agents.authentication.webhook_signature after a rotation both secrets sign during the overlap", async () => {
    const front = await open();
    const { app, receiver, webhook } = front;
    const rotated = await readJson(
      await app.post(`${PATH}/${webhook.id}/rotate-secret`, { overlap_seconds: 60 }),
    );
    const { id, came } = await tryOut(front);
    expect(came.headers.get("webhook-signature")).toMatch(/^v1,\S+ v1,\S+$/);
    for (const secret of [webhook.secret, rotated.secret]) {
      expect(() => verify(came, secret)).not.toThrow();
    }
    // An attempt under way would run out of its time.
    await untilTried(front, id, 1);
    await app.clock.advance(60_000);
    await tryOut(front);
    const later = (await receiver.came(2))[1]!;
    expect(later.headers.get("webhook-signature")).toMatch(/^v1,\S+$/);
    expect(() => verify(later, rotated.secret)).not.toThrow();
    expect(() => verify(later, webhook.secret)).toThrow("No matching signature");
  });
});

describe("agents.events.webhook.3 agents.resources.delivery", () => {
  test("every attempt and every replay has the same webhook-id and the same bytes", async () => {
    const answers = [503, 500, 200, 200];
    const front = await open(
      (_, nth) => new Response(`answer ${nth}`, { status: answers[nth - 1]! }),
    );
    const { app, receiver, webhook } = front;
    await run(app, "!say Done.");
    await receiver.came(1);
    const [{ id }] = await listDeliveries(app, webhook.id);
    const failed = await untilTried(front, id, 1);
    expect(failed).toMatchObject({
      ...{ status: "pending", attempt_count: 1, last_response_status: 503, completed_at: null },
      ...{ last_error: "The endpoint answered 503.", event_type: "run.completed" },
      next_attempt_at: new Date(app.clock.now() + 5_000).toISOString(),
    });
    await app.clock.advance(5_000);
    await receiver.came(2);
    const { next_attempt_at } = await untilTried(front, id, 2);
    const waitMs = Date.parse(next_attempt_at) - app.clock.now();
    expect(waitMs).toBeWithin(240_000, 360_001);
    // Not beyond it, where the third would run out of its time.
    await app.clock.advance(waitMs);
    await receiver.came(3);
    const delivered = await untilTried(front, id, 3);
    expect(delivered).toMatchObject({ status: "delivered", last_error: null, attempt_count: 3 });
    const replay = `${PATH}/${webhook.id}/deliveries/${id}/replay`;
    await readJson(await app.post(replay, undefined), 202);
    const arrivals = await receiver.came(4);
    const replayed = await untilTried(front, id, 4);
    expect(replayed.attempts).toMatchObject([
      ...[
        { number: 1, kind: "scheduled", response_status: 503, response_body: "answer 1" },
        { number: 2, kind: "scheduled", response_status: 500, response_body: "answer 2" },
        { number: 3, kind: "scheduled", response_status: 200, error: null },
        { number: 4, kind: "replay", response_status: 200, error: null },
      ],
    ]);
    expect(new Set(arrivals.map((one) => one.id))).toEqual(new Set([delivered.event_id]));
    expect(new Set(arrivals.map((one) => one.text)).size).toBe(1);
    const times = arrivals.map(({ headers }) => Number(headers.get("webhook-timestamp")));
    expect(times).toEqual(times.toSorted());
    expect(times[1]! - times[0]!).toBe(5);
    for (const attempt of replayed.attempts) {
      expect(new Date(attempt.started_at).toISOString()).toBe(attempt.started_at);
    }
  });

  test("a failed or invalid response is reported in a sentence", async () => {
    const front = await open((_, nth) => {
      if (nth === 1) return Response.redirect("http://127.0.0.1:9/elsewhere", 307);
      return new Response(Uint8Array.of(0x61, 0, 0xff), { status: 418 });
    });
    const first = await tryOut(front);
    const redirected = await untilTried(front, first.id, 1);
    expect(redirected).toMatchObject({ status: "failed", last_response_status: 307 });
    expect(redirected.last_error).toContain("redirects are not followed");
    const second = await tryOut(front);
    const strange = await untilTried(front, second.id, 1);
    expect(strange.attempts[0].response_body).toBe("a\ufffd\ufffd");
    await front.receiver[Symbol.asyncDispose]();
    const { id } = await readJson(
      await front.app.post(`${PATH}/${front.webhook.id}/test`, undefined),
      202,
    );
    const unreached = await untilTried(front, id, 1);
    expect(unreached).toMatchObject({ status: "failed", last_response_status: null });
    expect(unreached.last_error).toBe(`No connection to ${front.receiver.host} could be made.`);
  });
});

test("agents.resources.webhook_endpoint an endpoint that answers 410 is disabled, with its reason", async () => {
  const front = await open(() => new Response("Gone.", { status: 410 }));
  const { id } = await tryOut(front);
  await untilTried(front, id, 1);
  for (;;) {
    const read = await front.read();
    if (read.status === "disabled") {
      expect(read).toMatchObject({ disabled_reason: "gone", pending_deliveries: 0 });
      break;
    }
    await front.app.clock.advance(0);
  }
  const [delivery] = await listDeliveries(front.app, front.webhook.id);
  // A test is tried once: what came of it is known.
  expect(delivery).toMatchObject({ status: "failed", last_response_status: 410 });
});

describe("a reload of the settings", () => {
  const change = ({ app }: Front, settings: string) =>
    app.app.change(readSettings(settings, "wadi.toml", {}, { "server.port": 0 }));

  test("agents.errors.not_enabled while webhooks are switched off deliveries wait", async () => {
    const front = await open();
    const { app, receiver, webhook } = front;
    await change(front, `[agents]\nwebhooks = false\n${SETTINGS}`);
    const { id } = await run(app, "!say Done.");
    for (;;) {
      if ((await readJson(await app.get(`/v1/runs/${id}`))).status === "succeeded") break;
      await app.clock.advance(0);
    }
    await app.clock.advance(180_000);
    expect(receiver.arrivals).toEqual([]);
    let [waiting] = await listDeliveries(app, webhook.id);
    // It is fanned out beside the run's end.
    for (; !waiting; [waiting] = await listDeliveries(app, webhook.id)) await app.clock.advance(0);
    expect(waiting).toMatchObject({ status: "pending", attempt_count: 0 });
    await change(front, SETTINGS);
    await receiver.came(1);
    expect((await untilTried(front, waiting.id, 1)).status).toBe("delivered");
  });

  test("an address is checked at every attempt, by the current allow list", async () => {
    const front = await open();
    await change(front, SETTINGS.replace(/allow = .*/, "allow = []"));
    const { id } = await readJson(
      await front.app.post(`${PATH}/${front.webhook.id}/test`, undefined),
      202,
    );
    const refused = await untilTried(front, id, 1);
    expect(refused).toMatchObject({ status: "failed", last_response_status: null });
    expect(refused.last_error).toContain("https://");
    expect(front.receiver.arrivals).toEqual([]);
  });
});

test("the metrics page counts attempts by result", async () => {
  const front = await open((_, nth) => new Response(null, { status: nth === 1 ? 204 : 500 }), {
    hasOpenMetrics: true,
  });
  for (let n = 1; n <= 2; n++) await untilTried(front, (await tryOut(front)).id, 1);
  const text = await (await front.app.get("/metrics", { key: null })).text();
  const figures = [...text.matchAll(/^wadi_webhook\S* \d+$/gm)].map(([line]) => line);
  expect(figures).toEqual([
    "wadi_webhooks_sending 0",
    'wadi_webhook_attempts_total{end="delivered"} 1',
    'wadi_webhook_attempts_total{end="rejected"} 1',
    'wadi_webhook_attempts_total{end="timeout"} 0',
    'wadi_webhook_attempts_total{end="unreachable"} 0',
  ]);
});
