// Wadi beside other systems, in turn in one run: gateways on one mock, and engines of durable runs.
import { type Candidate, type Outcome, playScene, type Scene } from "./chat.ts";
import type { Measured, Order } from "./load.ts";
import {
  type Report,
  readBusyShare,
  readCpuMs,
  spreadOf,
  type Table,
  writeSpread,
} from "./measure.ts";
import {
  type DurablePeer,
  GATEWAYS,
  startFloor,
  startOnPostgres,
  startRestate,
} from "./peers/peer.ts";
import {
  addAgent,
  holdOnlySlot,
  makeRunFixture,
  runMany,
  serveRuns,
  THREE_ROUNDS,
  writeStart,
} from "./run-fixture.ts";
import { buildBare, makeScratch, startBare, startLoad, startMock, startWadi } from "./stage.ts";

const SCENES: readonly Scene[] = [
  { name: "JSON", callers: 32, stream: null },
  { name: "JSON", callers: 128, stream: null },
  { name: "100 chunks at once", callers: 32, stream: { chunks: 100, pace_ms: 0 } },
  { name: "50 tokens/s", callers: 128, stream: { chunks: 100, pace_ms: 20 } },
  { name: "50 tokens/s", callers: 200, stream: { chunks: 100, pace_ms: 20 } },
  { name: "50 tokens/s", callers: 1_000, stream: { chunks: 100, pace_ms: 20 } },
  { name: "50 tokens/s", callers: 2_000, stream: { chunks: 100, pace_ms: 20 } },
];
const CALLERS = 64;
const RUNS = 2_000;

export interface Whole {
  runs_per_second: number;
  cpu_ms_per_run: number;
}

export const benchPeers = async (rounds: number, programs: string[]): Promise<Report> => {
  const notes: string[] = [];
  const busy = await readBusyShare();
  const gateways = await measureGateways({
    rounds,
    programs,
    notes,
    scenes: SCENES,
    peers: GATEWAYS,
  });
  const starts = await measureStarts(programs[0]!, rounds, notes);
  const engines = await measureEngines({ rounds, notes, starts: listEngines(programs[0]!, notes) });
  return {
    tables: [...gateways.map(writeScene), writeStarts(starts), writeEngines(engines)],
    figures: [],
    notes: [
      ...notes,
      `Other processes took ${busy} of the cores in the second before.`,
      "All processes share this machine's cores. CPU is the process's own; p50 and p99 include the mock.",
      "The others check no key and write no row; Wadi does both.",
    ],
    data: { gateways, starts, engines },
  };
};

export interface GatewayOrder {
  rounds: number;
  programs: readonly string[];
  scenes: readonly Scene[];
  peers: typeof GATEWAYS;
  notes: string[];
}

/** Measures bare Bun, each build and each peer, in turn on one mock. */
export const measureGateways = async ({
  rounds,
  programs,
  scenes,
  peers: starts,
  notes,
}: GatewayOrder): Promise<Outcome[]> => {
  const mock = await startMock();
  const bare = await startBare(await buildBare(makeScratch()), mock);
  const wadis = await Promise.all(programs.map((program) => startWadi(program, mock)));
  const candidates: Candidate[] = [
    { name: "mock itself", port: mock.port, key: "none", status: 200 },
    { name: "bare Bun", port: bare.port, pid: bare.pid, key: "none", status: 200 },
    ...wadis.map(({ port, pid, key }, at) => ({
      ...{ name: at === 0 ? "wadi" : `wadi ${at + 1}`, port, pid, key, status: 201 },
    })),
  ];
  const peers = [];
  for (const [name, start] of Object.entries(starts)) {
    try {
      const peer = await start(mock.port);
      peers.push(peer);
      candidates.push({ name, port: peer.port, pid: peer.pid, key: "none", status: 200 });
    } catch (failure) {
      notes.push(`${name} is left out: ${(failure as Error).message.split("\n")[0]}`);
    }
  }
  const load = startLoad();
  const outcomes: Outcome[] = [];
  for (const scene of scenes) {
    process.stderr.write(`peers: ${scene.name}, ${scene.callers} callers\n`);
    outcomes.push(await playScene(scene, candidates, rounds, load, mock));
  }
  await Promise.all([load, ...peers, ...wadis, bare, mock].map((one) => one.stop()));
  return outcomes;
};

const writeScene = ({ scene, rounds }: Outcome): Table => ({
  title: `${scene.name}, ${scene.callers} callers`,
  columns: [
    ...["", "CPU µs/request", "CPU µs/chunk", "first p50 ms", "first p99 ms"],
    ...["whole p50 ms", "p99 ms", "late p99 ms"],
  ],
  rows: Object.entries(rounds).map(([name, all]) => {
    const good = all.filter(({ complaint }) => !complaint);
    const cpu = ({ cpu_ms }: (typeof all)[number]) => cpu_ms.candidate! * 1000;
    return [
      name,
      writeSpread(spreadOf(good.map((one) => cpu(one) / one.replies))),
      scene.stream ? writeSpread(spreadOf(good.map((one) => cpu(one) / one.pieces))) : "-",
      writeSpread(spreadOf(good.map(({ firstMs }) => firstMs.p50))),
      writeSpread(spreadOf(good.map(({ firstMs }) => firstMs.p99))),
      writeSpread(spreadOf(good.map(({ whole_ms }) => whole_ms.p50))),
      writeSpread(spreadOf(good.map(({ whole_ms }) => whole_ms.p99))),
      scene.stream?.pace_ms ? writeSpread(spreadOf(good.map(({ late_ms }) => late_ms.p99))) : "-",
    ];
  }),
});

/** Starts that are durable before their reply; nothing is executed beside them. */
const measureStarts = async (
  program: string,
  rounds: number,
  notes: string[],
): Promise<Record<string, Measured[]>> => {
  const fixture = await makeRunFixture(program, { concurrent_runs: 1 });
  const server = await serveRuns(fixture);
  const { agent } = await holdOnlySlot(server);
  const asks: Record<string, Pick<Order, "port" | "ask" | "pids">> = {
    wadi: {
      port: server.port,
      pids: { candidate: server.pid },
      ask: writeStart(`/v1/agents/${agent}/runs`),
    },
  };
  const restate = await startRestate().catch((failure: Error) => {
    notes.push(`Restate is left out of starts: ${failure.message.split("\n")[0]}`);
  });
  if (restate) {
    const [pid] = restate.pids;
    const ask = writeStart("/agent/run/send?delay=1h", "invocationId");
    asks.Restate = { port: restate.port!, pids: { candidate: pid! }, ask };
  }
  const load = startLoad();
  const measured: Record<string, Measured[]> = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, ask] of Object.entries(asks)) {
      process.stderr.write(`peers: durable starts on ${name}, round ${round + 1}\n`);
      const order = { key: server.key, status: 202, stream: null, callers: CALLERS };
      const one = await load.run({ ...order, ...ask, warm_ms: 1_000, measure_ms: 3_000 });
      if (one.complaint) notes.push(`VOID starts on ${name}: ${one.complaint}`);
      if (round >= 0) measured[name] = [...(measured[name] ?? []), one];
    }
  }
  await Promise.all([load.stop(), server.kill(), restate?.stop()]);
  return measured;
};

const writeStarts = (starts: Record<string, Measured[]>): Table => ({
  title: `durable starts, ${CALLERS} callers`,
  columns: ["", "starts/s", "CPU µs/start", "p50 ms", "p99 ms"],
  rows: Object.entries(starts).map(([name, all]) => {
    const cell = (read: (one: Measured) => number) =>
      writeSpread(spreadOf(all.map((one) => (one.complaint ? Number.NaN : read(one)))));
    return [
      name,
      cell(({ replies, seconds }) => replies / seconds),
      cell(({ cpu_ms, replies }) => (cpu_ms.candidate! * 1_000) / replies),
      cell(({ whole_ms }) => whole_ms.p50),
      cell(({ whole_ms }) => whole_ms.p99),
    ];
  }),
});

const startOwn = async (program: string): Promise<DurablePeer> => {
  const fixture = await makeRunFixture(program, { concurrent_runs: CALLERS });
  const server = await serveRuns(fixture);
  const agent = await addAgent(server, "stub");
  return {
    pids: [server.pid],
    async run(runs, callers) {
      const started_at = performance.now();
      await runMany(fixture, server, agent, { message: THREE_ROUNDS, runs, callers });
      return (performance.now() - started_at) / 1000;
    },
    stop: () => server.stop(),
  };
};

type EngineStarts = Record<string, () => Promise<DurablePeer>>;

export const listOwnEngines = (program: string): EngineStarts => ({
  "floor (bun:sqlite)": startFloor,
  wadi: () => startOwn(program),
});

const listEngines = (program: string, notes: string[]): EngineStarts => {
  const starts = { ...listOwnEngines(program), Restate: startRestate };
  const postgres = process.env.WADI_TEST_POSTGRES;
  if (!postgres) {
    notes.push("graphile-worker and DBOS need WADI_TEST_POSTGRES, and are left out.");
    return starts;
  }
  const startOn = (name: "graphile" | "dbos") => () => startOnPostgres(name, postgres);
  return { ...starts, "graphile-worker": startOn("graphile"), DBOS: startOn("dbos") };
};

export interface EngineOrder {
  rounds: number;
  starts: EngineStarts;
  notes: string[];
}

export const measureEngines = async ({
  rounds,
  starts,
  notes,
}: EngineOrder): Promise<Record<string, Whole[]>> => {
  const engines: Record<string, DurablePeer> = {};
  for (const [name, start] of Object.entries(starts)) {
    try {
      engines[name] = await start();
    } catch (failure) {
      notes.push(`${name} is left out: ${(failure as Error).message.split("\n")[0]}`);
    }
  }
  const measured: Record<string, Whole[]> = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, engine] of Object.entries(engines)) {
      process.stderr.write(`peers: whole runs on ${name}, round ${round + 1}\n`);
      const readCpu = () => engine.pids.reduce((sum, pid) => sum + readCpuMs(pid), 0);
      const before = readCpu();
      const seconds = await engine.run(RUNS, CALLERS).catch((failure: Error) => {
        notes.push(`${name}, round ${round + 1}: ${failure.message}`);
        return Number.NaN;
      });
      const one = { runs_per_second: RUNS / seconds, cpu_ms_per_run: (readCpu() - before) / RUNS };
      // The first round makes each one's code hot.
      if (round >= 0) measured[name] = [...(measured[name] ?? []), one];
    }
  }
  await Promise.all(Object.values(engines).map((engine) => engine.stop()));
  return measured;
};

const writeEngines = (engines: Record<string, Whole[]>): Table => ({
  title: `whole runs: three rounds, two calls, ${CALLERS} callers`,
  columns: ["", "runs/s", "CPU ms/run (without PostgreSQL)"],
  rows: Object.entries(engines).map(([name, all]) => [
    name,
    writeSpread(spreadOf(all.map(({ runs_per_second }) => runs_per_second))),
    writeSpread(spreadOf(all.map(({ cpu_ms_per_run }) => cpu_ms_per_run))),
  ]),
});
