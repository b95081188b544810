// Tests the status: what a server says of itself, what the database alone says, and what waits.
import { afterEach, expect, test } from "bun:test";
import { nameLocalActor, openAdmin, perform } from "../../src/admin/index.ts";
import { upkeepOperations } from "../../src/admin/operations/upkeep.ts";
import { createServerState, describeReplicas } from "../../src/admin/server-state.ts";
import { createSweepAdmin } from "../../src/admin/upkeep.ts";
import { WRITER } from "../../src/app.ts";
import { secretStore } from "../../src/crypto/store.ts";
import { defaultSettings } from "../../src/settings/index.ts";
import { webhookStore } from "../../src/webhooks/store/index.ts";
import { bringTo } from "../spec/agents/approvals-front.ts";
import { startRuns } from "../spec/agents/runs-front.ts";
import { startApp } from "../support/app.ts";
import { createManualClock } from "../support/clock.ts";
import { openFiles } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { NO_INSTALLATION } from "../support/installation.ts";
import { startModelServer } from "../support/model-servers.ts";
import { openPostgres } from "../support/pglite.ts";
import { MANY, makeEndpoint, makeFan, sealOf } from "../support/webhooks.ts";
import { openFixture } from "./fixture.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const ACTOR = nameLocalActor();
const VERSION = { version: "1.2.3", commit: "c", bun: "b", sqlite: "s" };
const INSTALLATION = { ...NO_INSTALLATION, readVersion: async () => VERSION };
/** What a server is given that no test here asks for. */
const NO_STATE = {
  ...{ countStreams: () => 0, listServices: () => [], readBackups: () => null },
  sendChat: async () => new Response(),
};
type Models = Parameters<typeof describeReplicas>[0]["models"];
const read = (admin: Parameters<typeof perform>[0]) =>
  perform(admin, upkeepOperations.status, {}, ACTOR);

test("an uptime is counted from the start of the server, not of its machine", async () => {
  const clock = createManualClock();
  await clock.advance(90_000);
  const state = createServerState(clock, { models: [] }, NO_STATE);
  await clock.advance(5_000);
  expect(state.uptimeMs()).toBe(5_000);
});

test("a replica is healthy while requests go to it: it is up, and its failures are few", () => {
  const replica = { name: "a:1", inFlight: 0, isUp: true, isBreakerOpen: false };
  const replicas = [
    replica,
    { ...replica, isBreakerOpen: true },
    { ...replica, isUp: false },
    { ...replica, isUp: false, isBreakerOpen: true },
  ];
  const backend = {
    status: () => ({ model: "one", replicas, waiting: 2 }),
    managed: { waiting: 3 },
  };
  const models = [{ settings: { id: "one" }, backend }] as unknown as Models;
  const registry = { models };
  const state = createServerState(createManualClock(), registry, NO_STATE);
  expect(state.countHealthy("one")).toBe(1);
  expect(describeReplicas(registry)).toBe("1000");
  // Requests wait for a place, and for a server that starts.
  expect(state.findModelServers("one")).toMatchObject({ waiting: 5 });
  expect(state.countHealthy("two")).toBeUndefined();
});

test("a server tells its uptime, and how many replicas are healthy", async () => {
  const good = startModelServer({ "GET /health": () => new Response("") });
  const bad = startModelServer({ "GET /health": () => new Response("", { status: 503 }) });
  closing.push(good.stop, bad.stop);
  const urls = JSON.stringify([`${good.root}/v1`, `${bad.root}/v1`]);
  const settings = `[[models]]
id = "one"
self_hosted = true
[models.upstream]
kind = "openai"
urls = ${urls}
health_every = "1s"
`;
  const app = await startApp({ settings, listens: true, installation: INSTALLATION });
  closing.push(app.stop);
  const { clock } = app;
  while ((await read(app.app.admin)).models[0]!.healthy_replicas !== 1) await clock.advance(1_000);
  const status = await read(app.app.admin);
  expect(status).toMatchObject({
    version: "1.2.3",
    models: [{ id: "one", state: "on", replicas: 2, healthy_replicas: 1 }],
    database: { kind: "memory", bytes: null, wal_bytes: null, free_disk_bytes: null },
    crash: null,
  });
  const { started_at, uptime_ms, backups } = status.server!;
  expect(backups).toBeNull();
  expect(Date.parse(started_at) + uptime_ms).toBe(clock.now());
  expect(uptime_ms).toBe(clock.monotonic());
  expect((await app.app.admin.models.list())[0]).toMatchObject({
    ...{ replicas: 2, healthy_replicas: 1 },
  });
});

test("the database alone tells its size and no state of a server", async () => {
  const files = openFiles(WRITER);
  closing.push(async () => files.release());
  const place = await files.makePlace();
  const app = await startApp({ place });
  closing.push(app.stop);
  if (place.kind !== "sqlite") throw new Error("not a file");
  const opened = await openAdmin({
    settings: defaultSettings(),
    place: { kind: "sqlite", file: place.file },
    clock: app.clock,
    ids: createSeededIds(2),
    secretsKeyFile: null,
    installation: {
      ...INSTALLATION,
      readCrash: () => ({ at: "2026-11-20T12:00:00.000Z", run_id: "r-1", call: "c-1", runs: 2 }),
    },
    warn() {},
  });
  closing.push(opened.close);
  const status = await read(opened.admin);
  expect(status).toMatchObject({
    server: null,
    models: [{ id: "stub-1", replicas: 1, healthy_replicas: null }],
    crash: { run_id: "r-1", call: "c-1", runs: 2 },
  });
  const last_sweep_at = new Date(app.clock.now()).toISOString();
  await opened.admin.sweeps.sweep();
  await app.clock.advance(5_000);
  expect((await read(opened.admin)).clock).toEqual({ is_doubtful: false, last_sweep_at });
  const { kind, bytes, wal_bytes, free_disk_bytes } = status.database;
  expect(kind).toBe("sqlite");
  for (const size of [bytes, wal_bytes, free_disk_bytes]) expect(size).toBeGreaterThan(1_000);
});

test("a clock is trusted by a sweep that has ended, and by none that has failed", async () => {
  const { database, clock, close } = await openFixture();
  closing.push(close);
  const settings = {
    get retention(): never {
      throw new Error("a bug");
    },
  };
  const sweeps = createSweepAdmin({ database, clock, settings } as never);
  await expect(sweeps.sweep()).rejects.toThrow("a bug");
  expect(await sweeps.readStatus()).toMatchObject({ last_sweep_at: null });
});

test("a database in PostgreSQL is named without its user and password", async () => {
  const ground = await openPostgres();
  closing.push(() => ground.release());
  const place = await ground.makePlace();
  if (place.kind !== "postgres") throw new Error("not a PostgreSQL");
  const url = new URL(place.url);
  // A server that asks for none ignores it.
  url.password ||= "s3cret";
  const app = await startApp({ place: { ...place, url: url.href }, installation: INSTALLATION });
  closing.push(app.stop);
  const { database } = await read(app.app.admin);
  expect(database).toMatchObject({ kind: "postgres", name: `${url.host}${url.pathname}` });
});

test("runs, approvals and endpoints that wait or fail are counted", async () => {
  await using front = await startRuns({}, { installation: INSTALLATION });
  const { store, clock, account_id } = front;
  const suspect = await front.begin();
  for (const nth of [1, 2]) {
    const epoch = await front.claim();
    const fresh = [1, 2, 3, 4, 5].map((n) => `id ${n} of crash ${nth}`);
    const found = { run_id: suspect.id, cause: "crash", hungCall: null, fresh } as const;
    await store.reclaim([found], [epoch], clock.now());
  }
  const { approval } = await bringTo(front, "pending");
  await front.app.database.bind(secretStore).claim("k-1");
  const endpoints = front.app.database.bind(webhookStore);
  const fields = [
    { failing_since: 1, pending_deliveries: 4 },
    { failing_since: 1 },
    { status: "disabled", disabled_reason: "gone" },
  ] as const;
  for (const [n, one] of fields.entries()) {
    const row = makeEndpoint(`w-${n}`, { account_id, ...one });
    await endpoints.create(row, sealOf(row), { ...makeFan(9), endpointsMax: MANY });
  }
  for (let n = 0; n < 3; n++) await front.begin();
  expect(await read(front.app.admin)).toMatchObject({
    runs: { queued: 3, running: 1, waiting_approval: 1, suspects: 1 },
    approvals: {
      ...{ pending: 1, oldest_requested_at: approval.requested_at },
      next_expires_at: approval.expires_at,
    },
    webhooks: { waiting_deliveries: 4, failing_endpoints: 2, disabled_endpoints: 1 },
    clock: { is_doubtful: false },
  });
});
