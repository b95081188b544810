// The compiled program's `wadi triggers` beside a running server: a paused trigger does not fire.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { openRoom, type Room, type Server } from "../support/binary.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a test expects says what it is.
type Json = { [field: string]: any };

/** Control sequences that hide or reverse text. */
const TRICK = "Bell \u001b[2J\u0007\u202e\u200b\u{e0041} Zürich";

let room: Room;
let server: Server;
let trigger: Json;
beforeAll(async () => {
  room = openRoom();
  server = await room.serve(["dev", "--port", "0", "--data", "./try"]);
  const agent = await send("/v1/agents", { name: "Clerk", system_prompt: "x" });
  const fields = { name: TRICK, agent_id: agent.id, kind: "webhook", input: { message: TRICK } };
  trigger = await send("/v1/triggers", fields);
});
afterAll(() => room.close());

const send = async (path: string, body: object) =>
  (await (await server.ask("POST", path, { body })).json()) as Json;
const fire = () => send(`/v1/triggers/${trigger.id}/fires`, {});
const run = (...args: string[]) => room.perform(["triggers", ...args, "--data", "./try"]);

const expectHarmless = (text: string) => {
  for (const mark of ["\u001b", "\u0007", "\u202e", "\u200b", "\u{e0041}"]) {
    expect([mark, text.includes(mark)]).toEqual([mark, false]);
  }
};

test("agents.does.trigger: a trigger is listed and shown in full, without terminal control sequences", async () => {
  const { secret: _, ...seen } = trigger;
  const listed = await run("list", "--account", "dev", "--json");
  const { input: _input, ...short } = seen;
  expect(JSON.parse(listed.stdout)).toEqual([
    { account: "dev", agent_name: "Clerk", recent_fires: [], ...short },
  ]);
  const shown = await run("show", trigger.id, "--json");
  const names = { agent_name: "Clerk", key_name: expect.stringContaining("wadi dev") };
  expect(JSON.parse(shown.stdout)).toEqual({ account: "dev", ...names, ...seen });

  const table = await run("list");
  const [head, line, ...more] = table.stdout.trimEnd().split("\n");
  expect([head!.startsWith("ID "), line!.startsWith(`${trigger.id} `), more]).toEqual([
    ...[true, true, []],
  ]);
  const page = await run("show", trigger.id);
  expect(page.stdout).toStartWith(`id: ${trigger.id}\naccount: dev\nname: "Bell \\u001b[2J`);
  expect(page.stdout).toContain(`\nhook_path: /v1/hooks/${trigger.id}\n`);
  for (const { stdout } of [table, page]) expectHarmless(stdout);
  for (const { stdout } of [listed, shown, table, page]) expect(stdout).not.toContain("whsec_");
});

test("agents.states.p12 agents.errors.trigger_paused: a trigger paused from the command line does not fire until it is resumed", async () => {
  const started = (await fire()).fire;
  expect(started.outcome).toBe("started");
  const paused = await run("pause", trigger.id);
  expect([paused.code, paused.stderr]).toEqual([0, ""]);
  expect(paused.stdout).toContain("\nstatus: paused\n");
  expect(paused.stdout).toMatch(
    /\npaused_reason: manual since \S+Z: "It was paused by the operator\."\n/,
  );
  expect((await fire()).error.code).toBe("trigger_paused");
  const again = await run("pause", trigger.id);
  expect([again.code, again.stderr]).toEqual([0, "it was paused already, and stays as it was\n"]);
  expect(again.stdout).toBe(paused.stdout);

  const resumed = await run("resume", trigger.id, "--json");
  const { status, key_id } = JSON.parse(resumed.stdout);
  expect([status, key_id]).toEqual(["active", trigger.key_id]);
  const twice = await run("resume", trigger.id);
  expect([twice.code, twice.stderr]).toEqual([0, "it was not paused\n"]);
  const last = (await fire()).fire;

  const fires = await run("fires", trigger.id, "--json");
  expect(JSON.parse(fires.stdout)).toEqual([last, started]);
  const table = await run("fires", trigger.id, "--limit", "1");
  expect(table.stdout.trimEnd().split("\n")).toHaveLength(2);
  expect(table.stdout).toContain(`\n${last.id}  `);
});

test("agents.does.run the run of a hook is shown with the request body, without terminal control sequences", async () => {
  const [id, at] = ["msg_1", String(Math.floor(Date.now() / 1_000))];
  const body = JSON.stringify({ from: TRICK });
  const hmac = createHmac("sha256", Buffer.from(trigger.secret.slice("whsec_".length), "base64"));
  const signature = `v1,${hmac.update(`${id}.${at}.${body}`).digest("base64")}`;
  const head = { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature };
  const headers = { "content-type": "application/json", ...head };
  const reply = await fetch(server.url + trigger.hook_path, { method: "POST", headers, body });
  const { fire: fired } = (await reply.json()) as Json;
  expect([reply.status, fired.outcome]).toEqual([202, "started"]);
  const shown = await room.perform(["runs", "show", fired.run_id, "--data", "./try"]);
  expect(shown.stdout).toContain("\ntrigger_kind: webhook\n");
  expect(shown.stdout).toContain('\nhook: "{\\"from\\":\\"Bell ');
  expectHarmless(shown.stdout);
});

test("invalid, missing and extra arguments are refused with a sentence", async () => {
  const none = await run("show", "0198f000-0000-7000-8000-000000000001");
  expect([none.code, none.stderr]).toEqual([
    1,
    'wadi: there is no trigger "0198f000-0000-7000-8000-000000000001": see `wadi triggers list`\n',
  ]);
  const much = await run("fires", trigger.id, "--limit", "10001");
  expect([much.code, much.stderr]).toEqual([2, "wadi: --limit takes 1 to 10000\n"]);
});
