// A call that has become a task of a foreign MCP server, whose own process is killed or stopped: the
// next process goes on asking for the task, and the call is sent once.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Program, startProgram } from "../support/crash.ts";
import { openSessionTaskPeer, says } from "../support/mcp-session-task-peer.ts";
import { completed, openTaskPeer, working } from "../support/mcp-task-peer.ts";

// biome-ignore lint/suspicious/noExplicitAny: replies of every shape.
type Json = any;

const root = mkdtempSync(join(tmpdir(), "wadi-crash-far-"));
const data = join(root, "data");
const peer = openTaskPeer();
const sessionPeer = openSessionTaskPeer();
afterAll(() => {
  peer[Symbol.dispose]();
  sessionPeer[Symbol.dispose]();
  rmSync(root, { recursive: true, force: true });
});

interface Server {
  child: Program;
  url: string;
}
const TOOLS = ["far_pay", "old_pay"];
let key = "";
let agent = "";

/** What recovers one case dies in the next. */
let living: Server;

async function serve(): Promise<Server> {
  const args = ["serve", "--json", "--port", "0", "--data", data];
  const allowed = [peer, sessionPeer].flatMap(({ host }) => ["--allow-egress", host]);
  const child = startProgram([...args, ...allowed], "", { WADI_AGENTS__MCP: "true" });
  const started = JSON.parse((await child.next())!) as { url: string; key_file: string | null };
  if (started.key_file !== null) key = readFileSync(started.key_file, "utf8").trim();
  return { child, url: started.url };
}

async function ask({ url }: Server, method: string, path: string, body?: object): Promise<Json> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  expect(response.status).toBeLessThan(300);
  return response.json();
}

beforeAll(async () => {
  const server = await serve();
  living = server;
  await ask(server, "POST", "/v1/mcp/servers", { name: "far", url: peer.url, timeout_ms: 60_000 });
  await ask(server, "POST", "/v1/mcp/servers", { name: "old", url: sessionPeer.url });
  for (const tool of TOOLS) await ask(server, "PATCH", `/v1/tools/${tool}`, { risk: "write" });
  const policy = { unattended_writes: true, on_unknown_outcome: "report" };
  const about = { name: "Payer", system_prompt: "Pay.", tools: TOOLS, policy };
  ({ id: agent } = await ask(server, "POST", "/v1/agents", about));
});
afterAll(() => living.child.kill());

const MESSAGE = "!tool far_pay {}\n!next\n!say Done.";

async function readEnd(server: Server, id: string): Promise<{ run: Json; results: Json[] }> {
  const events = await fetch(`${server.url}/v1/runs/${id}/events`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await events.text();
  const { data } = await ask(server, "GET", `/v1/runs/${id}/steps`);
  const results = data.filter(({ kind }: Json) => kind === "tool_result");
  return {
    run: await ask(server, "GET", `/v1/runs/${id}`),
    results: results.map((s: Json) => s.data),
  };
}

const isGet = (one: string) => one.startsWith("tasks/get");

test.each([
  ["killed at", "runs.note:after"],
  ["killed at", "runs.settle:before"],
  ["killed", "while it asks"],
  ["stopped", "while it asks"],
])("a task outlives a process that is %s %s, and its call is sent once", async (how, where) => {
  const point = where.startsWith("runs.") ? where : "";
  peer.state = point === "runs.settle:before" ? completed("Paid.") : working;
  const [calls, asked] = [peer.calls.length, peer.asked.length];
  const dying = living;
  dying.child.arm(point);
  const { id } = await ask(dying, "POST", `/v1/agents/${agent}/runs`, {
    input: { message: MESSAGE },
  });
  if (point === "") {
    await peer.came("tasks/get", peer.asked.slice(0, asked).filter(isGet).length + 1);
    if (how === "killed") dying.child.kill();
    else dying.child.terminate();
  }
  const { signal } = await dying.child.ended;
  expect(signal).toBe(how === "stopped" ? null : "SIGKILL");
  peer.state = completed("Paid.");
  living = await serve();
  const { run, results } = await readEnd(living, id);
  expect(run).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
  expect(results).toMatchObject([{ outcome: "ok", content: "Paid.", external: true }]);
  expect(peer.calls).toHaveLength(calls + 1);
  // Neither a crash nor a stop is a reason to cancel.
  expect(peer.asked.slice(asked).every(isGet)).toBe(true);
  expect(new Set(peer.asked.slice(asked))).toEqual(new Set([`tasks/get task-${calls + 1}`]));
});

test("a task that belongs to a session outlives the process, which takes the session over", async () => {
  const dying = living;
  const { id } = await ask(dying, "POST", `/v1/agents/${agent}/runs`, {
    input: { message: "!tool old_pay {}\n!next\n!say Done." },
  });
  await sessionPeer.came("tasks/get");
  dying.child.kill();
  expect((await dying.child.ended).signal).toBe("SIGKILL");
  await sessionPeer.end("completed", says("Paid."));
  living = await serve();
  const { run, results } = await readEnd(living, id);
  expect(run).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
  expect(results).toMatchObject([{ outcome: "ok", content: "Paid.", external: true }]);
  expect(sessionPeer.calls).toHaveLength(1);
});

test("a process that is killed before the task is stored leaves the outcome unknown", async () => {
  peer.state = completed("Paid.");
  const [calls, asked] = [peer.calls.length, peer.asked.length];
  const dying = living;
  dying.child.arm("runs.note:before");
  const { id } = await ask(dying, "POST", `/v1/agents/${agent}/runs`, {
    input: { message: MESSAGE },
  });
  expect((await dying.child.ended).signal).toBe("SIGKILL");
  living = await serve();
  const { run, results } = await readEnd(living, id);
  expect(run.status).toBe("succeeded");
  expect(results).toMatchObject([{ outcome: "outcome_unknown" }]);
  expect(peer.calls).toHaveLength(calls + 1);
  expect(peer.asked).toHaveLength(asked);
});
