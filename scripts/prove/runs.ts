// Repeatedly kills a server that executes runs: no accepted run is lost, and every run ends.
import {
  addAgent,
  look,
  makeRunFixture,
  type RunFixture,
  type RunServer,
  serveRuns,
  waitUntil,
} from "../bench/run-fixture.ts";
import { buildWadi } from "../bench/stage.ts";
import { type Crowd, repeat, Wrong } from "./crowd.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";
import { checkRuns } from "./run-check.ts";
import { IN_FLIGHT, measureRecovery } from "./run-recovery.ts";

const KILLS = 200;
const KILLS_LONG = 1_000;
const RECOVERIES = 5;
const RECOVERY_MS_MAX = 500;
const STARTERS = 6;
/** Together they start no more runs than 64 slots can end, so that streams see ends, too. */
const STARTER_PAUSE_MS = 8;
const CANCELLERS = 2;
const FOLLOWERS = 4;
/** Cancelled, followed and talked to are the last ones. */
const RECENT = 50;
const LIFE_MS_MAX = 500;
const END_MS_MAX = 120_000;

const CALL = '!tool calculator {"expression":"2 + 3"}';
/** Kinds of runs: immediate, slow, in several rounds, and failing. */
const MESSAGES = [
  "Hello",
  ["Work.", "!delay 30ms", CALL, "!next", "!delay 60ms", CALL, "!next", "!say Done."],
  ["Work.", CALL, CALL, CALL, "!next", "!say Done."],
  ["Fail.", CALL, "!next", "!error invalid_request"],
  ["Work.", "!delay 150ms", "!say Done."],
].map((message) => (typeof message === "string" ? message : message.join("\n")));

/** All of one proof. */
interface Run extends Crowd {
  fixture: RunFixture;
  agent: string;
  /** Runs whose 202 was received. */
  accepted: Set<string>;
  /** The last of them. */
  recent: { id: string; thread_id: string }[];
  /** Runs whose cancel returned a final status. */
  cancelled: Set<string>;
  /** Steps received from streams, by run and number. */
  received: Map<string, Map<number, string>>;
  /** Steps that differed at another time, or were out of order. */
  changed: number;
  followed: number;
  /** By run: its last known cost and number of steps. */
  costs: Map<string, { cost_total: number; last_seq: number }>;
  fallen: number;
  sent: number;
}

export const runs: Proof = {
  name: "runs",
  about: "kill -9 of a server that executes runs: all are recovered at once, and none is lost",
  async run(isLong) {
    const program = await buildWadi();
    const taken_ms = await measureRecovery(program, RECOVERIES);
    const fixture = await makeRunFixture(program, { concurrent_runs: 64 });
    const server = await serveRuns(fixture);
    const agent = await addAgent(server, "stub");
    const run: Run = {
      ...{
        fixture: fixture,
        agent,
        server,
        isOver: false,
        accepted: new Set(),
        cancelled: new Set(),
      },
      ...{
        recent: [],
        received: new Map(),
        changed: 0,
        followed: 0,
        costs: new Map(),
        fallen: 0,
        sent: 0,
      },
    };
    const crowd = [
      ...Array.from({ length: STARTERS }, () => repeat(run, startOnce)),
      ...Array.from({ length: CANCELLERS }, () => repeat(run, cancelOnce)),
      ...Array.from({ length: FOLLOWERS }, () => repeat(run, followOnce)),
    ];
    const kills = isLong ? KILLS_LONG : KILLS;
    for (let kill = 0; kill < kills; kill++) await dieOnce(run);
    run.isOver = true;
    await Promise.all(crowd);
    const LIVE = "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1";
    await waitUntil("all runs end", () => look(fixture, LIVE).length === 0, END_MS_MAX);
    checkCosts(run);
    await run.server!.stop();
    return listFindings(run, kills, taken_ms);
  },
};

const listFindings = (run: Run, kills: number, taken_ms: readonly number[]): Finding[] => {
  const { fixture, accepted } = run;
  const rows = look<{ id: string; status: string; error: string | null; token: string }>(
    fixture,
    "SELECT id, status, error, json_extract(metadata, '$.token') AS token FROM runs",
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  const lost = [...accepted].filter((id) => !found.has(id)).length;
  const revived = [...run.cancelled].filter((id) => found.get(id)?.status !== "cancelled").length;
  const doubled = rows.length - new Set(rows.map(({ token }) => token)).size;
  const looped = rows.filter(({ error }) => error?.includes("crash_loop")).length;
  const breaches = checkRuns(fixture.file);
  return [
    atMost(`${IN_FLIGHT} runs taken up, slowest`, Math.max(...taken_ms), RECOVERY_MS_MAX, " ms"),
    atLeast("servers killed under load", kills, KILLS),
    atLeast("runs accepted", accepted.size, kills * 10),
    atLeast("recovered runs", countRecovered(fixture), kills),
    atLeast("streams followed", run.followed, kills),
    atMost("accepted runs lost", lost, 0),
    atMost("runs that did not end", breaches.unended, 0),
    atMost("runs that ended by their crashes", looped, rows.length / 100),
    atMost("starts sent again that began a second run", doubled, 0),
    atMost("cancelled runs that went on", revived, 0),
    atMost("runs with a gap in their steps", breaches.step_gaps, 0),
    atMost("threads with a gap in their messages", breaches.message_gaps, 0),
    atMost("steps that differ between reads", run.changed, 0),
    atMost("costs that fell", run.fallen, 0),
    atMost("ends not reported exactly once", breaches.unreported, 0),
    atMost("accounts with wrong counts", breaches.wrong_counts, 0),
    atMost("days that differ from their runs", breaches.wrong_days, 0),
  ];
};

const countRecovered = (fixture: RunFixture): number =>
  look<{ n: number }>(fixture, "SELECT COUNT(*) AS n FROM runs WHERE recoveries > 0")[0]!.n;

/** Lets the server live for a moment, and starts the next one. */
const dieOnce = async (run: Run): Promise<void> => {
  await Bun.sleep(Math.random() * LIFE_MS_MAX);
  const dying = run.server!;
  run.server = null;
  await dying.kill();
  checkCosts(run);
  run.server = await serveRuns(run.fixture);
};

const startOnce = async (run: Run, first: RunServer): Promise<void> => {
  await Bun.sleep(STARTER_PAUSE_MS);
  const n = run.sent++;
  const path = `/v1/agents/${run.agent}/runs`;
  const thread_id = n % 4 === 0 ? pickRun(run)?.thread_id : undefined;
  const body = {
    input: { message: MESSAGES[n % MESSAGES.length] },
    metadata: { token: `${n}` },
    ...(thread_id && { thread_id }),
  };
  const headers = { "idempotency-key": `start-${n}` };
  // A caller without an answer repeats its request, also to the next server.
  for (let server: RunServer | null = first; !run.isOver; server = run.server) {
    const reply = await server?.ask("POST", path, body, headers).catch(() => undefined);
    const text = await reply?.text().catch(() => undefined);
    if (reply === undefined || text === undefined) await Bun.sleep(5);
    else if (reply.status === 202) {
      const { id, thread_id } = JSON.parse(text);
      run.accepted.add(id);
      run.recent = [...run.recent.slice(1 - RECENT), { id, thread_id }];
      return;
    } else if (reply.status === 409 && text.includes("thread_busy")) return;
    else if (reply.status !== 503) throw new Wrong(`a start: ${reply.status} ${text}`);
  }
};

const pickRun = ({ recent }: Run) => recent[Math.floor(Math.random() * recent.length)];

const cancelOnce = async (run: Run, server: RunServer): Promise<void> => {
  await Bun.sleep(40);
  const id = pickRun(run)?.id;
  if (id === undefined) return;
  const reply = await server.ask("POST", `/v1/runs/${id}/cancel`);
  const text = await reply.text();
  if (!reply.ok && reply.status !== 503) throw new Wrong(`a cancel: ${reply.status} ${text}`);
  if (reply.ok && JSON.parse(text).status === "cancelled") run.cancelled.add(id);
};

/** Reads a run's stream as far as possible: it must always contain the same steps. */
const followOnce = async (run: Run, server: RunServer): Promise<void> => {
  await Bun.sleep(5);
  const id = pickRun(run)?.id;
  if (id === undefined) return;
  const reply = await server.ask("GET", `/v1/runs/${id}/events`);
  if (!reply.ok) return void (await reply.text());
  const received = run.received.get(id) ?? new Map<number, string>();
  run.received.set(id, received);
  const decoder = new TextDecoder();
  let rest = "";
  let last = 0;
  for await (const bytes of reply.body!) {
    const frames = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = frames.pop()!;
    for (const frame of frames) {
      if (frame === "data: [DONE]") run.followed++;
      if (!frame.startsWith('data: {"type":"step.completed"')) continue;
      const { step } = JSON.parse(frame.slice(6));
      const text = JSON.stringify(step);
      if (step.seq !== ++last || (received.get(step.seq) ?? text) !== text) run.changed++;
      received.set(step.seq, text);
    }
  }
};

/** While no server writes: no run may have lost progress. */
const checkCosts = (run: Run): void => {
  const { fixture, costs } = run;
  const rows = look<{ id: string; cost_total: number; last_seq: number }>(
    fixture,
    "SELECT id, cost_total, last_seq FROM runs ORDER BY number DESC LIMIT 2000",
  );
  for (const { id, ...now } of rows) {
    const before = costs.get(id);
    if (before && (now.cost_total < before.cost_total || now.last_seq < before.last_seq)) {
      run.fallen++;
    }
    costs.set(id, now);
  }
};
