// Three processes of the compiled program on one PostgreSQL database: one dies, and one is frozen
// beyond its lease, between the intent of a call and its first byte, and woken again.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { type Child, startProgram } from "../support/crash.ts";
import { findClosedPort } from "../support/ports.ts";
import { createEmptyDatabase, dropDatabase } from "../support/postgres.ts";
import { openEndpoint } from "../support/receiver.ts";
import { openWebhookReceiver } from "../support/webhook-receiver.ts";

const REDIS = "/usr/bin/redis-server";
const postgres = process.env.WADI_TEST_POSTGRES ?? "";
const canRun = postgres !== "" && (await Bun.file(REDIS).exists());
if (!canRun) console.warn(`processes: needs WADI_TEST_POSTGRES and ${REDIS}, and is left out`);

const RUNS = 36;
const HOOKS = 4;
const TRIGGERS = 4;
const DAY_MS = 86_400_000;

const root = mkdtempSync(join(tmpdir(), "wadi-crash-processes-"));
const calls = openEndpoint();
const hooks = openWebhookReceiver();
const valkeyPort = findClosedPort();
let valkey: Bun.Subprocess | undefined;
let url = "";
let sql: SQL;
const children: Child[] = [];

beforeAll(async () => {
  if (!canRun) return;
  url = await createEmptyDatabase(postgres);
  sql = new SQL({ url, max: 1 });
  const args = ["--port", String(valkeyPort), "--save", "", "--appendonly", "no"];
  valkey = Bun.spawn([REDIS, ...args], { stdout: "ignore", stderr: "ignore" });
});

afterAll(async () => {
  for (const child of children) child.kill();
  valkey?.kill();
  await calls[Symbol.asyncDispose]();
  await hooks[Symbol.asyncDispose]();
  if (url !== "") {
    await sql.close();
    await dropDatabase(postgres, url);
  }
  rmSync(root, { recursive: true, force: true });
});

const writeSettings = () => `
[server]
port = 0
database = "${url}"
valkey = "redis://127.0.0.1:${valkeyPort}"
secrets_key_file = "${join(root, "secrets.key")}"

[limits]
requests_per_minute = 1000000
address_requests_per_minute = 1000000
concurrent_runs = 4
active_runs = 1000

[agents]
open = true

[egress]
allow = ["${calls.host}", "${hooks.host}"]

[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }
`;

interface Served {
  child: Child;
  ask(method: string, path: string, body?: object): Promise<Response>;
}
let key = "";

async function serve(name: string, failPoint = ""): Promise<Served> {
  const data = join(root, name);
  mkdirSync(data);
  const config = join(data, "wadi.toml");
  writeFileSync(config, writeSettings());
  const child = startProgram(["serve", "--json", "--config", config, "--data", data], failPoint);
  children.push(child);
  const line = await child.next();
  if (line === undefined) throw new Error((await child.ended).errors);
  const started = JSON.parse(line) as { url: string; key_file: string | null };
  if (started.key_file !== null) key = readFileSync(started.key_file, "utf8").trim();
  return {
    child,
    ask: (method, path, body) =>
      fetch(`${started.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: body && JSON.stringify(body),
      }),
  };
}

async function create({ ask }: Served, path: string, body: object): Promise<string> {
  let reply = await ask("POST", path, body);
  // A process that was frozen, or whose Valkey has just started, asks first who counts.
  while (reply.status === 429) reply = await ask("POST", path, body);
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${text}`);
  return JSON.parse(text).id;
}

/** Waits for a condition; each look is a round trip. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}

const isFrozen = async ({ pid }: Child) => /\) T /.test(await Bun.file(`/proc/${pid}/stat`).text());
const isGone = async ({ pid }: Child) =>
  !(await Bun.file(`/proc/${pid}/stat`).exists()) ||
  /\) Z /.test(await Bun.file(`/proc/${pid}/stat`).text());
const count = async (from: string): Promise<number> =>
  (await sql.unsafe(`SELECT COUNT(*)::int AS n FROM ${from}`))[0].n;

async function prepare(server: Served): Promise<string> {
  for (const [name, idempotent] of [
    ["pay", false],
    ["keyed", true],
  ] as const) {
    await create(server, "/v1/tools", {
      ...{ name, idempotent, description: name, risk: "write", external_content: false },
      ...{ parameters: { type: "object" }, endpoint: `http://${calls.host}/${name}` },
    });
  }
  for (let n = 0; n < HOOKS; n++) {
    const events = ["run.completed", "trigger.fired"];
    await create(server, "/v1/webhooks", { url: `http://${hooks.host}/${n}`, events });
  }
  return create(server, "/v1/agents", {
    ...{ name: "payer", system_prompt: "Be brief.", tools: ["pay", "keyed"] },
    policy: { unattended_writes: true, on_unknown_outcome: "report" },
  });
}

/** Makes the last midnight of each trigger due, for all processes at once. */
async function makeDue(server: Served, agent_id: string): Promise<void> {
  const daily = { cron: "0 0 * * *", time_zone: "UTC", catch_up_seconds: 86_400 };
  const trigger = { agent_id, kind: "cron", ...daily };
  const make = (name: string) => create(server, "/v1/triggers", { ...trigger, name });
  for (let n = 0; n < TRIGGERS; n++) await make(`every day ${n}`);
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  await sql.unsafe(`UPDATE triggers SET next_fire_at = ${midnight}, updated_at = 0`);
  // Wakes every scheduler.
  await make("the last one");
}

const round = (n: number) => `!tool pay {"n":${n}}\n!tool keyed {"n":${n}}\n!next`;
const MESSAGE = ["Pay.", round(1), round(2), round(3), "!say Done."].join("\n");

const isDone = canRun ? test : test.skip;
isDone(
  "three processes: one dies, one is frozen beyond its lease: all runs end, no call is sent twice",
  async () => {
    const first = await serve("first");
    const agent = await prepare(first);
    const dying = await serve("dying", "runs.settle:before#4");
    const frozen = await serve("frozen", "runs.intend:after#4=stop");
    await makeDue(first, agent);
    const start = (server: Served) =>
      create(server, `/v1/agents/${agent}/runs`, { input: { message: MESSAGE } });
    for (let n = 0; n < RUNS; n++) await start(first);
    await until(() => isGone(dying.child));
    await until(() => isFrozen(frozen.child));

    // What the two had in hand may arrive once more, and nothing else.
    const [alive] = await sql.unsafe("SELECT MIN(epoch)::int AS epoch FROM processes");
    const held = await sql.unsafe(
      `SELECT webhook_id, event_id FROM deliveries WHERE epoch > ${alive.epoch}`,
    );
    const isLost = "epoch > 1 AND finished_at IS NULL";
    expect(await count(`runs WHERE ${isLost}`)).toBeGreaterThan(0);

    // The survivor takes all of it over.
    await until(async () => (await count("runs WHERE finished_at IS NULL")) === 0);
    const before = calls.arrivals.length;
    frozen.child.wake();
    const again = await start(frozen);
    await until(async () => (await count(`runs WHERE id = '${again}' AND epoch = 0`)) === 1);
    await until(async () => (await count("runs WHERE finished_at IS NULL")) === 0);
    await until(async () => (await count("outbox WHERE is_pending = 1")) === 0);
    await until(async () => (await count("deliveries WHERE status = 'pending'")) === 0);
    for (const { child } of [frozen, first]) {
      child.terminate();
      const { errors, code } = await child.ended;
      expect(code).toBe(0);
      const lost = errors.includes("declared dead by another process");
      expect(lost).toBe(child === frozen.child);
    }

    expect(await count("runs WHERE status <> 'succeeded'")).toBe(0);
    const arrived = Map.groupBy(calls.arrivals, ({ key }) => key);
    const times = (path: string) =>
      [...arrived.values()].filter(([one]) => one!.path === path).map(({ length }) => length);
    expect(times("/pay").length).toBeGreaterThan(RUNS);
    expect(Math.max(...times("/pay"))).toBe(1);
    // The call that was frozen before its first byte belongs to a run that went on elsewhere.
    const late = calls.arrivals.slice(before).map(({ key }) => `'${key}'`);
    const ofOthers = `steps WHERE kind = 'tool_call' AND run_id <> '${again}'
      AND data::json ->> 'tool_call_id' IN (${late.join(", ")})`;
    expect(await count(ofOthers)).toBe(0);

    expect(await count("fires WHERE outcome = 'started'")).toBe(await count("fires"));
    expect(await count("fires")).toBe(TRIGGERS);
    expect(await count("runs")).toBe(RUNS + 1 + (await count("fires")));
    const deliveries = await count("deliveries");
    const sent = Map.groupBy(hooks.arrivals, ({ path, id }) => `${path} ${id}`);
    expect([sent.size, deliveries]).toEqual([deliveries, (await count("outbox")) * HOOKS]);
    const doubled = [...sent.values()].filter(({ length }) => length > 1);
    const mayDouble = new Set(held.map(({ event_id }: { event_id: string }) => event_id));
    expect(doubled.filter(([one]) => !mayDouble.has(one!.id)).length).toBe(0);
  },
  60_000,
);
