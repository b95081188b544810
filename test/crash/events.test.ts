// The compiled program, killed at every write of fires and deliveries: each fire happens once, and
// every event is delivered.
import { Database as Connection } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyData } from "../../scripts/prove/data-copy.ts";
import {
  checkEvents,
  findLastEvent,
  type HookAnswers,
  LAWS,
  type Receipt,
} from "../../scripts/prove/event-check.ts";
import {
  type Arrival,
  type EventReceiver,
  openEventReceiver,
  sign,
} from "../../scripts/prove/event-receiver.ts";
import { checkRuns } from "../../scripts/prove/run-check.ts";
import { outboxStore } from "../../src/outbox/store.ts";
import { triggerStore } from "../../src/triggers/store/index.ts";
import { webhookStore } from "../../src/webhooks/store/index.ts";
import { type Child, startProgram } from "../support/crash.ts";
import { chooseCases } from "../support/rounds.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-crash-events-"));
const template = join(root, "template");
let receiver: EventReceiver;
afterAll(() => {
  receiver.close();
  rmSync(root, { recursive: true, force: true });
});

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** A full minute. */
const BEGINNING = Date.parse("2027-03-01T10:00:00Z");
/** Longer than a delivery can have to wait. */
const REST_MS = 2 * DAY_MS;
const EVENTS = ["run.completed", "run.failed", "trigger.fired"];

/** Steps that lead servers to their fail points, in sequence on the same data. */
interface Scene {
  points: readonly string[];
  /** Earlier kills that create the state under test. */
  first?: string;
  /** Beside what each server sees: an instant of a schedule, a request, a fire by hand. */
  act?(server: Server, point: string): Promise<unknown>;
  mood?: "gone" | "down";
  /** The last sweep is long ago: each server sweeps at its start. */
  sweeps?: true;
  /** Milliseconds by which the clock of the first server is ahead of that of the others. */
  aheadMs?: number;
}
const at = (write: string, ...passes: number[]) =>
  passes.flatMap((pass) => [`${write}:before#${pass}`, `${write}:after#${pass}`]);
const isOf = (point: string, write: string) => point.includes(`.${write}:`);
const twice = (write: string) => [`${write}:before`, `${write}:after`];
const ENABLED = { status: "enabled" };
/** Longer than the others rest. */
const WEEK = { overlap_seconds: 7 * 86_400 };

const SCENES: Readonly<Record<string, Scene>> = {
  "a fire": { points: at("triggers.fire", 1, 2, 3) },
  "events that are given": { points: at("webhooks.fanOut", 1, 2) },
  "a delivery that is begun": { points: at("webhooks.claim", 1, 2) },
  "a delivery that is over": { points: at("webhooks.settle", 1, 2) },
  "what a dead one had": {
    first: "webhooks.claim:after",
    points: twice("webhooks.release"),
  },
  "a clock that goes back": {
    first: "triggers.fire:after#3",
    points: twice("triggers.realign"),
    aheadMs: 60 * MINUTE_MS,
  },
  "retries far ahead": {
    first: "webhooks.settle:after#2",
    points: twice("webhooks.pull"),
    aheadMs: 3 * DAY_MS,
    mood: "down",
  },
  "an endpoint that is gone": { points: twice("webhooks.disable"), mood: "gone" },
  "a sweep": {
    sweeps: true,
    points: ["triggers.sweepFires", "webhooks.sweep", "webhooks.sweepGone", "outbox.sweep"].flatMap(
      twice,
    ),
  },
  "a new trigger": {
    points: twice("triggers.create"),
    act: ({ ask }) => ask("POST", "/v1/triggers", { ...hookOf("new"), agent_id: ids.agent }),
  },
  "a trigger": {
    points: [...twice("triggers.change"), ...twice("triggers.rotate")],
    async act({ ask }, point) {
      await ask("PATCH", `/v1/triggers/${ids.hook}`, { input: { message: "Hello" } });
      // Once: the previous secret stays valid beside the unseen new one.
      if (isOf(point, "rotate")) await ask("POST", `/v1/triggers/${ids.hook}/rotate-secret`, WEEK);
    },
  },
  // Before its trigger is deleted: one story of all scenes would have none to pause.
  "an agent that is archived": {
    points: twice("triggers.pauseArchived"),
    act: ({ ask }) => ask("PATCH", `/v1/agents/${ids.spare_agent}`, { status: "archived" }),
  },
  "a trigger that goes": {
    points: twice("triggers.remove"),
    act: ({ ask }) => ask("DELETE", `/v1/triggers/${ids.spare_trigger}`),
  },
  "a new endpoint": {
    points: twice("webhooks.create"),
    act: ({ ask }) => ask("POST", "/v1/webhooks", endpointOf(`new-${++made}`)),
  },
  "an endpoint": {
    points: [...twice("webhooks.rotate"), ...twice("webhooks.update")],
    async act({ ask }, point) {
      if (isOf(point, "rotate"))
        await ask("POST", `/v1/webhooks/${ids.endpoint}/rotate-secret`, WEEK);
      await ask("PATCH", `/v1/webhooks/${ids.spare_endpoint}`, { events: ["run.failed"] });
    },
  },
  "an endpoint that goes": {
    points: twice("webhooks.remove"),
    act: ({ ask }) => ask("DELETE", `/v1/webhooks/${ids.spare_endpoint}`),
  },
  "what an endpoint is asked to take": {
    points: [...twice("webhooks.test"), ...twice("webhooks.replay"), ...twice("webhooks.recover")],
    async act({ ask }) {
      const path = `/v1/webhooks/${ids.endpoint}`;
      await ask("POST", `${path}/test`);
      await ask("POST", `${path}/deliveries/${ids.delivery}/replay`);
      await ask("POST", `${path}/deliveries`, { since: new Date(BEGINNING).toISOString() });
    },
  },
};

/** Everything that they are about is in the template. */
const ids = {
  ...{ agent: "", hook: "", hook_secret: "", cron: "", endpoint: "", delivery: "" },
  ...{ spare_agent: "", spare_trigger: "", spare_endpoint: "" },
};
let subscribed_after = 0;
let made = 0;
const hookOf = (name: string) => ({ name, kind: "webhook", overlap: "allow" });
const endpointOf = (name: string) => ({
  url: `http://${receiver.host}/${name}`,
  events: EVENTS,
});

type Reply = Record<string, unknown> & { id: string; secret: string };
interface Server {
  child: Child;
  /** Clock at its start. */
  wall_ms: number;
  /** How often each event had come before its start. */
  before: ReadonlyMap<Arrival, number>;
  /** The response; undefined: the server has ended. */
  ask(method: string, path: string, body?: object, headers?: object): Promise<Answered | undefined>;
}
interface Answered {
  status: number;
  body: Reply;
}

/** The server; undefined: it died before it listened. */
async function serve(data: string, wall_ms: number, failPoint = ""): Promise<Server | undefined> {
  const before = new Map(receiver.list().map((one) => [one, one.times]));
  const now = new Date(wall_ms).toISOString();
  const egress = ["--allow-egress", receiver.host];
  const args = ["dev", "--json", "--port", "0", "--now", now, "--data", data, ...egress];
  const child = startProgram(args, failPoint);
  const line = await child.next();
  if (line === undefined) {
    expect(await child.ended).toMatchObject({ signal: "SIGKILL" });
    return undefined;
  }
  const { url, keys } = JSON.parse(line) as { url: string; keys: string[] };
  const ask: Server["ask"] = async (method, path, body, headers) => {
    const requestHeaders = {
      authorization: `Bearer ${keys[0]}`,
      "content-type": "application/json",
    };
    const sent = {
      method,
      headers: { ...requestHeaders, ...headers },
      body: body && JSON.stringify(body),
    };
    const reply = await fetch(`${url}${path}`, sent).catch(() => undefined);
    const text = await reply?.text().catch(() => undefined);
    if (!reply || text === undefined) return undefined;
    return { status: reply.status, body: text === "" ? ({} as Reply) : JSON.parse(text) };
  };
  return { child, wall_ms, before, ask };
}

beforeAll(async () => {
  receiver = await openEventReceiver();
  const server = (await serve(template, BEGINNING))!;
  const create = async (path: string, body: object, status = 201): Promise<Reply> => {
    const answered = await server.ask("POST", path, body);
    expect(answered).toMatchObject({ status });
    return answered!.body;
  };
  const about = { system_prompt: "Be brief." };
  ids.agent = (await create("/v1/agents", { ...about, name: "first" })).id;
  ids.spare_agent = (await create("/v1/agents", { ...about, name: "spare" })).id;
  const endpoint = await create("/v1/webhooks", endpointOf("all"));
  ids.endpoint = endpoint.id;
  receiver.know("all", endpoint.secret);
  ids.spare_endpoint = (await create("/v1/webhooks", endpointOf("spare"))).id;
  const { hook, hook_secret, cron, spare_trigger } = await createTriggers(create);
  Object.assign(ids, { hook, hook_secret, cron, spare_trigger });
  subscribed_after = findLastEvent(join(template, "wadi.db"));
  // One delivery that can be replayed.
  await create(`/v1/agents/${ids.agent}/runs`, { input: { message: "Hello" } }, 202);
  await settle(template, server);
  const path = `/v1/webhooks/${ids.endpoint}/deliveries`;
  ids.delivery = ((await server.ask("GET", path))!.body as { data?: Reply[] }).data![0]!.id;
  server.child.terminate();
  await server.child.ended;
});

async function createTriggers(create: (path: string, body: object) => Promise<Reply>) {
  const path = "/v1/triggers";
  const { agent: agent_id } = ids;
  const made = await create(path, { ...hookOf("hook"), agent_id });
  const schedule = { kind: "cron", cron: "* * * * *", overlap: "allow" };
  const cron = await create(path, { ...schedule, name: "cron", agent_id });
  const spare = await create(path, { ...hookOf("spare"), agent_id: ids.spare_agent });
  return { hook: made.id, hook_secret: made.secret, cron: cron.id, spare_trigger: spare.id };
}

/** All that happened on one copy of the data. */
interface Story {
  data: string;
  /** The `webhook-id`s that are sent. */
  tokens: string[];
  hooks: Map<string, HookAnswers>;
  fires: Receipt[];
}

let copies = 0;
function begin(): Story {
  const data = join(root, `copy-${++copies}`);
  copyData(template, data);
  return { data, tokens: [], hooks: new Map(), fires: [] };
}

/** Another request in each life, beside those before it; a fire by hand; a schedule is due, too. */
async function fireAll(story: Story, { ask, wall_ms }: Server): Promise<void> {
  const timestamp = String(wall_ms / 1_000);
  for (const token of story.tokens) {
    const body = { token };
    const sent = await ask("POST", `/v1/hooks/${ids.hook}`, body, {
      "webhook-id": token,
      "webhook-timestamp": timestamp,
      "webhook-signature": sign(ids.hook_secret, token, timestamp, JSON.stringify(body)),
    });
    if (!sent) return;
    expect([200, 202]).toContain(sent.status);
    const request = `${ids.hook} ${token}`;
    const answers = story.hooks.get(request) ?? { fired: 0, receipts: [] };
    story.hooks.set(request, answers);
    answers.receipts.push(sent.body.fire as Receipt);
    if (sent.status === 202) answers.fired++;
  }
  const fired = await ask("POST", `/v1/triggers/${ids.cron}/fires`);
  if (!fired) return;
  expect(fired.status).toBe(202);
  story.fires.push(fired.body.fire as Receipt);
}

/** A server that lives until its fail point. */
async function live(story: Story, scene: Scene, wall_ms: number, point: string): Promise<void> {
  const server = await serve(story.data, wall_ms, point);
  if (!server) return;
  story.tokens.push(`at ${point}`);
  await fireAll(story, server);
  await scene.act?.(server, point);
  expect(await server.child.ended).toMatchObject({ signal: "SIGKILL" });
}

/** Checks all rules, after a server that lives until every event is delivered. */
async function expectWhole(story: Story, wall_ms: number, scenes: readonly Scene[] = []) {
  const { data, hooks, fires } = story;
  receiver.moods.clear();
  const file = join(data, "wadi.db");
  const server = (await serve(data, wall_ms))!;
  await fireAll(story, server);
  for (const { act } of scenes) await act?.(server, "");
  const path = `/v1/webhooks/${ids.endpoint}`;
  expect(await server.ask("PATCH", path, ENABLED)).toMatchObject({ status: 200 });
  const reopened_after = findLastEvent(file);
  const since = new Date(BEGINNING).toISOString();
  expect(await server.ask("POST", `${path}/deliveries`, { since })).toMatchObject({ status: 202 });
  await settle(data, server);
  server.child.terminate();
  expect(await server.child.ended).toMatchObject({ code: 0, errors: expect.any(String) });

  const own = listEvents(file);
  const arrivals = receiver.list().filter(({ id }) => own.has(id));
  const unsigned = receiver
    .listUnsigned()
    .filter((one) => own.has(one.slice(one.indexOf(" ") + 1)));
  const gaps: [number, number][] = scenes.some(({ mood }) => mood === "gone")
    ? [[0, reopened_after]]
    : [];
  const places = { none_until: subscribed_after, all_after: subscribed_after, gaps };
  const subscription = { id: ids.endpoint, key: "", endpoint: "all", ...places };
  const answers = { hooks, fires };
  const ended_at = wall_ms;
  const breaches = checkEvents({
    ...{ file, arrivals, unsigned, answers, subscriptions: [subscription], ended_at },
  });
  expect(breaches).toEqual(Object.fromEntries(Object.keys(LAWS).map((law) => [law, []])) as never);
  const none = { unended: 0, step_gaps: 0, message_gaps: 0, unreported: 0, wrong_counts: 0 };
  expect(checkRuns(file)).toEqual({ ...none, wrong_days: 0 });
  expect(hooks.size).toBe(story.tokens.length);
}

function listEvents(file: string): Set<string> {
  using connection = new Connection(file, { readonly: true });
  const rows = connection.query<{ id: string }, []>("SELECT id FROM outbox").all();
  return new Set(rows.map(({ id }) => id));
}

/**
 * Resolves once no run is active, nothing is due, and all waiting deliveries are answered. The stop
 * then writes their results.
 */
async function settle(data: string, { wall_ms, before }: Server): Promise<void> {
  const isSettled = () => {
    using connection = new Connection(join(data, "wadi.db"), { readonly: true });
    const read = (query: string, ...values: number[]) =>
      connection.query<Record<string, string>, number[]>(query).all(...values);
    if (read(UNDONE, wall_ms).length > 0) return false;
    const answered = receiver.list().filter((one) => one.times > (before.get(one) ?? 0));
    const names = new Set(answered.map(({ endpoint, id }) => `${endpoint} ${id}`));
    return read(WAITING).every(({ url, event_id }) =>
      names.has(`${url!.slice(url!.lastIndexOf("/") + 1)} ${event_id}`),
    );
  };
  await new Promise<void>((resolve) => {
    const look = () => {
      if (isSettled()) resolve();
    };
    receiver.onAnswer = look;
    look();
  });
  receiver.onAnswer = () => {};
}
const UNDONE = `SELECT id FROM runs WHERE finished_at IS NULL
  UNION ALL SELECT id FROM outbox WHERE is_pending = 1
  UNION ALL SELECT id FROM triggers WHERE next_fire_at <= ?`;
const WAITING = `SELECT url, event_id FROM deliveries
  JOIN webhook_endpoints ON webhook_endpoints.id = webhook_id WHERE deliveries.status = 'pending'`;

test("every write of triggers, webhooks and events is in the matrix", () => {
  const points = Object.values(SCENES).flatMap(({ first = [], points }) => [first, points].flat());
  expect([...new Set(points.map((point) => point.split(":")[0]!))].toSorted()).toEqual(
    [triggerStore, webhookStore, outboxStore]
      .flatMap(({ name, writes }) => Object.keys(writes).map((write) => `${name}.${write}`))
      .toSorted(),
  );
});

function forgetSweeps(data: string): void {
  using connection = new Connection(join(data, "wadi.db"));
  // A witness far ahead: no clock of these servers is in doubt.
  connection.run("UPDATE sweeps SET swept_at = 0, witnessed_at = ?", [BEGINNING + 365 * DAY_MS]);
}

/** Stories of one scene each, or one of all scenes that change neither clock nor receiver. */
const ALONE = Object.entries(SCENES).map(([name, scene]) => ({ name, scenes: [scene] }));
const CHOSEN = chooseCases(ALONE, ({ scenes }) => !isPlain(scenes[0]!));
const PLAIN = Object.values(SCENES).filter(isPlain);
const STORIES =
  CHOSEN.length === ALONE.length
    ? ALONE
    : [{ name: "everything that callers do", scenes: PLAIN }, ...CHOSEN];

function isPlain({ mood, sweeps, aheadMs }: Scene): boolean {
  return mood === undefined && !sweeps && aheadMs === undefined;
}

/** All points of a scene, or one after each write. */
function listPoints({ first, points }: Scene): string[] {
  const chosen = chooseCases(points, (point) => /:after(#1)?$/.test(point));
  return first === undefined ? chosen : [first, ...chosen];
}

describe("servers killed at each write of", () => {
  test.each(STORIES)(
    "$name fire nothing twice, lose nothing and report everything",
    async ({ scenes }) => {
      const story = begin();
      let wall_ms = BEGINNING;
      for (const scene of scenes) {
        if (scene.sweeps) forgetSweeps(story.data);
        if (scene.mood) receiver.moods.set("all", scene.mood);
        let aheadMs = scene.aheadMs ?? 0;
        for (const point of listPoints(scene)) {
          wall_ms += MINUTE_MS;
          await live(story, scene, wall_ms + aheadMs, point);
          aheadMs = 0;
        }
      }
      await expectWhole(story, wall_ms + REST_MS, scenes);
    },
  );
});

test("servers killed at a given number of requests fire nothing twice and report everything", async () => {
  const story = begin();
  let wall_ms = BEGINNING;
  // Each server handles three fires and their three runs.
  for (const events of [1, 2, 3, 4, 6]) {
    wall_ms += MINUTE_MS;
    const server = (await serve(story.data, wall_ms))!;
    story.tokens.push(`until ${events} came`);
    let left = events;
    receiver.onAnswer = () => {
      left--;
      if (left === 0) server.child.kill();
    };
    await fireAll(story, server);
    expect(await server.child.ended).toMatchObject({ signal: "SIGKILL" });
  }
  await expectWhole(story, wall_ms + REST_MS);
});
