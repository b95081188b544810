// Fills the disk for seconds while runs call tools outside: no answer is false, no result is lost.
import { join } from "node:path";
import { look, makeRunFixture, type RunFixture, waitUntil } from "../bench/run-fixture.ts";
import { launch, makeScratch, readUntil } from "../bench/stage.ts";
import type { FaultShim } from "./fault-shim.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";
import { checkRuns } from "./run-check.ts";

const FULLS = 3;
const FULLS_LONG = 20;
const FULL_MS = 3_000;
const BETWEEN_MS = 1_500;
const RECOVERED_MS_MAX = 5_000;
const STARTERS = 6;
const CHATTERS = 2;
const PAUSE_MS = 20;
const TOOL_MS_MAX = 400;
const END_MS_MAX = 120_000;
const CHAT = { messages: [{ role: "user", content: "Hello" }] };
const WORK = ['!tool write {"n":1}', '!tool write {"n":2}', "!next", "!say Done."].join("\n");
const IS_RUNNING = "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1";

/** All of one run. */
interface Run {
  fixture: RunFixture;
  url: string;
  agent_id: string;
  isOver: boolean;
  accepted: string[];
  /** How often each status was answered to a start while the disk was full. */
  refused: Map<number, number>;
  /** Refusals without Retry-After. */
  unsaid: number;
  chats_failed: number;
  ready_while_full: number;
  slowest_recovery_ms: number;
}

export const proveDisk = async (
  program: string,
  shim: FaultShim,
  isLong: boolean,
): Promise<Finding[]> => {
  const receiver = openReceiver();
  const more = `\n[egress]\nallow = ["127.0.0.1:${receiver.port}"]\n`;
  const fixture = await makeRunFixture(program, { concurrent_runs: 64, more });
  const log = join(makeScratch(), "log");
  const serve = ["sh", "-c", `exec "$0" "$@" 2>"${log}"`, program, "serve", "--port", "0"];
  const child = launch([...serve, ...fixture.at], shim.env());
  let ended: number | null = null;
  void child.exited.then((code) => (ended = code));
  const url = await readUntil(child, /(http:\/\/127\.0\.0\.1:\d+)/);
  const run: Run = {
    ...{ fixture: fixture, url, agent_id: "", isOver: false, accepted: [], refused: new Map() },
    ...{ unsaid: 0, chats_failed: 0, ready_while_full: 0, slowest_recovery_ms: 0 },
  };
  run.agent_id = await furnish(run, receiver.port!);
  const callers = [
    ...Array.from({ length: STARTERS }, () => repeat(run, startOnce)),
    ...Array.from({ length: CHATTERS }, () => repeat(run, chatOnce)),
  ];
  const fulls = isLong ? FULLS_LONG : FULLS;
  for (let full = 0; full < fulls; full++) await fillOnce(run, shim);
  run.isOver = true;
  await Promise.all(callers);
  const isDone = () => look(fixture, IS_RUNNING).length === 0;
  // A run that does not end is a finding, and the other checks continue.
  await waitUntil("all runs end", isDone, END_MS_MAX, 100).catch(() => {});
  const survived = ended === null;
  child.kill("SIGTERM");
  await child.exited;
  receiver.stop(true);
  return listFindings(run, {
    ...{ fulls, survived, again: receiver.countAgain(), lines: await Bun.file(log).text() },
  });
};

/** An endpoint that is slow enough for results to come while the disk is full. */
const openReceiver = () => {
  const times = new Map<string, number>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const key = request.headers.get("idempotency-key") ?? "";
      times.set(key, (times.get(key) ?? 0) + 1);
      await Bun.sleep(Math.random() * TOOL_MS_MAX);
      return Response.json({ done: true });
    },
  });
  const countAgain = () => [...times.values()].filter((one) => one > 1).length;
  return { port: server.port, stop: (now: boolean) => server.stop(now), countAgain };
};

const ask = (run: Run, method: string, path: string, body?: object) =>
  fetch(`${run.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${run.fixture.key}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });

const furnish = async (run: Run, port: number): Promise<string> => {
  const create = async (path: string, body: object) => {
    const reply = await ask(run, "POST", path, body);
    const text = await reply.text();
    if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${text}`);
    return (JSON.parse(text) as { id: string }).id;
  };
  await create("/v1/tools", {
    ...{ name: "write", risk: "write", description: "write", parameters: { type: "object" } },
    ...{ endpoint: `http://127.0.0.1:${port}/`, external_content: false, timeout_ms: 30_000 },
  });
  const policy = { unattended_writes: true, on_unknown_outcome: "report" };
  const about = { name: "Worker", system_prompt: "Be brief.", tools: ["write"], policy };
  return create("/v1/agents", about);
};

const repeat = async (run: Run, once: (run: Run) => Promise<void>): Promise<void> => {
  while (!run.isOver) {
    await once(run);
    await Bun.sleep(PAUSE_MS);
  }
};

const startOnce = async (run: Run): Promise<void> => {
  const path = `/v1/agents/${run.agent_id}/runs`;
  const reply = await ask(run, "POST", path, { input: { message: WORK } });
  const text = await reply.text();
  if (reply.status === 202) return void run.accepted.push((JSON.parse(text) as { id: string }).id);
  run.refused.set(reply.status, (run.refused.get(reply.status) ?? 0) + 1);
  if (!reply.headers.has("retry-after")) run.unsaid++;
};

const chatOnce = async (run: Run): Promise<void> => {
  const reply = await ask(run, "POST", "/v1/chat/completions", CHAT);
  await reply.text();
  if (!reply.ok) run.chats_failed++;
};

const isReady = async (run: Run) => (await fetch(`${run.url}/readyz`)).ok;

const fillOnce = async (run: Run, shim: FaultShim): Promise<void> => {
  await Bun.sleep(BETWEEN_MS);
  shim.fillDisk();
  await Bun.sleep(FULL_MS);
  run.ready_while_full += Number(await isReady(run));
  const accepted = run.accepted.length;
  shim.freeDisk();
  const freed_at = performance.now();
  await waitUntil("it is ready again", () => isReady(run), 30_000, 50);
  await waitUntil("runs are accepted again", () => run.accepted.length > accepted, 30_000);
  run.slowest_recovery_ms = Math.max(run.slowest_recovery_ms, performance.now() - freed_at);
};

interface End {
  fulls: number;
  survived: boolean;
  again: number;
  lines: string;
}

const listFindings = (run: Run, { fulls, survived, again, lines }: End): Finding[] => {
  const { fixture, refused } = run;
  const stored = new Set(look<{ id: string }>(fixture, "SELECT id FROM runs").map(({ id }) => id));
  const count = (what: string) =>
    look<{ n: number }>(fixture, `SELECT COUNT(*) AS n FROM ${what}`)[0]!.n;
  const others = [...refused].filter(([status]) => status !== 503);
  const reports = lines.split("\n").filter((line) => /"level":"(warn|error)"/.test(line));
  const breaches = checkRuns(fixture.file);
  return [
    atMost("disk full: the server ended", Number(!survived), 0),
    atLeast("disk full: runs accepted around it", run.accepted.length, fulls * 20),
    atLeast("disk full: starts refused with 503", refused.get(503) ?? 0, fulls * 10),
    atMost("disk full: starts refused with another status", others.length, 0),
    atMost("disk full: refusals without Retry-After", run.unsaid, 0),
    atMost("disk full: chats that failed", run.chats_failed, 0),
    atMost("disk full: ready all the same", run.ready_while_full, 0),
    atMost(
      "disk full: accepted runs that are not there",
      run.accepted.filter((id) => !stored.has(id)).length,
      0,
    ),
    atMost("disk full: runs that did not succeed", count("runs WHERE status <> 'succeeded'"), 0),
    atMost(
      "disk full: results of unknown outcome",
      count("steps WHERE data LIKE '%outcome_unknown%'"),
      0,
    ),
    atMost("disk full: runs counted as recovered", count("runs WHERE recoveries > 0"), 0),
    atMost("disk full: calls that came twice", again, 0),
    atMost(
      "disk full: faults in the logs of runs",
      Object.values(breaches).reduce((a, b) => a + b, 0),
      0,
    ),
    atMost(
      "disk full: warnings and errors in the log, a second",
      reports.length / ((fulls * FULL_MS) / 1_000),
      1.4,
    ),
    atMost(
      "disk full: slowest recovery once there was room",
      run.slowest_recovery_ms,
      RECOVERED_MS_MAX,
      " ms",
    ),
  ];
};
