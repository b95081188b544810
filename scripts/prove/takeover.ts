// Replaces a server again and again under load: nothing is refused, broken, lost or doubled.
import { addKey, look, makeRunFixture, type RunFixture, waitUntil } from "../bench/run-fixture.ts";
import { buildWadi, type Child, launch, readUntil } from "../bench/stage.ts";
import { atLeast, atMost, type Finding, measured, type Proof } from "./proof.ts";
import { checkRuns } from "./run-check.ts";
import { RawCaller } from "./takeover-client.ts";

const TAKEOVERS = 20;
const TAKEOVERS_LONG = 100;
/** New processes that end before they are ready, among the takeovers. */
const FAILURE_EVERY = 2;
const CALLERS = 8;
const CALL_PAUSE_MS = 2;
const STREAMERS = 4;
const STARTERS = 3;
const START_PAUSE_MS = 30;
const TRIGGERS = 10;
const QUOTA = 30;
const WINDOW_MS = 60_000;
const MINUTE_MS = 60_000;
const END_MS_MAX = 60_000;
/** Number of failed requests that are described. */
const DESCRIBED_MAX = 20;

const SETTINGS = `
[[models]]
id = "slow"
self_hosted = true
capabilities = ["streaming"]
price = { prompt = "1.00", completion = "2.00" }
upstream = { kind = "stub", tokens_per_second = 40 }

[embeddings]
kind = "stub"
requests_per_minute = ${QUOTA}
`;
const WORDS = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
const RUN = [
  "Work.\n!delay 40ms",
  '!tool calculator {"expression":"2 + 3"}',
  "!next\n!delay 40ms\n!say Done.",
].join("\n");

interface Load {
  port: number;
  key: string;
  isOver: boolean;
  phase: { name: string; beganAt: number };
  calls: number;
  refused: string[];
  streams: number;
  broken: string[];
  accepted: Set<string>;
  /** Times at which requests within the quota were sent and answered. */
  counted: { sentAt: number; answeredAt: number }[];
  limited: number;
}

export const takeover: Proof = {
  name: "takeover",
  about: "takeovers under load: no request, stream, run or fire suffers, and limits hold",
  async run(isLong) {
    const program = await buildWadi();
    const more = SETTINGS;
    const fixture = await makeRunFixture(program, { concurrent_runs: 64, more });
    const key = await addKey(fixture, ["agents", "embeddings"]);
    let server = await serve(fixture, []);
    const load: Load = {
      ...{ port: server.port, key, isOver: false, calls: 0, refused: [] },
      ...{ streams: 0, broken: [], accepted: new Set(), counted: [], limited: 0 },
      phase: { name: "first server", beganAt: performance.now() },
    };
    const agent = await createAgent(load);
    const firstMinute = await createTriggers(load, agent);
    const crowd = [
      ...Array.from({ length: CALLERS }, (_, at) => call(load, at % 2 === 0)),
      ...Array.from({ length: STREAMERS }, () => stream(load)),
      ...Array.from({ length: STARTERS }, () => start(load, agent)),
      embed(load),
    ];
    const takeovers = isLong ? TAKEOVERS_LONG : TAKEOVERS;
    const [ready_ms, end_ms]: [number[], number[]] = [[], []];
    let codes = 0;
    for (let n = 0; n < takeovers; n++) {
      if (n % FAILURE_EVERY === 0) {
        enter(load, `failing start before takeover ${n}`);
        await failOnce(fixture, load.port);
      }
      const beganAt = enter(load, `takeover ${n}: start`);
      const next = await serve(fixture, ["--takeover"]);
      ready_ms.push(enter(load, `takeover ${n}: both processes`) - beganAt);
      codes += await server.child.exited;
      end_ms.push(enter(load, `takeover ${n}: old process has ended`) - beganAt);
      server = next;
    }
    // One more instant of the schedules.
    await Bun.sleep(MINUTE_MS - (Date.now() % MINUTE_MS) + 2_000);
    const lastMinute = Math.floor(Date.now() / MINUTE_MS);
    load.isOver = true;
    await Promise.all(crowd);
    const LIVE = "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1";
    await waitUntil("all runs end", () => look(fixture, LIVE).length === 0, END_MS_MAX);
    server.child.kill("SIGTERM");
    await server.child.exited;
    const failed = [...load.refused, ...load.broken];
    for (const text of failed.slice(0, DESCRIBED_MAX)) console.error(text);
    return [
      atLeast("takeovers", takeovers, TAKEOVERS),
      measured("start of the new process until it serves, slowest", Math.max(...ready_ms), " ms"),
      measured("until the old process has ended, slowest", Math.max(...end_ms), " ms"),
      atMost("old processes with an exit code", codes, 0),
      ...listFindings(load, fixture, [firstMinute, lastMinute]),
    ];
  },
};

/** Notes what happens from now on, for the description of requests that fail; the time. */
const enter = (load: Load, name: string): number => {
  const beganAt = performance.now();
  load.phase = { name, beganAt };
  return beganAt;
};

const describe = ({ phase: { name, beganAt } }: Load, what: string): string =>
  `${name}, after ${(performance.now() - beganAt).toFixed(1)} ms: ${what}`;

const listFindings = (
  load: Load,
  fixture: RunFixture,
  [first, last]: [number, number],
): Finding[] => {
  const count = (query: string) => look<{ n: number }>(fixture, query)[0]!.n;
  const runs = new Set(look<{ id: string }>(fixture, "SELECT id FROM runs").map(({ id }) => id));
  const fires = look<{ n: number; instants: number }>(
    fixture,
    `SELECT COUNT(*) AS n, COUNT(DISTINCT scheduled_at) AS instants FROM fires
     WHERE scheduled_at >= ${(first + 1) * MINUTE_MS} AND scheduled_at <= ${last * MINUTE_MS}
     GROUP BY trigger_id`,
  );
  const due = last - first;
  const lost = fires.reduce((sum, { instants }) => sum + due - instants, 0);
  const doubled = fires.reduce((sum, { n, instants }) => sum + n - instants, 0);
  const breaches = Object.values(checkRuns(fixture.file)).reduce((sum, n) => sum + n, 0);
  return [
    atLeast("requests", load.calls, 5_000),
    atMost("refused or reset requests", load.refused.length, 0),
    atLeast("streams", load.streams, 40),
    atMost("broken streams", load.broken.length, 0),
    atLeast("runs accepted", load.accepted.size, 200),
    atMost("accepted runs lost", [...load.accepted].filter((id) => !runs.has(id)).length, 0),
    atMost("runs recovered", count("SELECT COUNT(*) AS n FROM runs WHERE recoveries > 0"), 0),
    atMost(
      "runs that did not succeed",
      count("SELECT COUNT(*) AS n FROM runs WHERE status <> 'succeeded'"),
      0,
    ),
    atMost("breaches of the laws of runs", breaches, 0),
    atLeast("instants due, by trigger", due, 1),
    atMost("fires lost", lost + (TRIGGERS - fires.length) * due, 0),
    atMost("fires doubled", doubled, 0),
    atLeast("requests above the quota", load.limited, 1),
    atMost(`requests within ${WINDOW_MS / 1_000} s`, countMost(load), QUOTA),
    atLeast("of a quota per window of", countMost(load), QUOTA),
  ];
};

/** The most requests that were certainly counted within one window. */
const countMost = ({ counted }: Load): number => {
  let most = 0;
  for (const [from, { sentAt }] of counted.entries()) {
    const within = counted.slice(from).filter(({ answeredAt }) => answeredAt - sentAt < WINDOW_MS);
    most = Math.max(most, within.length);
  }
  return most;
};

const serve = async ({ program, at }: RunFixture, flags: string[]) => {
  const child: Child = launch([program, "serve", "--port", "0", ...flags, ...at]);
  const port = Number(await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/));
  return { child, port };
};

/** The new process takes over the limits, and then finds the port of the operators taken. */
const failOnce = async ({ program, at }: RunFixture, port: number): Promise<void> => {
  const env = { WADI_OPERATOR__LISTEN: `127.0.0.1:${port}` };
  const child = launch([program, "serve", "--port", "0", "--takeover", ...at], env);
  if ((await child.exited) === 0) throw new Error("a start that must fail has not");
};

const ask = async <T>({ port, key }: Load, path: string, body: object): Promise<T> => {
  const caller = new RawCaller(port, key, false);
  const { status, body: text } = await caller.post(path, body);
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text) as T;
};

const createAgent = async (load: Load): Promise<string> => {
  const about = { name: "Clerk", system_prompt: "Be brief.", model: "stub" };
  return (await ask<{ id: string }>(load, "/v1/agents", { ...about, tools: ["calculator"] })).id;
};

/** Returns the minute in which the last of them was created. */
const createTriggers = async (load: Load, agent_id: string): Promise<number> => {
  for (let n = 0; n < TRIGGERS; n++) {
    const schedule = { kind: "cron", cron: "* * * * *", time_zone: "UTC" };
    const input = { message: "!say Done." };
    await ask(load, "/v1/triggers", { agent_id, name: `every-minute-${n}`, input, ...schedule });
  }
  return Math.floor(Date.now() / MINUTE_MS);
};

const call = async (load: Load, isKept: boolean): Promise<void> => {
  const caller = new RawCaller(load.port, load.key, isKept);
  const body = { model: "stub", messages: [{ role: "user", content: "!say Hello" }] };
  while (!load.isOver) {
    load.calls += 1;
    try {
      const { status, body: text } = await caller.post("/v1/chat/completions", body);
      if (status !== 201) load.refused.push(describe(load, `${status} ${text.slice(0, 200)}`));
    } catch (failure) {
      load.refused.push(describe(load, `${isKept ? "kept" : "new"} connection: ${failure}`));
      caller.close();
    }
    await Bun.sleep(CALL_PAUSE_MS);
  }
  caller.close();
};

const stream = async (load: Load): Promise<void> => {
  const body = {
    model: "slow",
    stream: true,
    messages: [{ role: "user", content: `!say ${WORDS}` }],
  };
  while (!load.isOver) {
    load.streams += 1;
    try {
      const reply = await fetch(`http://127.0.0.1:${load.port}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${load.key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        keepalive: false,
      });
      const text = await reply.text();
      const pieces = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece);
      const isWhole = text.endsWith("data: [DONE]\n\n") && pieces.join("") === WORDS;
      if (!isWhole) load.broken.push(describe(load, `${reply.status} ${text.slice(-300)}`));
    } catch (failure) {
      const { code } = failure as NodeJS.ErrnoException;
      load.broken.push(describe(load, `stream: ${code} ${failure}`));
    }
  }
};

const start = async (load: Load, agent: string): Promise<void> => {
  while (!load.isOver) {
    const path = `/v1/agents/${agent}/runs`;
    try {
      const { id } = await ask<{ id: string }>(load, path, { input: { message: RUN } });
      load.accepted.add(id);
    } catch (failure) {
      load.refused.push(describe(load, `start of a run: ${failure}`));
    }
    await Bun.sleep(START_PAUSE_MS);
  }
};

/** Keeps its connection, so that the old process counts for some of them by asking the new one. */
const embed = async (load: Load): Promise<void> => {
  const caller = new RawCaller(load.port, load.key, true);
  while (!load.isOver) {
    const sentAt = performance.now();
    try {
      const { status } = await caller.post("/v1/embeddings", { model: "bge-m3", input: "a" });
      if (status === 200) load.counted.push({ sentAt, answeredAt: performance.now() });
      else if (status === 429) load.limited += 1;
      else load.refused.push(describe(load, `embeddings: ${status}`));
    } catch (failure) {
      load.refused.push(describe(load, `embeddings: ${failure}`));
      caller.close();
    }
    await Bun.sleep(50);
  }
  caller.close();
};
