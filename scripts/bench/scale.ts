// Chats, runs and deliveries of 1, 2 and 4 processes on one PostgreSQL and one Valkey.
import { SQL } from "bun";
import {
  type Report,
  readCpuMs,
  readProgramMs,
  spreadOf,
  type Table,
  writeSpread,
} from "./measure.ts";
import {
  addAgent,
  makeRunFixture,
  type RunServer,
  serveRuns,
  startRuns,
  THREE_ROUNDS,
  waitUntil,
} from "./run-fixture.ts";
import { buildWadi, type Load, type Process, startLoad, startReceiver } from "./stage.ts";

const COUNTS = [1, 2, 4];
const CALLERS = 64;
const RUNS = 1_000;
const CHAT = {
  path: "/v1/chat/completions",
  bodies: [JSON.stringify({ messages: [{ role: "user", content: "!say Well." }] })],
  ...{ piece: '"content":"Well."', pieces_min: 1 },
};

interface Round {
  chats_per_second: number;
  cpu_us_per_chat: number;
  postgres_us_per_chat: number;
  valkey_us_per_chat: number;
  runs_per_second: number;
  cpu_ms_per_run: number;
  postgres_ms_per_run: number;
  valkey_ms_per_run: number;
  deliveries_per_second: number;
}

interface Stage {
  servers: RunServer[];
  agent: string;
  isOver(): Promise<boolean>;
  stop(): Promise<void>;
}

export const benchScale = async (
  rounds: number,
  [programPath]: readonly string[],
): Promise<Report> => {
  const { WADI_TEST_POSTGRES: postgres, WADI_TEST_VALKEY: valkey } = process.env;
  if (!postgres || !valkey) {
    const notes = ["WADI_TEST_POSTGRES or WADI_TEST_VALKEY names no server: nothing is measured."];
    return { tables: [], figures: [], notes, data: null };
  }
  const program = programPath ?? (await buildWadi());
  const receiver = await startReceiver();
  // Each server has callers of its own.
  const loads = Array.from({ length: Math.max(...COUNTS) }, startLoad);
  const measured = new Map<number, Round[]>(COUNTS.map((count) => [count, []]));
  for (let round = -1; round < rounds; round++) {
    for (const count of COUNTS) {
      process.stderr.write(`scale: ${count} processes, round ${round + 1}\n`);
      const stage = await openStage(program, { postgres, valkey, count, receiver });
      const one = await measureRound(stage, loads, receiver);
      if (round >= 0) measured.get(count)!.push(one);
      await stage.stop();
    }
  }
  await Promise.all([...loads, receiver].map((one) => one.stop()));
  return writeReport(measured);
};

interface StageOrder {
  postgres: string;
  valkey: string;
  count: number;
  receiver: Process;
}

const openStage = async (
  program: string,
  { postgres, valkey, count, receiver }: StageOrder,
): Promise<Stage> => {
  const name = `wadi_bench_${crypto.randomUUID().slice(0, 8)}`;
  const admin = new SQL({ url: postgres, max: 1 });
  await admin.unsafe(`CREATE DATABASE ${name}`);
  const url = new URL(postgres);
  url.pathname = `/${name}`;
  const fixture = await makeRunFixture(program, {
    ...{ concurrent_runs: CALLERS, database: url.href, valkey },
    more_limits: "waiting_deliveries = 10000000",
    more: '[egress]\nallow = ["127.0.0.1:*"]',
  });
  const servers: RunServer[] = [];
  while (servers.length < count) servers.push(await serveRuns(fixture));
  const agent = await addAgent(servers[0]!, "stub");
  const hook = { url: `http://127.0.0.1:${receiver.port}/live`, events: ["run.completed"] };
  await servers[0]!.ask("POST", "/v1/webhooks", hook);
  const looker = new SQL({ url: url.href, max: 1 });
  return {
    servers,
    agent,
    isOver: async () =>
      (await looker.unsafe("SELECT 1 FROM run_counts WHERE active > 0")).length === 0,
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
      await looker.close();
      await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.close();
    },
  };
};

const measureRound = async (
  { servers, agent, isOver }: Stage,
  loads: readonly Load[],
  receiver: Process,
): Promise<Round> => {
  const callers = CALLERS / servers.length;
  const readCpu = () => servers.reduce((sum, { pid }) => sum + readCpuMs(pid), 0);
  const chat = (warm_ms: number, measure_ms: number) =>
    Promise.all(
      servers.map(({ port, key, pid }, at) =>
        loads[at]!.run({
          ...{ port, key, status: 201, callers, ask: CHAT, stream: null },
          ...{ warm_ms, measure_ms, pids: { server: pid } },
        }),
      ),
    );
  await chat(700, 100);
  const beforeChats = readShared();
  const chats = await chat(0, 2_000);
  const afterChats = readShared();
  const complaint = chats.find((one) => one.complaint)?.complaint;
  if (complaint) throw new Error(complaint);
  const replies = chats.reduce((sum, one) => sum + one.replies, 0);
  const chatCpu = chats.reduce((sum, one) => sum + one.cpu_ms.server!, 0);

  await fetch(`http://127.0.0.1:${receiver.port}/arrivals`);
  const before = { at: performance.now(), cpu: readCpu(), shared: readShared() };
  const seconds = () => (performance.now() - before.at) / 1_000;
  const order = { message: THREE_ROUNDS, runs: RUNS / servers.length, callers };
  await Promise.all(servers.map((server) => startRuns(server, agent, order)));
  await waitUntil("all runs are over", isOver);
  const runs_per_second = RUNS / seconds();
  const count = async () =>
    Number(await (await fetch(`http://127.0.0.1:${receiver.port}/count`)).json());
  await waitUntil("all deliveries have arrived", async () => (await count()) >= RUNS);
  const afterRuns = readShared();
  return {
    chats_per_second: replies / Math.max(...chats.map((one) => one.seconds)),
    cpu_us_per_chat: (chatCpu / replies) * 1_000,
    postgres_us_per_chat: ((afterChats.postgres - beforeChats.postgres) / replies) * 1_000,
    valkey_us_per_chat: ((afterChats.valkey - beforeChats.valkey) / replies) * 1_000,
    runs_per_second,
    // With its delivery.
    cpu_ms_per_run: (readCpu() - before.cpu) / RUNS,
    postgres_ms_per_run: (afterRuns.postgres - before.shared.postgres) / RUNS,
    valkey_ms_per_run: (afterRuns.valkey - before.shared.valkey) / RUNS,
    deliveries_per_second: RUNS / seconds(),
  };
};

/** Processor time of the servers that the processes share. */
const readShared = () => ({
  postgres: readProgramMs("postgres"),
  valkey: readProgramMs("valkey-server") + readProgramMs("redis-server"),
});

const writeReport = (measured: Map<number, Round[]>): Report => {
  const cell = (all: readonly Round[], read: (one: Round) => number) =>
    writeSpread(spreadOf(all.map(read)));
  const own: Table = {
    title: `${CALLERS} callers of one account on all processes together`,
    columns: ["processes", "chats/s", "CPU µs/chat", "runs/s", "CPU ms/run", "deliveries/s"],
    rows: [...measured].map(([count, all]) => [
      String(count),
      cell(all, (one) => one.chats_per_second),
      cell(all, (one) => one.cpu_us_per_chat),
      cell(all, (one) => one.runs_per_second),
      cell(all, (one) => one.cpu_ms_per_run),
      cell(all, (one) => one.deliveries_per_second),
    ]),
  };
  const shared: Table = {
    title: "CPU of the servers that they share",
    columns: [
      "processes",
      "PostgreSQL µs/chat",
      "Valkey µs/chat",
      "PostgreSQL ms/run",
      "Valkey ms/run",
    ],
    rows: [...measured].map(([count, all]) => [
      String(count),
      cell(all, (one) => one.postgres_us_per_chat),
      cell(all, (one) => one.valkey_us_per_chat),
      cell(all, (one) => one.postgres_ms_per_run),
      cell(all, (one) => one.valkey_ms_per_run),
    ]),
  };
  return {
    tables: [own, shared],
    figures: [],
    notes: [
      "PostgreSQL, Valkey, callers and receiver share this machine's cores with the processes.",
      "A run has three rounds, two calls and one delivery; its CPU is that of all processes.",
    ],
    data: Object.fromEntries(measured),
  };
};
