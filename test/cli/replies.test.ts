// Tests what commands show people of a server's replies, which are those of a server that recites.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { triggerOperations } from "../../src/admin/index.ts";
import { readArguments } from "../../src/cli/arguments.ts";
import type { CommandTable } from "../../src/cli/command.ts";
import { loadAllCommands } from "../../src/cli/families.ts";
import { createOutput } from "../../src/cli/output.ts";
import { OUTCOMES } from "../../src/triggers/fire.ts";

const AT = "2026-11-20T12:00:00.000Z";
const RUN = "0198f000-0000-7000-8000-000000000001";

/** Replies by method and path. */
let replies: Record<string, unknown> = {};
/** Parameters or body of the last request. */
let asked: unknown;
const server = Bun.serve({
  port: 0,
  async fetch(request) {
    const { pathname, search, searchParams } = new URL(request.url);
    const route = `${request.method} ${pathname.replace("/operator/v1", "")}`;
    const key = `${route}${search}` in replies ? `${route}${search}` : route;
    asked = request.method === "GET" ? Object.fromEntries(searchParams) : await request.json();
    return key in replies ? Response.json(replies[key]) : new Response(key, { status: 404 });
  },
});
const { WADI_OPERATOR_TOKEN } = process.env;
beforeAll(() => {
  process.env.WADI_OPERATOR_TOKEN = "t";
});
afterAll(async () => {
  if (WADI_OPERATOR_TOKEN === undefined) delete process.env.WADI_OPERATOR_TOKEN;
  else process.env.WADI_OPERATOR_TOKEN = WADI_OPERATOR_TOKEN;
  await server.stop(true);
});

/** What a command prints, and the lines that it says beside that. */
async function run(name: string, args: string[], given: Record<string, unknown>) {
  replies = given;
  const command = (await loadAllCommands()).find((one) => one.name === name)!;
  const printed: string[] = [];
  const said: string[] = [];
  const output = createOutput(
    false,
    (text) => printed.push(text),
    (text) => said.push(text),
  );
  const input = await readArguments(command, [...args, "--server", server.url.origin]);
  const code = await command.run(input, output, {} as CommandTable);
  return { code, text: printed.join(""), said: said.join("\n") };
}

const STATUS = {
  ...{ now: AT, version: "1.2.3", clock: { is_doubtful: false } },
  installation: { id: RUN, paused_at: null },
  server: { started_at: "2026-11-20T10:00:00.000Z", uptime_ms: 7_200_000, backups: null },
  database: {
    kind: "sqlite",
    name: "/d/wadi.db",
    bytes: 1_536,
    wal_bytes: 0,
    free_disk_bytes: 2e9,
  },
  models: [{ id: "one", state: "on", replicas: 1, healthy_replicas: null }],
  runs: { queued: 1, running: 2, waiting_approval: 3, suspects: 0 },
  approvals: { pending: 0, oldest_requested_at: null },
  webhooks: { waiting_deliveries: 1, failing_endpoints: 2, disabled_endpoints: 0 },
  crash: null,
};

const show = (fields: object) => run("status", [], { "GET /status": { ...STATUS, ...fields } });

test("a status names only what is the matter", async () => {
  const { text } = await show({});
  expect(text).toContain("started 2h ago");
  expect(text).toContain("sqlite /d/wadi.db, 1.5 KB, log 0 B, 1.9 GB of the disk free");
  expect(text).toContain("one: on, 1 replica\n");
  expect(text).toContain("1 queued, 2 running, 3 waiting for a person\n");
  expect(text).toContain("0 pending\n");
  expect(text).toContain("1 delivery waiting, 2 endpoints failing, 0 disabled for that");
  for (const word of ["crash", "paused", "backups", "7 days"]) expect(text).not.toContain(word);
});

test("a status tells pauses, crashes, backups, unhealthy replicas and a doubtful clock", async () => {
  const HOUR_AGO = "2026-11-20T11:00:00.000Z";
  const { text } = await show({
    installation: { id: RUN, paused_at: HOUR_AGO },
    models: [{ id: "one", state: "on", replicas: 2, healthy_replicas: 1 }],
    runs: { ...STATUS.runs, suspects: 1 },
    approvals: { pending: 2, oldest_requested_at: HOUR_AGO },
    server: { ...STATUS.server, backups: { made_at: HOUR_AGO, failure: "the disk is full" } },
    crash: { at: HOUR_AGO, run_id: RUN, call: "c-1", runs: 2 },
    clock: { is_doubtful: true },
  });
  expect(text).toContain("since its restore 1h ago: `wadi resume` starts what waits");
  expect(text).toContain("1 of 2 replicas healthy");
  expect(text).toContain("; 1 crashed twice without progress");
  expect(text).toContain("2 pending, the oldest asked 1h ago");
  expect(text).toContain("the newest was made 1h ago; the last try failed: the disk is full");
  expect(text).toContain(
    `a process hung in call c-1 of run ${RUN} and was ended 1h ago with 2 runs`,
  );
  expect(text).toContain("over 7 days ahead of what was written last");
  const unnamed = await show({ crash: { at: HOUR_AGO, run_id: null, call: null, runs: 1 } });
  expect(unnamed.text).toContain("a process hung and was ended 1h ago with 1 run\n");
});

test("a reply without a field that each version gives is that of another kind of server", async () => {
  const { database: _, ...other } = STATUS;
  const shown = run("status", [], { "GET /status": other });
  await expect(shown).rejects.toThrow("has no operator API for this client: it answered 200");
});

const FAILED = {
  ...{ id: RUN, status: "failed", metadata: {}, output: null, started_by_operator: null },
  rerun_of: null,
  ...{ agent_id: "g", version: 1, thread_id: "t", cancel_requested: false, trigger_kind: null },
  ...{ trigger_id: null, fire_id: null, external_content: true, started_by_key_id: null },
  ...{ recoveries: 0, created_at: AT, started_at: AT, finished_at: AT, pending_approvals: [] },
  ...{ usage: { rounds: 1 }, cost: { total: "0.5" } },
  ...{ account: "default", agent_name: null, started_by: null, model: null, budgets: null },
  ...{ live: null, queued_ms: 1, worked_ms: 2, waited_ms: 3 },
  input: { message: "Go", hook: { a: "\u001b[2J" } },
  error: { code: "internal", message: "It\nbroke." },
};

const step = (seq: number, kind: string, data: object) => ({ seq, kind, created_at: AT, data });

test("a run shows its input, its error and its steps, with texts from outside in quotes", async () => {
  const steps = [
    step(1, "assistant", { content: null, tool_calls: [{ name: "add" }], finish_reason: "tool" }),
    step(2, "tool_call", { name: "add", decision: "auto", arguments: { n: 1 } }),
    step(3, "tool_result", { name: "add", outcome: "ok", content: "2" }),
    step(4, "approval", { event: "rejected", approval: { id: "p-1", tool: "add" } }),
    step(5, "system", { event: "price_missing", message: "No price." }),
  ];
  const { text, said } = await run("runs show", [RUN], {
    [`GET /runs/${RUN}`]: FAILED,
    [`GET /runs/${RUN}/steps?after=0`]: steps,
    [`GET /runs/${RUN}/steps?after=5`]: [],
  });
  expect(said).toBe("");
  expect(text).toContain('internal: "It\\nbroke."');
  expect(text).toContain('\nhook: "{\\"a\\":\\"');
  expect(text).not.toContain("\u001b");
  for (const line of [
    `   1  ${AT}  assistant    tool calls "add"\n`,
    `   2  ${AT}  tool_call    "add" auto "{\\"n\\":1}"\n`,
    `   3  ${AT}  tool_result  "add" ok "2"\n`,
    `   4  ${AT}  approval     rejected p-1 "add"\n`,
    `   5  ${AT}  system       price_missing No price.\n`,
  ]) {
    expect(text).toContain(line);
  }
});

test("a cancelled run ends at once or at its next step, or had ended", async () => {
  const cancel = async (status: string, is_changed: boolean) => {
    const reply = { ...FAILED, status, is_changed };
    return (await run("runs cancel", [RUN], { [`POST /runs/${RUN}/cancel`]: reply })).said;
  };
  expect(await cancel("cancelled", true)).toBe("");
  expect(await cancel("running", true)).toContain("it ends at its next step");
  expect(await cancel("succeeded", false)).toContain("it had ended or been cancelled already");
});

test("a fire that starts no run fails the command, unless an earlier run is not over", async () => {
  const codes: Record<string, number> = {};
  for (const outcome of OUTCOMES) {
    const ids = { id: "f", trigger_id: RUN, run_id: null, webhook_id: null, scheduled_at: null };
    const fire = { ...ids, source: "manual", outcome, missed_count: 0, error: null };
    const given = { [`POST /triggers/${RUN}/fire`]: { ...fire, created_at: AT } };
    codes[outcome] = (await run("triggers fire", [RUN], given)).code;
  }
  const others = { held: 1, refused: 1, limited: 1, missed: 1, failed: 1 };
  expect(codes).toEqual({ started: 0, skipped: 0, ...others });
});

test("a new secret of a trigger leaves the old one the time that was typed", async () => {
  const required: string[] = triggerOperations.rotate.reply.required;
  const fields = required.map((name) => [name, null]);
  const shown = { secret: "whsec_x", previous_secret_expires_at: AT };
  const reply = { ...Object.fromEntries(fields), ...shown };
  const args = [RUN, "--overlap", "2h"];
  const { text, said } = await run("triggers rotate", args, {
    [`POST /triggers/${RUN}/rotate`]: reply,
  });
  expect(asked).toEqual({ overlap_seconds: 7_200 });
  expect(text).toBe("whsec_x\n");
  expect(said).toContain(`the old one works until ${AT}`);
});

test("a report of usage is asked for with every filter that was typed", async () => {
  const whose = { account: "acme", key: RUN, model: "one", agent: "g" };
  const days = { from: "2027-01-05", to: "2027-01-06", zone: "Asia/Riyadh" };
  const report = { ...days, currency: "SAR", group_by: "key", rows: [], totals: {} };
  for (const [name, path] of [
    ["usage", "/usage"],
    ["runs usage", "/usage/runs"],
  ] as const) {
    for (const when of [days, { month: "2027-01", zone: "UTC" }]) {
      const fields = { by: "key", ...whose, ...when };
      const args = Object.entries(fields).flatMap(([flag, value]) => [`--${flag}`, value]);
      expect((await run(name, args, { [`GET ${path}`]: report })).code).toBe(0);
      expect(asked).toEqual(fields);
    }
  }
});
