// Webhooks: deliveries per second to one live receiver, and the delay of live ones beside dead
// ones.
import { Database as Connection } from "bun:sqlite";
import {
  type Figure,
  type Report,
  readCpuMs,
  spreadOf,
  takeQuantile,
  writeSpread,
} from "./measure.ts";
import {
  addAgent,
  look,
  makeRunFixture,
  type RunFixture,
  type RunServer,
  serveRuns,
  startRun,
  waitUntil,
} from "./run-fixture.ts";
import { buildWadi, findFreePort, type Process, startReceiver } from "./stage.ts";
import type { Arrivals } from "./webhook-receiver.ts";

const EVENTS = 10_000;
/** Before the rate is taken: the endpoint gets a place more with each of its first events. */
const WARM = 1_000;
const ENDPOINTS = 100;
const PACED_EVENTS = 100;
const PACED_EVERY_MS = 200;
/** Half of them are of these kinds, in turn. */
const DEAD = ["hang", "fail", "refuse"] as const;

interface Rate {
  a_second: number;
  cpu_ms: number;
  repeated: number;
}
interface Outcome {
  rates: Rate[];
  late_ms: number[];
}

export const benchWebhooks = async (
  rounds: number,
  [given]: readonly string[],
): Promise<Report> => {
  const program = given ?? (await buildWadi());
  const receiver = await startReceiver();
  const outcome: Outcome = {
    rates: await measureRates(program, rounds, receiver),
    late_ms: await measureDelays(program, receiver),
  };
  await receiver.stop();
  return writeReport(outcome);
};

const openFixture = (program: string): Promise<RunFixture> =>
  makeRunFixture(program, {
    concurrent_runs: 64,
    more_limits: "endpoints = 1000\nwaiting_deliveries = 10000000",
    more: '[egress]\nallow = ["127.0.0.1:*"]',
  });

const addEndpoint = async (server: RunServer, url: string): Promise<void> => {
  const reply = await server.ask("POST", "/v1/webhooks", { url, events: ["run.completed"] });
  if (reply.status !== 201) throw new Error(`${reply.status} ${await reply.text()}`);
};

const ask = async <T>({ port }: Process, path: string): Promise<T> =>
  (await fetch(`http://127.0.0.1:${port}/${path}`)).json() as Promise<T>;

/** Events that wait when the server starts: they are given, sent and settled as fast as it can. */
const measureRates = async (
  program: string,
  rounds: number,
  receiver: Process,
): Promise<Rate[]> => {
  const fixture = await openFixture(program);
  let server = await serveRuns(fixture);
  await addEndpoint(server, `http://127.0.0.1:${receiver.port}/live`);
  const rates: Rate[] = [];
  for (let round = -1; round < rounds; round++) {
    process.stderr.write(`webhooks: ${EVENTS} events to one receiver, round ${round + 1}\n`);
    await server.stop();
    await ask(receiver, "arrivals");
    fillEvents(fixture);
    server = await serveRuns(fixture);
    const isDone = async () => (await ask<number>(receiver, "count")) >= EVENTS;
    await waitUntil("all events have come", isDone, 120_000, 100);
    await waitUntil("all are settled", () => countOpen(fixture) === 0);
    const { came_at, repeated } = await ask<Arrivals>(receiver, "arrivals");
    const seconds = (came_at.at(-1)! - came_at[WARM]!) / 1_000;
    const a_second = (came_at.length - WARM) / seconds;
    const cpu_ms = readCpuMs(server.pid) / came_at.length;
    if (round >= 0) rates.push({ a_second, cpu_ms, repeated });
  }
  await server.stop();
  return rates;
};

const countOpen = (fixture: RunFixture): number =>
  look<{ n: number }>(
    fixture,
    "SELECT COUNT(*) AS n FROM deliveries WHERE status <> 'delivered'",
  )[0]!.n;

/** The length of an event of a run with a short result. */
const DATA = JSON.stringify({ run: { id: "x".repeat(36), output: { message: "y".repeat(800) } } });

const fillEvents = ({ file }: RunFixture): void => {
  using connection = new Connection(file);
  const { id: account_id } = connection.query("SELECT id FROM accounts").get() as { id: string };
  const insert = connection.query(
    `INSERT INTO outbox (id, account_id, type, created_at, data, is_pending)
     VALUES (?, ?, 'run.completed', ?, ?, 1)`,
  );
  const now = Date.now();
  connection.transaction(() => {
    for (let n = 0; n < EVENTS; n++) insert.run(Bun.randomUUIDv7(), account_id, now, DATA);
  })();
};

/** From the end of a run to its arrival at each living endpoint, while the others fail or hang. */
const measureDelays = async (program: string, receiver: Process): Promise<number[]> => {
  process.stderr.write(`webhooks: ${ENDPOINTS} endpoints, half of them dead or slow\n`);
  const server = await serveRuns(await openFixture(program));
  const closed = await findFreePort();
  for (let n = 0; n < ENDPOINTS; n++) {
    const kind = n % 2 === 0 ? "live" : DEAD[((n - 1) / 2) % DEAD.length]!;
    const port = kind === "refuse" ? closed : receiver.port;
    await addEndpoint(server, `http://127.0.0.1:${port}/${kind}/${n}`);
  }
  const agent = await addAgent(server, "stub");
  await ask(receiver, "arrivals");
  for (let n = 0; n < PACED_EVENTS; n++) {
    await startRun(server, agent, "!say Done.");
    await Bun.sleep(PACED_EVERY_MS);
  }
  const expected = (PACED_EVENTS * ENDPOINTS) / 2;
  const isDone = async () => (await ask<number>(receiver, "count")) >= expected;
  await waitUntil("all living have all events", isDone, 60_000, 100);
  const { late_ms, repeated } = await ask<Arrivals>(receiver, "arrivals");
  if (repeated > 0) throw new Error(`${repeated} events came more than once`);
  await server.kill();
  return late_ms;
};

const writeReport = (outcome: Outcome): Report => {
  const { rates } = outcome;
  const late_ms = Float64Array.from(outcome.late_ms).sort();
  const [p50, p99] = [takeQuantile(late_ms, 0.5), takeQuantile(late_ms, 0.99)];
  const rate = spreadOf(rates.map(({ a_second }) => a_second));
  const late = spreadOf([p99]);
  const figures: Figure[] = [
    {
      ...{ what: "deliveries to one receiver", spread: rate, unit: "a second", goal: "≥ 1,000" },
      isMet: rate.median >= 1_000,
    },
    {
      ...{ what: "first attempts at living endpoints, p99", spread: late, unit: "ms" },
      ...{ goal: "≤ 2,000", isMet: p99 <= 2_000 },
    },
  ];
  return {
    tables: [
      {
        title: `${EVENTS.toLocaleString("en")} events to one live receiver on loopback`,
        columns: ["deliveries/s", "CPU ms/delivery", "came twice"],
        rows: [
          [
            writeSpread(rate),
            writeSpread(spreadOf(rates.map(({ cpu_ms }) => cpu_ms))),
            writeSpread(spreadOf(rates.map(({ repeated }) => repeated))),
          ],
        ],
      },
      {
        title: `${ENDPOINTS} endpoints, half of them dead or slow: the living ones' first attempts`,
        columns: ["deliveries", "p50 ms", "p99 ms", "max ms"],
        rows: [[late_ms.length, p50, p99, late_ms.at(-1)!].map((value) => value.toFixed(0))],
      },
    ],
    figures,
    notes: [
      "The receiver is a process of its own on the same cores; each delivery has its own connection.",
      "The rate is taken behind the first thousand; CPU is the server's, its start included.",
      `Dead or slow: in turn silent for 15 s, answering 500, and refusing the connection; ${PACED_EVENTS} events, ${1_000 / PACED_EVERY_MS} a second, from the first on.`,
    ],
    data: outcome,
  };
};
