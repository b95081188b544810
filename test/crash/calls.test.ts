// The compiled program, killed at every write around calls and decisions: what is counted outside is
// what was written and allowed.
import { Database as Connection } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkCalls } from "../../scripts/prove/call-check.ts";
import { checkRuns } from "../../scripts/prove/run-check.ts";
import { runLine } from "../support/command-session.ts";
import { type Program, startProgram } from "../support/crash.ts";
import { openEndpoint } from "../support/receiver.ts";
import { chooseCases } from "../support/rounds.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-crash-calls-"));
const data = join(root, "data");
const file = join(data, "wadi.db");
const endpoint = openEndpoint();
afterAll(async () => {
  await endpoint[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});

const TOOLS = [
  { name: "look", risk: "read" },
  { name: "keyed", risk: "write", idempotent: true },
  { name: "write", risk: "write" },
  { name: "pay", risk: "irreversible", idempotent: true },
] as const;
const POLICIES = {
  auto: { unattended_writes: true },
  telling: { unattended_writes: true, on_unknown_outcome: "report" },
  asking: { require_approval: ["look"] },
};
type Agent = keyof typeof POLICIES;

const round = (...names: string[]) => names.map((name, n) => `!tool ${name} {"n":${n}}`);
const say = (...rounds: string[][]) =>
  [...rounds.map((lines) => [...lines, "!next"]), ["!say Done."]].flat().join("\n");
const ONE = ["write"];
const ALL = ["look", "keyed", "write", "pay"];
/** An irreversible call asks, whatever the policy. */
const SOME = ["look", "keyed", "write", "write"];
const rounds = (...names: string[]) => ["Work.", say(round(...names), round(...names))].join("\n");

/** Steps that lead a server to a fail point. */
interface Scene {
  agent: Agent;
  message: string;
  /** Decides every approval. */
  decides?: boolean;
  /** The approval is overdue when the server restarts, which is then killed. */
  isOverdue?: boolean;
  points: readonly string[];
}
const atBoth = (write: string, ...passes: number[]) =>
  passes.flatMap((pass) => [`${write}:before#${pass}`, `${write}:after#${pass}`]);
const SCENES: readonly Scene[] = [
  { agent: "auto", message: rounds(...ONE), points: atBoth("intend", 1, 2) },
  { agent: "auto", message: rounds(...SOME), points: atBoth("intend", 1, 2) },
  { agent: "auto", message: rounds(...SOME), points: atBoth("settle", 1, 2) },
  { agent: "telling", message: rounds(...SOME), points: atBoth("settle", 1, 2) },
  { agent: "asking", message: rounds(...ALL), points: atBoth("plan", 1) },
  { agent: "asking", message: rounds(...ALL), decides: true, points: atBoth("intend", 1) },
  { agent: "asking", message: rounds(...ALL), decides: true, points: atBoth("settle", 1, 2) },
  { agent: "asking", message: rounds(...ALL), decides: true, points: atBoth("decide", 1, 4, 5) },
  { agent: "asking", message: rounds(...ALL), isOverdue: true, points: atBoth("expire", 1) },
];

/** One of each write, on the side of it where most has happened outside that is not yet written. */
const FIRST: readonly string[] = [
  "0 intend:after#1",
  "2 settle:before#1",
  "3 settle:before#1",
  "4 plan:after#1",
  "6 settle:after#2",
  "7 decide:after#1",
  "8 expire:after#1",
];

interface Server {
  child: Program;
  /** The response; undefined: the server has ended. */
  ask(method: string, path: string, body?: object, key?: string): Promise<Response | undefined>;
}
const keys = { starter: "", approver: "" };
const agents: Record<Agent, string> = { auto: "", telling: "", asking: "" };

/** What recovers one case dies in the next; undefined: it has been killed. */
let living: Server | undefined;

/** The server; undefined: it died before it listened. */
async function serve(failPoint = ""): Promise<Server | undefined> {
  const egress = ["--allow-egress", endpoint.host];
  const args = ["serve", "--json", "--port", "0", "--data", data, ...egress];
  const child = startProgram(args, failPoint);
  const line = await child.next();
  if (line === undefined) {
    expect(await child.ended).toMatchObject({ signal: "SIGKILL" });
    return undefined;
  }
  const started = JSON.parse(line) as { url: string; key_file: string | null };
  if (started.key_file !== null) keys.starter = readFileSync(started.key_file, "utf8").trim();
  return {
    child,
    ask: (method, path, body, key = keys.starter) =>
      fetch(`${started.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: body && JSON.stringify(body),
      }).catch(() => undefined),
  };
}

beforeAll(async () => {
  const server = (await serve())!;
  living = server;
  const create = async (path: string, body: object) => {
    const reply = (await server.ask("POST", path, body))!;
    const text = await reply.text();
    expect([reply.status, text]).toEqual([201, expect.any(String)]);
    return JSON.parse(text) as { id: string };
  };
  for (const { name, ...tool } of TOOLS) {
    const about = { description: name, parameters: { type: "object" }, external_content: false };
    const place = { endpoint: `http://${endpoint.host}/${name}` };
    await create("/v1/tools", { name, ...tool, ...about, ...place });
  }
  const tools = TOOLS.map(({ name }) => name);
  for (const name of Object.keys(POLICIES) as Agent[]) {
    const body = { name, system_prompt: "Be brief.", tools, policy: POLICIES[name] };
    agents[name] = (await create("/v1/agents", body)).id;
  }
  const scopes = ["--scope", "agents", "--scope", "agents.approve"];
  const args = ["keys", "create", "--account", "default", ...scopes, "--data", data];
  const env = { PATH: process.env.PATH, HOME: root };
  const { stdout } = await runLine({ args, cwd: root, env, stdin: "" });
  keys.approver = stdout.trim();
});

async function start(server: Server, agent: Agent, message: string): Promise<string> {
  const path = `/v1/agents/${agents[agent]}/runs`;
  const reply = (await server.ask("POST", path, { input: { message } }))!;
  expect(reply.status).toBe(202);
  return ((await reply.json()) as { id: string }).id;
}

/** Reads a run's stream to its end, or to its server's end, and decides its approvals. */
async function follow(server: Server, id: string, verb?: "approve" | "reject"): Promise<string> {
  const reply = await server.ask("GET", `/v1/runs/${id}/events`);
  let text = "";
  let decided = 0;
  const decoder = new TextDecoder();
  try {
    for await (const bytes of reply?.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      const requested = [
        ...text.matchAll(/"type":"approval.requested","approval":\{"id":"([^"]+)"/g),
      ];
      for (const [, approval] of verb ? requested.slice(decided) : []) {
        decided++;
        await server.ask("POST", `/v1/approvals/${approval}/${verb}`, {}, keys.approver);
      }
      if (!verb && text.includes('"waiting_approval"')) break;
    }
  } catch {
    // Its server was killed, and the stream ends here.
  }
  return text;
}

/** Checks that all calls are as recorded and allowed, once a server has let the run end. */
async function expectWhole(id: string): Promise<Record<string, unknown>> {
  living ??= (await serve())!;
  expect((await follow(living, id, "approve")).slice(-14)).toBe("data: [DONE]\n\n");
  const run = (await (await living.ask("GET", `/v1/runs/${id}`))!.json()) as object;
  expectCalls();
  return { ...run };
}

function expectCalls(): void {
  const none = { unended: 0, step_gaps: 0, message_gaps: 0, unreported: 0, wrong_counts: 0 };
  expect(checkRuns(file)).toEqual({ ...none, wrong_days: 0 });
  const own = arrivalsOf();
  for (const arrived of own) expect(arrived.id).toBe(arrived.key);
  expect(checkCalls(file, own, (tool) => tool === "look" || tool === "keyed")).toEqual({
    ...{ unanswered: 0, strange: 0, unwritten: 0, unallowed: 0, miscounted: 0 },
    ...{ unreported: 0, unsummed: 0 },
  });
}

/** The server, which is to be killed. */
function take(): Server {
  const server = living!;
  living = undefined;
  return server;
}

/** Arrivals at the endpoint of this database's calls. */
function arrivalsOf() {
  using connection = new Connection(file, { readonly: true });
  const rows = connection
    .query<{ id: string }, []>(
      "SELECT json_extract(data, '$.tool_call_id') AS id FROM steps WHERE kind = 'tool_call'",
    )
    .all();
  const own = new Set(rows.map(({ id }) => id));
  return endpoint.arrivals.filter(({ key }) => own.has(key));
}

describe("a server killed during runs", () => {
  const cases = SCENES.flatMap(({ points, ...scene }, n) =>
    points.map((point) => ({ point, n, scene })),
  );
  const chosen = chooseCases(cases, ({ n, point }) => FIRST.includes(`${n} ${point}`));
  test.each(chosen)("$point (scene $n) repeats no call by itself", async ({ point, scene }) => {
    const { agent, message, decides, isOverdue } = scene;
    living ??= await serve();
    const failPoint = `runs.${point}`;
    const first = take();
    if (!isOverdue) first.child.arm(failPoint);
    const id = await start(first, agent, message);
    await follow(first, id, decides ? "approve" : undefined);
    if (isOverdue) {
      first.child.kill();
      await first.child.ended;
      using connection = new Connection(file);
      connection.run("UPDATE approvals SET expires_at = 1 WHERE status = 'pending'");
      connection.close();
      await (await serve(failPoint))?.child.ended;
    } else expect(await first.child.ended).toMatchObject({ signal: "SIGKILL" });
    expect(await expectWhole(id)).toMatchObject({ status: "succeeded" });
  });
});

describe("a server killed while the endpoint handles a call", () => {
  const cases = (Object.keys(POLICIES) as Agent[]).flatMap((agent) =>
    // A call that always asks is in progress last: it needs its own kill.
    [["pay"], ALL].map((names) => ({ agent, names })),
  );
  const chosen = chooseCases(cases, ({ agent, names }) => agent === "asking" || names === ALL);
  test.each(chosen)("($agent, $names) repeats no call by itself", async ({ agent, names }) => {
    living ??= await serve();
    const first = take();
    endpoint.hang(true);
    const before = endpoint.arrivals.length;
    const message = ["Work.", say(round(...names))].join("\n");
    const id = await start(first, agent, message);
    const following = follow(first, id, "approve");
    // A call that needs approval is sent after the others of its round.
    const own = agent === "asking" ? names : names.filter((name) => name !== "pay");
    await endpoint.came(before + Math.max(1, own.length));
    first.child.kill();
    await first.child.ended;
    endpoint.hang(false);
    await following;
    expect(await expectWhole(id)).toMatchObject({ status: "succeeded" });
  });
});

test("the last server stops well, and all calls are as recorded", async () => {
  const { child } = take();
  child.terminate();
  expect(await child.ended).toMatchObject({ code: 0 });
  expectCalls();
});
