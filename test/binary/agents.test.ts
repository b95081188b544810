// The compiled program's `wadi agents` beside a running server: its changes apply there at once.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room } from "../support/binary.ts";
import { followRun } from "../support/follow-run.ts";

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

test("agents.does.agent a running server applies a hold from the command line at once", async () => {
  const { url, key } = await room.serve(["serve", "--port", "0"]);
  const headers = { authorization: `Bearer ${key}` };
  const body = JSON.stringify({ name: "Two\nlines", system_prompt: "Be brief." });
  const made = await fetch(`${url}/v1/agents`, { method: "POST", headers, body });
  const { id } = (await made.json()) as { id: string };
  const look = async () => {
    const agent = await (await fetch(`${url}/v1/agents/${id}`, { headers })).json();
    return (agent as { operator_hold: unknown }).operator_hold;
  };
  expect(await look()).toBeNull();

  const held = await room.perform(["agents", "hold", id, "--reason", "it loops", "--json"]);
  expect(JSON.parse(held.stdout)).toMatchObject({ kind: "agent", id, reason: "it loops" });
  expect(await look()).toMatchObject({ scope: "agent", reason: "it loops" });

  const listed = await room.perform(["agents", "list", "--account", "default", "--json"]);
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { id, account: "default", name: "Two\nlines", held: "agent", hold_reason: "it loops" },
  ]);
  // For people each agent has one line, below that of the columns.
  const { stdout } = await room.perform(["agents", "list"]);
  expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  expect(stdout).toContain('"Two\\nlines"');

  const released = await room.perform(["agents", "release", id]);
  expect(released).toMatchObject({ code: 0, stdout: `agent: ${id}\nheld: false\n`, stderr: "" });
  expect(await look()).toBeNull();
  expect((await room.perform(["agents", "release", id])).stderr).toBe("it was not held\n");
  const unknown = await room.perform(["agents", "hold", key]);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).not.toContain(key);
});

test("a run is started from the command line, followed to its end, and a waiting one cancelled", async () => {
  const server = await room.serve(["dev", "--port", "0", "--data", "started"]);
  const create = async (fields: object) => {
    const body = { name: "Clerk", system_prompt: "Be brief.", ...fields };
    const made = await server.ask("POST", "/v1/agents", { body });
    return ((await made.json()) as { id: string }).id;
  };
  const data = ["--data", "started"];
  const agent = await create({});
  const followed = await room.perform(["runs", "start", agent, "Hello", "--follow", ...data]);
  expect(followed.code).toBe(0);
  expect(followed.stdout).toContain("status: succeeded");
  expect(followed.stdout).toMatch(/^started_by_operator: .+$/m);
  expect(followed.stderr).toMatch(/^run [0-9a-f-]{36} started\n$/);
  const failed = await room.perform([
    "runs",
    "start",
    agent,
    "!error context_length_exceeded",
    "--follow",
    ...data,
  ]);
  expect([failed.code, failed.stdout.includes("status: failed")]).toEqual([1, true]);

  const asking = await create({ tools: ["memory_set"] });
  const call = '!tool memory_set {"key":"a","content":"b"}';
  const started = await room.perform(["runs", "start", asking, call, "--json", ...data]);
  const { id } = JSON.parse(started.stdout);
  await followRun(server, id, '"status":"waiting_approval"');
  const cancelled = await room.perform(["runs", "cancel", id, "--json", ...data]);
  expect(JSON.parse(cancelled.stdout)).toMatchObject({ id, status: "cancelled" });
  const again = await room.perform(["runs", "cancel", id, ...data]);
  expect(again).toMatchObject({
    code: 0,
    stdout: `id: ${id}\nstatus: cancelled\ncancel_requested: false\n`,
  });
});

test("the steps of a run show what a tool has answered, and no terminal control sequences", async () => {
  const server = await room.serve(["dev", "--port", "0", "--data", "told"]);
  const tools = ["memory_set", "memory_get"];
  const policy = { unattended_writes: true };
  const body = { name: "Clerk", system_prompt: "x", tools, policy };
  const made = await server.ask("POST", "/v1/agents", { body });
  const { id: agent } = (await made.json()) as { id: string };
  const note = JSON.stringify({ key: "a", content: "1 \u001b[2J\u009b1m\u202e\u{e0041} Zürich" });
  const message = `!tool memory_set ${note}\n!next\n!tool memory_get {"key":"a"}\n!next\n!say Done.`;
  const data = ["--data", "told"];
  const followed = await room.perform(["runs", "start", agent, message, "--follow", ...data]);
  const [, id] = /^run (\S+) started$/m.exec(followed.stderr)!;
  const shown = await room.perform(["runs", "show", id!, ...data]);
  for (const { code, stdout } of [followed, shown]) {
    expect(code).toBe(0);
    expect(stdout).toContain(
      '"memory_get" ok "1 \\u001b[2J\\u009b1m\\u202e\\udb40\\udc41 Zürich"\n',
    );
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|\p{Zl}|\p{Zp}/u);
  }
});

test("without a server a run is followed until one executes it, and nothing is evaluated", async () => {
  const serve = () => room.serve(["dev", "--port", "0", "--data", "alone"]);
  const data = ["--data", "alone"];
  const server = await serve();
  const body = { name: "Clerk", system_prompt: "Be brief." };
  const { id } = (await (await server.ask("POST", "/v1/agents", { body })).json()) as {
    id: string;
  };
  const ended = await room.perform(["runs", "start", id, "Hello", "--follow", ...data]);
  const run = /^run (\S+) started\n$/.exec(ended.stderr)![1]!;
  server.signal("SIGTERM");
  await server.exited;

  const evaluated = await room.perform(["agents", "evaluate", id, ...data]);
  expect(evaluated).toEqual({
    ...{ code: 1, stdout: "" },
    stderr:
      "wadi: no server runs on alone, and only a server repeats runs: start `wadi serve` first\n",
  });
  const listed = await room.perform(["agents", "evaluations", id, "--json", ...data]);
  expect(JSON.parse(listed.stdout)).toEqual([]);
  const missing = await room.perform(["agents", "evaluate", id, "--data", "none"]);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("no database")]);

  expect((await room.perform(["runs", "follow", run, ...data])).stderr).toBe("");
  const goesOn = "no server runs on alone: the run goes on once `wadi serve` is started on it";
  const starting = room.start(["runs", "start", id, "Again", "--follow", ...data]);
  await starting.told(goesOn);
  const { stdout } = await room.perform(["runs", "list", "--json", "--limit", "1", ...data]);
  const following = room.start(["runs", "follow", JSON.parse(stdout)[0].id, ...data]);
  await following.told(goesOn);
  await serve();
  for (const { code, stdout } of [await starting.ended, await following.ended]) {
    expect([code, stdout]).toEqual([0, expect.stringContaining("status: succeeded")]);
  }
});
