// Repeatedly kills a server whose runs call tools with side effects. The endpoint must receive only
// calls that were recorded and allowed before.
import {
  addKey,
  look,
  makeRunFixture,
  type RunFixture,
  type RunServer,
  serveRuns,
  waitUntil,
} from "../bench/run-fixture.ts";
import { buildWadi } from "../bench/stage.ts";
import { type CallBreaches, checkCalls } from "./call-check.ts";
import { type CallReceiver, openCallReceiver } from "./call-receiver.ts";
import { type Crowd, repeat, Wrong } from "./crowd.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";
import { checkRuns, type RunBreaches } from "./run-check.ts";

const KILLS = 150;
const KILLS_LONG = 600;
const LIFE_MS_MAX = 1_200;
const STARTERS = 4;
const STARTER_PAUSE_MS = 40;
const PEOPLE = 2;
const PEOPLE_PAUSE_MS = 30;
const CANCEL_EVERY_MS = 150;
const SWITCH_EVERY_MS = 400;
const SWITCHED_OFF_MS = 40;
/** Undecided approvals expire then. */
const TTL_S = 60;
const END_MS_MAX = 300_000;
const RECENT = 50;

const TOOLS = [
  { name: "look", risk: "read" },
  { name: "keyed", risk: "write", idempotent: true },
  { name: "write", risk: "write" },
  { name: "pay", risk: "irreversible", idempotent: true },
];
/** Calls that may be repeated without a decision. */
const mayRepeat = (tool: string): boolean => tool === "look" || tool === "keyed";
const POLICIES = [
  { unattended_writes: true },
  { unattended_writes: true, on_unknown_outcome: "report" },
  { require_approval: ["look"] },
].map((policy) => ({ ...policy, approval_ttl_seconds: TTL_S }));

const use = (...names: string[]) => names.map((name, n) => `!tool ${name} {"n":${n}}`);
const MESSAGES = [
  [use("write")],
  [use("keyed", "write", "look")],
  [use("pay")],
  [use("write"), use("write", "write"), use("keyed")],
  [use("look", "write", "pay", "keyed")],
].map((rounds) =>
  ["Work.", ...rounds.flatMap((calls) => [...calls, "!next"]), "!say Done."].join("\n"),
);

interface Run extends Crowd {
  fixture: RunFixture;
  receiver: CallReceiver;
  agents: string[];
  approver: string;
  /** No new run starts. */
  isClosing: boolean;
  accepted: number;
  recent: string[];
  decided: number;
}

export const calls: Proof = {
  name: "calls",
  about: "kill -9 of a server whose runs write outside: nothing is done twice that nobody allowed",
  async run(isLong) {
    const run = await open();
    const crowd = [
      ...Array.from({ length: STARTERS }, () => repeat(run, startOnce)),
      ...Array.from({ length: PEOPLE }, () => repeat(run, decideOnce)),
      repeat(run, cancelOnce),
      repeat(run, switchOnce),
    ];
    const kills = isLong ? KILLS_LONG : KILLS;
    for (let kill = 0; kill < kills; kill++) await dieOnce(run);
    run.isClosing = true;
    const LIVE = "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1";
    const isDone = () => look(run.fixture, LIVE).length === 0;
    // A run that does not end is a finding, and the other checks continue.
    await waitUntil("all runs end", isDone, END_MS_MAX).catch(() => {});
    run.isOver = true;
    await Promise.all(crowd);
    await run.server!.stop();
    run.receiver.close();
    return listFindings(run, kills);
  },
};

const open = async (): Promise<Run> => {
  const program = await buildWadi();
  const receiver = await openCallReceiver();
  const more = `\n[egress]\nallow = ["${receiver.host}"]\n`;
  const fixture = await makeRunFixture(program, { concurrent_runs: 64, more });
  const approver = await addKey(fixture, ["agents", "agents.approve"]);
  const server = await serveRuns(fixture);
  const create = async (path: string, body: object) => {
    const reply = await server.ask("POST", path, body);
    const text = await reply.text();
    if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${text}`);
    return JSON.parse(text) as { id: string };
  };
  for (const tool of TOOLS) {
    await create("/v1/tools", {
      ...{ ...tool, description: tool.name, parameters: { type: "object" } },
      ...{ endpoint: `http://${receiver.host}/`, external_content: false, timeout_ms: 1_000 },
    });
  }
  const tools = TOOLS.map(({ name }) => name);
  const agents: string[] = [];
  for (const [n, policy] of POLICIES.entries()) {
    const body = { name: `Agent ${n}`, system_prompt: "Be brief.", tools, policy };
    agents.push((await create("/v1/agents", body)).id);
  }
  return {
    ...{ fixture: fixture, receiver, agents, approver, server, isOver: false, isClosing: false },
    ...{ accepted: 0, recent: [], decided: 0 },
  };
};

const dieOnce = async (run: Run): Promise<void> => {
  await Bun.sleep(Math.random() * LIFE_MS_MAX);
  const dying = run.server!;
  run.server = null;
  await dying.kill();
  run.server = await serveRuns(run.fixture);
};

const startOnce = async (run: Run, server: RunServer): Promise<void> => {
  await Bun.sleep(STARTER_PAUSE_MS);
  if (run.isClosing) return;
  const agent = pick(run.agents)!;
  const body = { input: { message: pick(MESSAGES) } };
  const reply = await server.ask("POST", `/v1/agents/${agent}/runs`, body);
  const text = await reply.text();
  if (reply.status === 202) {
    run.accepted++;
    run.recent = [...run.recent.slice(1 - RECENT), JSON.parse(text).id];
  } else if (reply.status !== 503) throw new Wrong(`a start: ${reply.status} ${text}`);
};

/** An approval is always decided the same way; some are never decided. */
const decideOnce = async (run: Run, server: RunServer): Promise<void> => {
  await Bun.sleep(PEOPLE_PAUSE_MS);
  const headers = { authorization: `Bearer ${run.approver}` };
  const ask = (method: string, path: string, body?: object) =>
    server.ask(method, path, body, headers);
  const reply = await ask("GET", "/v1/approvals?status=pending&limit=200");
  if (!reply.ok) return void (await reply.text());
  const { data } = (await reply.json()) as { data: { id: string }[] };
  for (const { id } of data) {
    const drawn = Bun.hash.crc32(id) % 10;
    if (drawn === 9) continue;
    const decided = await ask("POST", `/v1/approvals/${id}/${drawn < 7 ? "approve" : "reject"}`);
    const text = await decided.text();
    if (decided.ok) run.decided++;
    else if (decided.status !== 503 && decided.status !== 409) {
      throw new Wrong(`a decision: ${decided.status} ${text}`);
    }
  }
};

const cancelOnce = async (run: Run, server: RunServer): Promise<void> => {
  await Bun.sleep(CANCEL_EVERY_MS);
  const id = pick(run.recent);
  if (id === undefined || run.isClosing) return;
  await (await server.ask("POST", `/v1/runs/${id}/cancel`)).text();
};

const switchOnce = async (_run: Run, server: RunServer): Promise<void> => {
  await Bun.sleep(SWITCH_EVERY_MS);
  await (await server.ask("POST", "/v1/tools/write/disable")).text();
  await Bun.sleep(SWITCHED_OFF_MS);
  await (await server.ask("POST", "/v1/tools/write/enable")).text();
};

const pick = <T>(some: readonly T[]): T | undefined =>
  some[Math.floor(Math.random() * some.length)];

const listFindings = (run: Run, kills: number): Finding[] => {
  const { fixture, receiver } = run;
  const count = (query: string) => look<{ n: number }>(fixture, query)[0]!.n;
  const callBreaches = checkCalls(fixture.file, receiver.arrivals, mayRepeat);
  const runBreaches = checkRuns(fixture.file);
  const times = Map.groupBy(receiver.arrivals, ({ key }) => key);
  const again = [...times.values()].filter(({ length }) => length > 1).length;
  const otherIds = receiver.arrivals.filter(({ key, id }) => key !== id).length;
  const looped = count("SELECT COUNT(*) AS n FROM runs WHERE error LIKE '%crash_loop%'");
  const approvals = (where: string) => count(`SELECT COUNT(*) AS n FROM approvals WHERE ${where}`);
  const results = (outcome: string) =>
    count(
      `SELECT COUNT(*) AS n FROM steps WHERE kind = 'tool_result'
         AND json_extract(data, '$.outcome') = '${outcome}'`,
    );
  return [
    atLeast("servers killed under load", kills, KILLS),
    atLeast("runs accepted", run.accepted, kills * 5),
    atLeast("recovered runs", count("SELECT COUNT(*) AS n FROM runs WHERE recoveries > 0"), kills),
    atLeast("sendings that came to the endpoint", receiver.arrivals.length, kills * 10),
    atLeast("sendings on which it broke off", receiver.broken(), kills / 2),
    atLeast("calls that came more than once", again, kills / 2),
    atLeast("decisions of people", run.decided, kills),
    atLeast("approvals of unknown outcomes", approvals("why LIKE '%outcome_unknown%'"), kills / 2),
    atLeast("approvals that expired", approvals("status = 'expired'"), 10),
    atLeast("approvals that were closed", approvals("status = 'closed'"), 10),
    atLeast("calls whose tool was switched off", results("disabled"), 10),
    atLeast("outcomes that stayed unknown", results("outcome_unknown"), 10),
    atMost("runs that ended by their crashes", looped, run.accepted / 50),
    atMost("sendings whose two keys differ", otherIds, 0),
    ...Object.entries(CALL_LAWS).map(([law, what]) =>
      atMost(what, callBreaches[law as keyof CallBreaches], 0),
    ),
    ...Object.entries(RUN_LAWS).map(([law, what]) =>
      atMost(what, runBreaches[law as keyof RunBreaches], 0),
    ),
  ];
};

const CALL_LAWS: Readonly<Record<keyof CallBreaches, string>> = {
  unallowed: "sendings beyond what was allowed",
  unwritten: "sendings that were not written before",
  strange: "sendings that are no call, or not as it was shown",
  miscounted: "calls whose sendings are counted wrongly",
  unanswered: "calls without exactly one result",
  unreported: "approvals reported with a wrong state",
  unsummed: "runs whose calls or costs do not add up",
};
const RUN_LAWS: Readonly<Record<keyof RunBreaches, string>> = {
  unended: "runs that did not end",
  step_gaps: "runs with a gap in their steps",
  message_gaps: "threads with a gap in their messages",
  unreported: "ends not reported exactly once",
  wrong_counts: "accounts with wrong counts",
  wrong_days: "days that differ from their runs",
};
