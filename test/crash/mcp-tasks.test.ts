// An agent as a task of MCP while its server and its client are killed: a person decides by a link,
// a client that is started again gets the result, and the effect happens once.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../support/bundle.ts";
import { runLine } from "../support/command-session.ts";
import { type Child, type Program, start, startProgram } from "../support/crash.ts";
import { openEndpoint } from "../support/receiver.ts";
import { chooseCases } from "../support/rounds.ts";

const root = mkdtempSync(join(tmpdir(), "wadi-crash-mcp-"));
const data = join(root, "data");
const endpoint = openEndpoint();
afterAll(async () => {
  await endpoint[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});

const MESSAGE = ["Pay.", '!tool pay {"n":1}', "!next", "!say Paid."].join("\n");
const [CLIENT] = await bundle(new URL("../support/mcp-task-client.ts", import.meta.url));

interface Server {
  child: Program;
  url: string;
}
let key = "";
/** What recovers one case dies in the next. */
let living: Server;

async function serve(): Promise<Server> {
  const args = ["serve", "--json", "--port", "0", "--data", data];
  const env = { WADI_AGENTS__MCP_SERVER: "true" };
  const child = startProgram([...args, "--allow-egress", endpoint.host], "", env);
  const started = JSON.parse((await child.next())!) as { url: string; key_file: string | null };
  if (started.key_file !== null) key = readFileSync(started.key_file, "utf8").trim();
  return { child, url: started.url };
}

const ask = (url: string, method: string, path: string, body?: object) =>
  fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });

beforeAll(async () => {
  living = await serve();
  const { url } = living;
  const tool = { name: "pay", risk: "irreversible", idempotent: true, external_content: false };
  const about = { description: "Pays.", parameters: { type: "object" } };
  const place = { endpoint: `http://${endpoint.host}/pay` };
  expect((await ask(url, "POST", "/v1/tools", { ...tool, ...about, ...place })).status).toBe(201);
  const agent = { name: "Payer", system_prompt: "Pay.", tools: ["pay"], expose: true };
  expect((await ask(url, "POST", "/v1/agents", agent)).status).toBe(201);
});

const beginClient = ({ url }: Server, name: string) =>
  start([process.execPath, CLIENT!.pathname, url, key, MESSAGE, name]);

interface Told {
  task?: string;
  status?: string;
  outcome?: unknown;
}

/** The first line of a client that is so; undefined: it ends without one. */
async function hear(client: Child, isIt: (line: Told) => boolean): Promise<Told | undefined> {
  for (;;) {
    const line = await client.next();
    if (line === undefined) return undefined;
    const told = JSON.parse(line) as Told;
    if (isIt(told)) return told;
  }
}

/** A person opens a link that an operator made, and approves; the server may die of it. */
async function approveByLink({ url }: Server, run_id: string): Promise<void> {
  const run = (await (await ask(url, "GET", `/v1/runs/${run_id}`)).json()) as {
    pending_approvals: string[];
  };
  const [id] = run.pending_approvals;
  const args = ["approvals", "link", id!, "--for", "Desk", "--json", "--data", data];
  const env = { PATH: process.env.PATH, HOME: root };
  const { stdout } = await runLine({ args, cwd: root, env, stdin: "" });
  const { token } = JSON.parse(stdout) as { token: string };
  const post = (path: string, body: object, cookie = "") => {
    const headers = { "content-type": "application/json", origin: url, cookie };
    return fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  };
  const session = await post("/operator/link/session", { token });
  expect(session.status).toBe(200);
  const cookie = session.headers.get("set-cookie")!.split(";", 1)[0]!;
  const deciding = post(`/operator/link/v1/approvals/${id}/approve`, {}, cookie);
  expect([200, undefined]).toContain((await deciding.catch(() => undefined))?.status);
}

const isWaiting = ({ status }: Told) => status === "input_required";
const POINTS = [
  ...["runs.start:before", "runs.start:after", "runs.plan:before", "runs.plan:after"],
  ...["runs.wait:after", "runs.decide:before", "runs.decide:after"],
  ...["runs.intend:after", "runs.settle:before", "runs.settle:after", "runs.finish:after"],
];
const FIRST = ["runs.start:after", "runs.wait:after", "runs.decide:after", "runs.finish:after"];

test.each(chooseCases(POINTS, (point) => FIRST.includes(point)))(
  "a task outlives its client and a server that is killed at %s",
  async (point) => {
    const before = endpoint.arrivals.length;
    const dying = living;
    dying.child.arm(point);
    const first = beginClient(dying, point);
    const begun = await hear(first, ({ task }) => task !== undefined);
    const isEarly = /start|plan|wait/.test(point);
    if (!isEarly) {
      await hear(first, isWaiting);
      await approveByLink(dying, begun!.task!);
    }
    expect(await dying.child.ended).toMatchObject({ signal: "SIGKILL" });
    first.kill();
    await first.ended;

    living = await serve();
    const second = beginClient(living, point);
    const { task } = (await hear(second, (line) => line.task !== undefined))!;
    // The same key is the same run, whether or not the first client heard of it.
    if (begun) expect(task).toBe(begun.task!);
    const isNext = (line: Told) => isWaiting(line) || line.outcome !== undefined;
    let told = (await hear(second, isNext))!;
    // A call that may have been sent asks a person again.
    const asksTwice = /intend|settle:before/.test(point);
    expect(isWaiting(told)).toBe(isEarly || asksTwice || point === "runs.decide:before");
    if (isWaiting(told)) {
      await approveByLink(living, task!);
      told = (await hear(second, isNext))!;
    }
    expect(told.outcome).toMatchObject({
      ...{ status: "completed", result: { content: [{ type: "text", text: "Paid." }] } },
    });
    await second.ended;
    // One key: an endpoint that is idempotent pays once, however often it is asked.
    const paid = endpoint.arrivals.slice(before).map((arrival) => arrival.key);
    expect(new Set(paid).size).toBe(1);
    if (!/settle:before/.test(point)) expect(paid).toHaveLength(1);
  },
);

test("the last server stops well", async () => {
  living.child.terminate();
  expect(await living.child.ended).toMatchObject({ code: 0 });
});
