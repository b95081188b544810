// Runs on PostgreSQL beside the same on SQLite, with what they cost the database server.
import { SQL } from "bun";
import {
  type Report,
  readCpuMs,
  readProgramMs,
  spreadOf,
  type Table,
  writeSpread,
} from "./measure.ts";
import { startPostgresProxy } from "./postgres-proxy.ts";
import {
  addAgent,
  look,
  makeRunFixture,
  type RunServer,
  serveRuns,
  startRuns,
  THREE_ROUNDS,
  waitUntil,
} from "./run-fixture.ts";
import { buildWadi } from "./stage.ts";

const CALLERS = 64;
const RUNS = 1_000;
/** Runs whose round trips are counted, by so many callers. */
const COUNTED = [
  { runs: 300, callers: CALLERS },
  { runs: 30, callers: 1 },
];
const SHARE_MIN = 0.25;
const ROLLBACKS_MAX = 0.05;
const TRIPS_MAX = 12;

interface Round {
  runs_per_second: number;
  cpu_ms_per_run: number;
  /** Of all processes of PostgreSQL. */
  server_ms_per_run: number;
  rollbacks_per_run: number;
}

interface Place {
  server: RunServer;
  agent: string;
  isOver(): Promise<boolean>;
  /** Transactions rolled back so far. */
  countRollbacks(): Promise<number>;
  stop(): Promise<void>;
}

export const benchPostgres = async (
  rounds: number,
  [programPath]: readonly string[],
): Promise<Report> => {
  const postgres = process.env.WADI_TEST_POSTGRES;
  if (!postgres) {
    const notes = ["WADI_TEST_POSTGRES names no server: nothing is measured."];
    return { tables: [], figures: [], notes, data: null };
  }
  const program = programPath ?? (await buildWadi());
  const places = {
    SQLite: await openSqlite(program),
    PostgreSQL: await openPostgres(program, postgres),
  };
  const measured: Record<string, Round[]> = { SQLite: [], PostgreSQL: [] };
  for (let round = -1; round < rounds; round++) {
    for (const [name, place] of Object.entries(places)) {
      process.stderr.write(`postgres: whole runs on ${name}, round ${round + 1}\n`);
      const one = await measureRound(place);
      if (round >= 0) measured[name]!.push(one);
    }
  }
  await Promise.all(Object.values(places).map((place) => place.stop()));
  const trips = await countTrips(program, postgres);
  return writeReport(measured, trips);
};

const openSqlite = async (program: string): Promise<Place> => {
  const fixture = await makeRunFixture(program, { concurrent_runs: CALLERS });
  const server = await serveRuns(fixture);
  return {
    server,
    agent: await addAgent(server, "stub"),
    isOver: async () =>
      look(fixture, "SELECT account_id FROM run_counts WHERE active > 0").length === 0,
    countRollbacks: async () => 0,
    stop: () => server.stop(),
  };
};

/** A database of its own, reached at `address` by the server that is measured. */
const openPostgres = async (
  program: string,
  postgres: string,
  address = (url: URL) => url,
): Promise<Place> => {
  const name = `wadi_bench_${crypto.randomUUID().slice(0, 8)}`;
  const admin = new SQL({ url: postgres, max: 1 });
  await admin.unsafe(`CREATE DATABASE ${name}`);
  const url = new URL(postgres);
  url.pathname = `/${name}`;
  const looker = new SQL({ url: url.href, max: 1 });
  const database = address(new URL(url)).href;
  const fixture = await makeRunFixture(program, { concurrent_runs: CALLERS, database });
  const server = await serveRuns(fixture);
  return {
    server,
    agent: await addAgent(server, "stub"),
    isOver: async () =>
      (await looker.unsafe("SELECT 1 FROM run_counts WHERE active > 0")).length === 0,
    async countRollbacks() {
      const text = `SELECT xact_rollback FROM pg_stat_database WHERE datname = '${name}'`;
      return Number((await admin.unsafe(text))[0].xact_rollback);
    },
    async stop() {
      await server.stop();
      await looker.close();
      await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.close();
    },
  };
};

const runAll = async ({ server, agent, isOver }: Place, runs: number, callers: number) => {
  await startRuns(server, agent, { message: THREE_ROUNDS, runs, callers });
  await waitUntil("all runs are over", isOver);
};

const measureRound = async (place: Place): Promise<Round> => {
  const { pid } = place.server;
  const before = {
    cpu: readCpuMs(pid),
    server: readServerMs(),
    rollbacks: await place.countRollbacks(),
  };
  const started_at = performance.now();
  await runAll(place, RUNS, CALLERS);
  const seconds = (performance.now() - started_at) / 1_000;
  return {
    runs_per_second: RUNS / seconds,
    cpu_ms_per_run: (readCpuMs(pid) - before.cpu) / RUNS,
    server_ms_per_run: (readServerMs() - before.server) / RUNS,
    rollbacks_per_run: ((await place.countRollbacks()) - before.rollbacks) / RUNS,
  };
};

const readServerMs = () => readProgramMs("postgres");

type Trips = { runs: number; callers: number; trips_per_run: number };

const countTrips = async (program: string, postgres: string): Promise<Trips[]> => {
  const { hostname, port } = new URL(postgres);
  const proxy = startPostgresProxy(hostname, Number(port || 5_432));
  const place = await openPostgres(program, postgres, (url) => {
    url.hostname = "127.0.0.1";
    url.port = String(proxy.port);
    return url;
  });
  const counted: Trips[] = [];
  for (const { runs, callers } of COUNTED) {
    await runAll(place, callers, callers);
    const before = proxy.countTrips();
    await runAll(place, runs, callers);
    counted.push({ runs, callers, trips_per_run: (proxy.countTrips() - before) / runs });
  }
  await place.stop();
  proxy.stop();
  return counted;
};

const writeReport = (measured: Record<string, Round[]>, trips: readonly Trips[]): Report => {
  const { SQLite: own = [], PostgreSQL: other = [] } = measured;
  const table: Table = {
    title: `whole runs: three rounds, two calls, ${CALLERS} callers of one account`,
    columns: ["", "runs/s", "CPU ms/run", "CPU ms/run of the server", "rollbacks/run"],
    rows: Object.entries(measured).map(([name, all]) => [
      name,
      writeSpread(spreadOf(all.map((one) => one.runs_per_second))),
      writeSpread(spreadOf(all.map((one) => one.cpu_ms_per_run))),
      writeSpread(spreadOf(all.map((one) => one.server_ms_per_run))),
      writeSpread(spreadOf(all.map((one) => one.rollbacks_per_run))),
    ]),
  };
  const share = spreadOf(other.map((one, at) => one.runs_per_second / own[at]!.runs_per_second));
  const rollbacks = spreadOf(other.map((one) => one.rollbacks_per_run));
  return {
    tables: [table],
    figures: [
      {
        ...{ what: "whole runs on PostgreSQL", spread: share, unit: "of SQLite" },
        ...{ goal: `≥ ${SHARE_MIN}`, isMet: share.median >= SHARE_MIN },
      },
      {
        ...{ what: "rollbacks of a run", spread: rollbacks, unit: "" },
        ...{ goal: `≤ ${ROLLBACKS_MAX}`, isMet: rollbacks.median <= ROLLBACKS_MAX },
      },
      ...trips.map(({ callers, trips_per_run }) => ({
        ...{ what: `round trips of a run, ${callers} callers`, spread: spreadOf([trips_per_run]) },
        ...{ unit: "", goal: `≤ ${TRIPS_MAX}`, isMet: trips_per_run <= TRIPS_MAX },
      })),
    ],
    notes: [
      "A refused start ends the bench. A round trip is a reply of the server to what was sent; " +
        "those that write request rows, which many runs share, are not counted.",
    ],
    data: { measured, trips },
  };
};
