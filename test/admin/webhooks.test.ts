// Tests the operator's webhook commands: endpoints, deliveries and replays.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { AdminError, nameLocalActor, perform } from "../../src/admin/index.ts";
import { webhookOperations } from "../../src/admin/operations/webhooks.ts";
import { type Json, type RunsFront, startRuns } from "../spec/agents/runs-front.ts";
import { give, happen, listDeliveries } from "../spec/agents/webhooks-front.ts";
import { type AskOptions, KEY } from "../support/app.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const OTHER = { key: `${KEY}-other` };
const ANY = { limit: 20 };
const ACTOR = nameLocalActor();

let front: RunsFront;
beforeAll(async () => {
  front = await startRuns();
});
afterAll(() => front.app.stop(0));

const verbs = () => front.app.admin.webhooks;

async function create(own = front, options?: AskOptions): Promise<Json> {
  const body = { url: "https://hooks.example.com/wadi", events: ["run.failed"] };
  const made = await own.post("/v1/webhooks", body, options);
  expect(made.status).toBe(201);
  return (await made.json()) as Json;
}
async function turn(id: string, status: "enabled" | "disabled"): Promise<void> {
  const reply = await front.ask("PATCH", `/v1/webhooks/${id}`, { body: { status } });
  expect(reply.status).toBe(200);
}

/** An endpoint with this number of cancelled deliveries, a second apart. */
async function lose(count: number): Promise<{ id: string; lost: Json[] }> {
  const { id } = await create();
  for (let i = 0; i < count; i++) {
    await happen(front, 1);
    await give(front);
    await front.clock.advance(1_000);
  }
  await turn(id, "disabled");
  const lost = await listDeliveries(front, id);
  expect(lost).toHaveLength(count);
  return { id, lost };
}
/** The error message of the refusal. */
async function problemOf(work: Promise<unknown>): Promise<string> {
  const refused = await work.catch((why: unknown) => why);
  expect(refused).toBeInstanceOf(AdminError);
  return (refused as Error).message;
}
const statusesOf = async (id: string) =>
  (await verbs().listDeliveries(id, ANY)).map(({ status }) => status as string);

test("agents.does.webhook: endpoints are listed newest first as their owners see them, of all accounts or of one", async () => {
  await using own = await startRuns();
  const { webhooks } = own.app.admin;
  expect(await webhooks.list(null)).toEqual([]);
  const made: Json[] = [];
  for (const options of [undefined, OTHER, undefined]) {
    const { secret: _, ...endpoint } = await create(own, options);
    const silent = { last_answer_at: null, last_answer_status: null, last_answer_error: null };
    const health = { ...silent, delivered_24h: 0, failed_24h: 0 };
    made.unshift({ account: options ? "other" : "dev", ...endpoint, ...health });
    await own.clock.advance(1_000);
  }
  expect((await webhooks.list(null)) as Json[]).toEqual(made);
  expect((await webhooks.list("other")) as Json[]).toEqual([made[1]!]);
  await expect(webhooks.list("othr")).rejects.toThrow('did you mean "other"?');
});

test("agents.resources.delivery: deliveries are listed newest first, up to a number and by status", async () => {
  const { id, lost } = await lose(3);
  const idsOf = async (filter: object) =>
    (await verbs().listDeliveries(id, { ...ANY, ...filter })).map((one) => one.id);
  expect(await idsOf({})).toEqual(lost.map((one) => one.id));
  expect(await idsOf({ limit: 2 })).toEqual(lost.slice(0, 2).map((one) => one.id));
  expect(await idsOf({ status: "cancelled" })).toHaveLength(3);
  expect(await idsOf({ status: "pending" })).toEqual([]);
});

test("agents.events.webhook.3: a redelivery has the same event, and a disabled endpoint refuses it", async () => {
  const { id, lost } = await lose(1);
  const [{ id: delivery_id, event_id }] = lost as [Json];
  expect(await problemOf(verbs().replay(delivery_id))).toContain("disabled");
  await turn(id, "enabled");
  const now = front.clock.now();
  expect(await verbs().replay(delivery_id.toUpperCase())).toMatchObject({
    ...{ id: delivery_id, event_id, status: "pending", next_attempt_at: now },
  });
});

test("failed deliveries of a time range are due again", async () => {
  const { id, lost } = await lose(4);
  const at = (which: number) => Date.parse(lost[which]!.created_at);
  expect(await problemOf(verbs().recover(id, { since: 0, until: null }))).toContain("disabled");
  await turn(id, "enabled");
  expect(await verbs().recover(id, { since: at(2), until: at(1) })).toBe(2);
  expect(await statusesOf(id)).toEqual(["cancelled", "pending", "pending", "cancelled"]);
  expect(await verbs().recover(id, { since: at(3), until: null })).toBe(2);
  expect(await statusesOf(id)).toEqual(["pending", "pending", "pending", "pending"]);
  expect(await verbs().recover(id, { since: at(3), until: null })).toBe(0);
  expect(await verbs().recover(id, { since: front.clock.now() + 1, until: null })).toBe(0);
  expect(await problemOf(verbs().recover(id, { since: at(1), until: at(2) }))).toBe(
    "the span ends before it begins",
  );
});

test("a delivery is shown with its attempts and its body", async () => {
  const { id } = await create();
  const { id: delivery_id, event_id } = await verbs().test(id);
  const found = await verbs().showDelivery(delivery_id);
  expect(found).toMatchObject({ account: "dev", id: delivery_id, attempts: [] });
  expect(JSON.parse(found.body!)).toMatchObject({ id: event_id, type: "webhook.test" });
  expect(await verbs().show(id)).toMatchObject({ id, account: "dev", last_answer_at: null });
});

test("lost deliveries are counted before they are recovered, and an endpoint is enabled", async () => {
  const { id, lost } = await lose(3);
  const since = Date.parse(lost.at(-1)!.created_at);
  expect(await problemOf(verbs().test(id))).toContain("disabled");
  expect(await verbs().countLost(id, { since, until: null })).toBe(3);
  expect(await verbs().countLost(id, { since: since + 1, until: null })).toBe(2);
  const enabled = await verbs().enable(id);
  expect(enabled).toMatchObject({ isChanged: true, endpoint: { id, status: "enabled" } });
  expect(await verbs().enable(id)).toMatchObject({ isChanged: false });
  expect(await verbs().recover(id, { since, until: null })).toBe(3);
  expect(await verbs().countLost(id, { since, until: null })).toBe(0);
});

test("a malformed id is not quoted, an unknown one is", async () => {
  const { recover, replay } = verbs();
  const list = "wadi webhooks list";
  const cases: [(id: string) => Promise<unknown>, string, string][] = [
    [(id) => verbs().listDeliveries(id, ANY), "endpoint", list],
    [(id) => recover(id, { since: 0, until: null }), "endpoint", list],
    [replay, "delivery", "wadi webhooks deliveries ID"],
  ];
  for (const [verb, what, see] of cases) {
    const secret = verb("whsec_canary");
    await expect(secret).rejects.toThrow(`that is no ${what}'s id: \`${see}\` shows them`);
    await expect(secret).rejects.toBeInstanceOf(AdminError);
    await expect(verb(UNKNOWN)).rejects.toThrow(`there is no ${what} "${UNKNOWN}": see \`${see}\``);
  }
});

test("an endpoint is created for an account, and its secret shown once", async () => {
  const asked = { url: "https://hooks.example.com/in", description: "The order desk." };
  const made = await verbs().create("dev", { ...asked, events: ["run.failed", "run.failed"] });
  expect(made).toMatchObject({ ...asked, account: "dev", events: ["run.failed"] });
  expect(made.secret).toStartWith("whsec_");
  // The audit log has nothing that the account wrote.
  await perform(front.app.admin, webhookOperations.enable, { id: made.id }, ACTOR);
  const [entry] = await front.app.admin.audit.list({ limit: 1 });
  const kept = { id: made.id, status: "enabled" };
  expect([entry!.state_before, entry!.state_after]).toEqual([kept, kept]);
  const shown = await verbs().show(made.id);
  expect(shown).not.toHaveProperty("secret");
  const { secret: _, ...rest } = made;
  expect(shown).toEqual(rest);
  for (const url of ["http://hooks.example.com/in", "https://127.0.0.1/in"]) {
    await expect(verbs().create("dev", { url, events: ["run.failed"] })).rejects.toThrow(
      AdminError,
    );
  }
  await expect(verbs().create("none", { ...asked, events: [] })).rejects.toThrow("no account");
});
