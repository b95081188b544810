// Runs of agents: starts that are kept, whole runs, their listeners, and a database that has grown.

import type { Measured } from "./load.ts";
import {
  type Figure,
  type Report,
  readCpuMs,
  type Spread,
  spreadOf,
  type Table,
  takeQuantile,
  writeSpread,
} from "./measure.ts";
import {
  addAgent,
  addKey,
  holdOnlySlot,
  look,
  makeRunFixture,
  type RunFixture,
  type RunServer,
  runMany,
  serveRuns,
  startRun,
  THREE_ROUNDS,
  waitUntil,
  writeStart,
} from "./run-fixture.ts";
import { type Growth, measureGrowth, SIZES } from "./run-growth.ts";
import { listenToRun } from "./run-streams.ts";
import { buildWadi, type Load, startLoad, startMock } from "./stage.ts";

const CALLERS = 64;
const WARM_MS = 1_000;
const MEASURE_MS = 3_000;
const PACED_STARTS = 100;
const PACED_EVERY_MS = 100;
const WHOLE_RUNS = 4_000;
const STREAMS = 1_000;
const STREAMS_A_KEY = 20;
/** Rounds of the run that is listened to, so far apart. */
const STREAM_ROUNDS = 20;
const STREAM_EVERY_MS = 250;
const GROWTH_RATIO_MAX = 1.5;

interface Whole {
  runs_per_second: number;
  cpu_ms_per_run: number;
}
interface Fanned {
  spreads_ms: number[];
  frames: number;
  cpu_us_per_frame: number;
}
interface Outcome {
  starts: Measured[];
  /** Milliseconds from the request to the first question to a model, and from its 202. */
  first: { asked_ms: number[]; accepted_ms: number[] };
  whole: Record<"in the process" | "over loopback", Whole[]>;
  fanned: Fanned[];
  growth: Growth;
}

export const benchRuns = async (
  rounds: number,
  [programPath]: readonly string[],
): Promise<Report> => {
  const program = programPath ?? (await buildWadi());
  const load = startLoad();
  const outcome: Outcome = {
    starts: await measureStarts(program, rounds, load),
    first: await measureFirst(program),
    whole: await measureWhole(program, rounds),
    fanned: await measureFanOut(program, rounds),
    growth: await measureGrowth(program, rounds, load),
  };
  await load.stop();
  return writeReport(outcome);
};

const measureStarts = async (program: string, rounds: number, load: Load): Promise<Measured[]> => {
  const measured: Measured[] = [];
  const server = await serveRuns(await makeRunFixture(program, { concurrent_runs: 1 }));
  const { agent } = await holdOnlySlot(server);
  for (let round = -1; round < rounds; round++) {
    process.stderr.write(`runs: starts, round ${round + 1}\n`);
    const one = await load.run({
      ...{ port: server.port, key: server.key, status: 202, stream: null, callers: CALLERS },
      ask: writeStart(`/v1/agents/${agent}/runs`),
      ...{ warm_ms: WARM_MS, measure_ms: MEASURE_MS, pids: { candidate: server.pid } },
    });
    if (round >= 0) measured.push(one);
  }
  await server.kill();
  return measured;
};

const REPLY = {
  ...{ id: "chatcmpl-1", object: "chat.completion", created: 1_790_000_000, model: "clocked" },
  choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
};

/** Our own model server reports when it is called, by the same clock as the request. */
const measureFirst = async (program: string): Promise<Outcome["first"]> => {
  process.stderr.write("runs: starts at ten a second\n");
  const requested = new Map<string, number>();
  const upstream = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1" },
    async fetch(request) {
      const at = performance.now();
      const mark = /run number \d+/.exec(await request.text())?.[0];
      if (mark) requested.set(mark, at);
      return Response.json(REPLY);
    },
  });
  const fixture = await makeRunFixture(program, {
    concurrent_runs: 64,
    more: writeModel(upstream.port!),
  });
  const server = await serveRuns(fixture);
  const agent = await addAgent(server, "http");
  const first: Outcome["first"] = { asked_ms: [], accepted_ms: [] };
  // The first ones make the code hot.
  for (let n = -20; n < PACED_STARTS; n++) {
    const mark = `run number ${n + 1_000}`;
    const sent_at = performance.now();
    await startRun(server, agent, mark);
    const accepted_at = performance.now();
    await waitUntil("a model is asked", () => requested.has(mark));
    if (n >= 0) {
      first.asked_ms.push(requested.get(mark)! - sent_at);
      first.accepted_ms.push(requested.get(mark)! - accepted_at);
    }
    await Bun.sleep(PACED_EVERY_MS);
  }
  await server.stop();
  await upstream.stop(true);
  return first;
};

const writeModel = (port: number): string => `
[[models]]
id = "http"
self_hosted = true
capabilities = ["tools", "streaming"]
price = { prompt = "1.00", completion = "2.00" }
[models.upstream]
kind = "openai"
urls = ["http://127.0.0.1:${port}/v1"]
`;

const measureWhole = async (program: string, rounds: number): Promise<Outcome["whole"]> => {
  const mock = await startMock();
  const more = writeModel(mock.port);
  const fixture = await makeRunFixture(program, { concurrent_runs: 64, more });
  const server = await serveRuns(fixture);
  const models = { "in the process": "stub", "over loopback": "http" } as const;
  const whole: Outcome["whole"] = { "in the process": [], "over loopback": [] };
  for (const [name, model] of Object.entries(models)) {
    const agent = await addAgent(server, model);
    const runs = model === "stub" ? WHOLE_RUNS : WHOLE_RUNS / 4;
    for (let round = -1; round < rounds; round++) {
      process.stderr.write(`runs: whole runs ${name}, round ${round + 1}\n`);
      const one = await measureMany(fixture, server, agent, runs);
      if (round >= 0) whole[name as keyof typeof models].push(one);
    }
  }
  await server.stop();
  await mock.stop();
  return whole;
};

/** From the first start to the last end; throws where a run did not do all that it was to do. */
const measureMany = async (
  fixture: RunFixture,
  server: RunServer,
  agent: string,
  runs: number,
): Promise<Whole> => {
  const count = (condition: string) =>
    look<{ n: number }>(
      fixture,
      `SELECT COUNT(*) AS n FROM runs WHERE agent_id = ? AND ${condition}`,
      agent,
    )[0]!.n;
  const right = "status = 'succeeded' AND usage_rounds = 3 AND usage_tool_calls = 2";
  const before = count(right);
  const cpu_ms = readCpuMs(server.pid);
  const started_at = performance.now();
  await runMany(fixture, server, agent, { message: THREE_ROUNDS, runs, callers: CALLERS });
  const seconds = (performance.now() - started_at) / 1_000;
  const done = count(right) - before;
  if (done !== runs) throw new Error(`${done} of ${runs} runs did all that they were to do`);
  return {
    runs_per_second: runs / seconds,
    cpu_ms_per_run: (readCpuMs(server.pid) - cpu_ms) / runs,
  };
};

const measureFanOut = async (program: string, rounds: number): Promise<Fanned[]> => {
  const fixture = await makeRunFixture(program, { concurrent_runs: 64 });
  const keys = [fixture.key];
  while (keys.length < STREAMS / STREAMS_A_KEY) keys.push(await addKey(fixture));
  const server = await serveRuns(fixture);
  const agent = await addAgent(server, "stub");
  const fanned: Fanned[] = [];
  const round = [`!delay ${STREAM_EVERY_MS}ms`, '!tool calculator {"expression":"1 + 1"}', "!next"];
  const script = Array.from({ length: STREAM_ROUNDS }, () => round).flat();
  const message = ["Count.", "!delay 4s", ...script, "!say Done."].join("\n");
  for (let n = -1; n < rounds; n++) {
    process.stderr.write(`runs: ${STREAMS} listeners, round ${n + 1}\n`);
    const run_id = await startRun(server, agent, message);
    const listening = listenToRun(server.port, keys, run_id, STREAMS);
    await listening.ready;
    const cpu_ms = readCpuMs(server.pid);
    const counts = await listening.ended;
    if (counts.faulty > 0) throw new Error(`${counts.faulty} streams did not tell each step once`);
    const spent_ms = readCpuMs(server.pid) - cpu_ms;
    const { frames, spreads_ms } = counts;
    if (n >= 0) fanned.push({ frames, spreads_ms, cpu_us_per_frame: (spent_ms * 1_000) / frames });
  }
  await server.stop();
  return fanned;
};

const quantile = (values: readonly number[], share: number): number =>
  takeQuantile(Float64Array.from(values).sort(), share);
const valid = (all: readonly Measured[], read: (one: Measured) => number): Spread =>
  spreadOf(all.map((one) => (one.complaint ? Number.NaN : read(one))));
const alone = (value: number): Spread => spreadOf([value]);

const writeTables = ({ starts, first, whole, fanned, growth }: Outcome): Table[] => [
  {
    title: `durable starts, ${CALLERS} callers`,
    columns: ["starts/s", "p50 ms", "p99 ms", "CPU ms/start"],
    rows: [
      [
        writeSpread(valid(starts, ({ replies, seconds }) => replies / seconds)),
        writeSpread(valid(starts, ({ whole_ms }) => whole_ms.p50)),
        writeSpread(valid(starts, ({ whole_ms }) => whole_ms.p99)),
        writeSpread(valid(starts, ({ cpu_ms, replies }) => cpu_ms.candidate! / replies)),
      ],
    ],
  },
  {
    title: "a start at ten a second, to the first question to a model over loopback, ms",
    columns: ["", "p50", "p99"],
    rows: [
      ["from the request", first.asked_ms],
      ["from its 202", first.accepted_ms],
    ].map(([name, values]) => [
      name as string,
      quantile(values as number[], 0.5).toFixed(2),
      quantile(values as number[], 0.99).toFixed(2),
    ]),
  },
  {
    title: "whole runs: three rounds, two calls",
    columns: ["", "runs/s", "CPU ms/run"],
    rows: Object.entries(whole).map(([name, all]) => [
      name,
      writeSpread(spreadOf(all.map(({ runs_per_second }) => runs_per_second))),
      writeSpread(spreadOf(all.map(({ cpu_ms_per_run }) => cpu_ms_per_run))),
    ]),
  },
  {
    title: `${STREAMS} listeners of one run`,
    columns: ["first to last listener p50 ms", "p99 ms", "CPU µs/frame"],
    rows: [
      [
        writeSpread(spreadOf(fanned.map(({ spreads_ms }) => quantile(spreads_ms, 0.5)))),
        writeSpread(spreadOf(fanned.map(({ spreads_ms }) => quantile(spreads_ms, 0.99)))),
        writeSpread(spreadOf(fanned.map(({ cpu_us_per_frame }) => cpu_us_per_frame))),
      ],
    ],
  },
  {
    title: "with a thousand runs in the database, and with a million",
    columns: ["", "p50 ms", "p50 ms", "p99 ms", "p99 ms", "p99 ratio"],
    rows: Object.entries(growth).map(([name, sizes]) => {
      const read = (share: "p50" | "p99") =>
        SIZES.map((size) => writeSpread(valid(sizes[size]!, ({ whole_ms }) => whole_ms[share])));
      return [name, ...read("p50"), ...read("p99"), writeSpread(compareSizes(sizes))];
    }),
  },
];

const compareSizes = (sizes: Growth[string]): Spread => {
  const [small, large] = SIZES.map((size) => sizes[size]!);
  return spreadOf(
    large!.map((one, at) =>
      one.complaint || small![at]!.complaint
        ? Number.NaN
        : one.whole_ms.p99 / small![at]!.whole_ms.p99,
    ),
  );
};

const listFigures = ({ starts, first, whole, growth }: Outcome): Figure[] => {
  const figures: Figure[] = [];
  const compareToGoal = (
    what: string,
    unit: string,
    spread: Spread,
    goal: number,
    isLeast = false,
  ) =>
    figures.push({
      ...{ what, spread, unit, goal: `${isLeast ? "≥" : "≤"} ${goal.toLocaleString("en")}` },
      isMet: isLeast ? spread.median >= goal : spread.median <= goal,
    });
  const rate = valid(starts, ({ replies, seconds }) => replies / seconds);
  compareToGoal("durable starts", "a second", rate, 12_500, true);
  compareToGoal(
    "a start, p99",
    "ms",
    valid(starts, ({ whole_ms }) => whole_ms.p99),
    12,
  );
  compareToGoal(
    "202 to the first question, p50",
    "ms",
    alone(quantile(first.accepted_ms, 0.5)),
    0.5,
  );
  compareToGoal(
    "202 to the first question, p99",
    "ms",
    alone(quantile(first.accepted_ms, 0.99)),
    3,
  );
  for (const [name, all] of Object.entries(whole)) {
    const goal = name === "in the process" ? 3_000 : 1_000;
    const many = spreadOf(all.map(({ runs_per_second }) => runs_per_second));
    compareToGoal(`whole runs ${name}`, "a second", many, goal, true);
    const cost = spreadOf(all.map(({ cpu_ms_per_run }) => cpu_ms_per_run));
    compareToGoal(`CPU of a whole run ${name}`, "ms", cost, 0.35);
  }
  for (const [name, sizes] of Object.entries(growth)) {
    compareToGoal(`growth: ${name}, p99`, "of small", compareSizes(sizes), GROWTH_RATIO_MAX);
  }
  return figures;
};

const writeReport = (outcome: Outcome): Report => ({
  tables: writeTables(outcome),
  figures: listFigures(outcome),
  notes: [
    "All processes (load, mock upstream, candidate) share this machine's cores; CPU is the candidate's own.",
    "Starts: one run holds the only place, so that nothing is executed beside them; each is on disk before its 202.",
    "Whole runs: from the first start to the last end, 64 callers; the starts are a part of them.",
    ...[
      ...outcome.starts,
      ...Object.values(outcome.growth).flatMap((one) => Object.values(one).flat()),
    ]
      .filter(({ complaint }) => complaint)
      .map(({ complaint }) => `VOID: ${complaint}`),
  ],
  data: outcome,
});
