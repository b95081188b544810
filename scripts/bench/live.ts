// Live text: followed runs beside chat streams of the same pace, at one server and at another one,
// and runs that nobody follows.
import type { Socket } from "bun";
import { SQL } from "bun";
import {
  type Figure,
  type Report,
  readCpuMs,
  spreadOf,
  type Table,
  writeSpread,
} from "./measure.ts";
import { writeInstruction } from "./mock-upstream.ts";
import {
  addAgent,
  addKey,
  makeRunFixture,
  type RunFixture,
  type RunServer,
  runMany,
  serveRuns,
  startRun,
  waitUntil,
} from "./run-fixture.ts";
import { buildWadi, type Process, runWadi, startMock } from "./stage.ts";

const FOLLOWED = 200;
const A_KEY = 20;
/** 50 tokens a second, for longer than a measurement with its start. */
const PACE_MS = 20;
const CHUNKS = 600;
const MEASURE_MS = 5_000;
const UNFOLLOWED = 1_000;
const RATIO_MAX = 1.5;
const SAME_MAX = 1.05;

const writeModel = (port: number): string => `
[[models]]
id = "http"
self_hosted = true
capabilities = ["tools", "streaming"]
[models.upstream]
kind = "openai"
urls = ["http://127.0.0.1:${port}/v1"]
`;
const MESSAGE = `Say something. ${writeInstruction(CHUNKS, PACE_MS)}`;

/** Connections that count a word in what they are sent. */
class Streams {
  count = 0;
  readonly #sockets: Socket[] = [];
  readonly #word: string;

  constructor(word: string) {
    this.#word = word;
  }

  async open(port: number, request: string): Promise<void> {
    let tail = "";
    const socket = await Bun.connect({
      ...{ hostname: "127.0.0.1", port },
      socket: {
        data: (_, bytes) => {
          const parts = (tail + bytes.toString("latin1")).split(this.#word);
          this.count += parts.length - 1;
          tail = parts.at(-1)!.slice(1 - this.#word.length);
        },
      },
    });
    socket.write(request);
    this.#sockets.push(socket);
  }

  close(): void {
    for (const socket of this.#sockets) socket.end();
  }
}

const writeHead = (line: string, key: string): string =>
  `${line} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n`;

interface Cost {
  cpu_us_per_chunk: number;
  chunks_per_second: number;
}

/** Processor time of servers for the chunks that streams receive in the middle of their replies. */
const measureStreams = async (streams: Streams, pids: readonly number[]): Promise<Cost> => {
  await waitUntil("every stream has text", () => streams.count > 20 * FOLLOWED);
  const readCpu = () => pids.reduce((sum, pid) => sum + readCpuMs(pid), 0);
  const [chunks, cpu_ms, at] = [streams.count, readCpu(), performance.now()];
  await Bun.sleep(MEASURE_MS);
  const received = streams.count - chunks;
  const seconds = (performance.now() - at) / 1_000;
  const spent_ms = readCpu() - cpu_ms;
  return { cpu_us_per_chunk: (spent_ms * 1_000) / received, chunks_per_second: received / seconds };
};

const isOver = (mock: Mock) => async () => (await mock.stats()).streams_open === 0;
type Mock = Awaited<ReturnType<typeof startMock>>;

const measureChats = async (server: RunServer, mock: Mock): Promise<Cost> => {
  const streams = new Streams('"content":"');
  const body = JSON.stringify({
    ...{ model: "http", stream: true, messages: [{ role: "user", content: MESSAGE }] },
  });
  const head = writeHead("POST /v1/chat/completions", server.key);
  const rest = `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  for (let n = 0; n < FOLLOWED; n++) await streams.open(server.port, head + rest);
  const cost = await measureStreams(streams, [server.pid]);
  streams.close();
  await waitUntil("all chats are over", isOver(mock));
  return cost;
};

interface Following {
  executing: RunServer;
  /** Server at which the runs are followed. */
  at: RunServer;
  keys: readonly string[];
  agent: string;
  mock: Mock;
}

const measureFollowed = async ({ executing, at, keys, agent, mock }: Following): Promise<Cost> => {
  const streams = new Streams('"type":"message.delta"');
  for (let n = 0; n < FOLLOWED; n++) {
    const id = await startRun(executing, agent, MESSAGE);
    const head = writeHead(`GET /v1/runs/${id}/events?deltas=true`, keys[n % keys.length]!);
    await streams.open(at.port, `${head}\r\n`);
  }
  const pids = new Set([executing.pid, at.pid]);
  const cost = await measureStreams(streams, [...pids]);
  await waitUntil("all runs are over", isOver(mock));
  streams.close();
  return cost;
};

/** Milliseconds on a core for a run that nobody follows. */
const measureUnfollowed = async (
  fixture: RunFixture,
  server: RunServer,
  agent: string,
): Promise<number> => {
  const cpu_ms = readCpuMs(server.pid);
  const order = { message: "Say something.", runs: UNFOLLOWED, callers: 16 };
  await runMany(fixture, server, agent, order);
  return (readCpuMs(server.pid) - cpu_ms) / UNFOLLOWED;
};

const makeFixture = async (program: string, mock: Process, shared: object = {}) => {
  const fixture = await makeRunFixture(program, {
    ...{ concurrent_runs: FOLLOWED + 64, more: writeModel(mock.port), ...shared },
  });
  const keys: string[] = [];
  while (keys.length < FOLLOWED / A_KEY) keys.push(await addKey(fixture));
  return { fixture, keys };
};

interface Outcome {
  chats: Cost[];
  followed: Cost[];
  elsewhere: Cost[];
  /** By build. */
  unfollowed: number[][];
}

export const benchLive = async (rounds: number, programs: readonly string[]): Promise<Report> => {
  const builds = programs.length > 0 ? programs : [await buildWadi()];
  const mock = await startMock();
  const { fixture, keys } = await makeFixture(builds[0]!, mock);
  const server = await serveRuns(fixture);
  const agent = await addAgent(server, "http");
  const outcome: Outcome = { chats: [], followed: [], elsewhere: [], unfollowed: [] };
  const following = { executing: server, at: server, keys, agent, mock };
  for (let round = -1; round < rounds; round++) {
    process.stderr.write(`live: chats and followed runs, round ${round + 1}\n`);
    const chats = await measureChats(server, mock);
    const followed = await measureFollowed(following);
    if (round < 0) continue;
    outcome.chats.push(chats);
    outcome.followed.push(followed);
  }
  await server.stop();
  outcome.unfollowed = await compareUnfollowed(builds, mock, rounds);
  outcome.elsewhere = await measureElsewhere(builds[0]!, mock, rounds);
  await mock.stop();
  return writeReport(outcome);
};

/** Each build executes the same runs in turn. */
const compareUnfollowed = async (builds: readonly string[], mock: Mock, rounds: number) => {
  const stages = await Promise.all(
    builds.map(async (program) => {
      const { fixture } = await makeFixture(program, mock);
      const server = await serveRuns(fixture);
      return { fixture, server, agent: await addAgent(server, "http"), costs: [] as number[] };
    }),
  );
  for (let round = -1; round < rounds; round++) {
    process.stderr.write(`live: runs that nobody follows, round ${round + 1}\n`);
    for (const { fixture, server, agent, costs } of stages) {
      const cost = await measureUnfollowed(fixture, server, agent);
      if (round >= 0) costs.push(cost);
    }
  }
  for (const { server } of stages) await server.stop();
  return stages.map(({ costs }) => costs);
};

const measureElsewhere = async (program: string, mock: Mock, rounds: number): Promise<Cost[]> => {
  const { WADI_TEST_POSTGRES: postgres, WADI_TEST_VALKEY: valkey } = process.env;
  if (!postgres || !valkey) return [];
  const name = `wadi_bench_${crypto.randomUUID().slice(0, 8)}`;
  await using admin = new SQL({ url: postgres, max: 1 });
  await admin.unsafe(`CREATE DATABASE ${name}`);
  const url = new URL(postgres);
  url.pathname = `/${name}`;
  const { fixture, keys } = await makeFixture(program, mock, { database: url.href, valkey });
  const [executing, at] = [await serveRuns(fixture), await serveRuns(fixture)];
  // The one at which the runs are followed executes none.
  await runWadi([program, "processes", "drain", "2", ...fixture.at]);
  const agent = await addAgent(executing, "http");
  const costs: Cost[] = [];
  for (let round = -1; round < rounds; round++) {
    process.stderr.write(`live: runs followed at another server, round ${round + 1}\n`);
    const cost = await measureFollowed({ executing, at, keys, agent, mock });
    if (round >= 0) costs.push(cost);
  }
  await Promise.all([executing.stop(), at.stop()]);
  await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  return costs;
};

const writeReport = (outcome: Outcome): Report => {
  const { chats, followed, elsewhere, unfollowed } = outcome;
  const ratios = followed.map((one, at) => one.cpu_us_per_chunk / chats[at]!.cpu_us_per_chunk);
  const [now, before] = unfollowed;
  const changes = before ? now!.map((cost, at) => cost / before[at]!) : [];
  const bounded = (what: string, values: number[], max: number): Figure => {
    const spread = spreadOf(values);
    return { what, spread, unit: "×", goal: `≤ ${max}`, isMet: spread.median <= max };
  };
  const row = (name: string, costs: Cost[]) => [
    name,
    writeSpread(spreadOf(costs.map((one) => one.cpu_us_per_chunk))),
    writeSpread(spreadOf(costs.map((one) => one.chunks_per_second))),
  ];
  const table: Table = {
    title: `${FOLLOWED} streams of 50 tokens/s`,
    columns: ["", "CPU µs/chunk", "chunks/s"],
    rows: [
      row("chats", chats),
      row("followed runs", followed),
      ...(elsewhere.length > 0 ? [row("followed at another server, both", elsewhere)] : []),
    ],
  };
  const whole: Table = {
    title: "runs that nobody follows",
    columns: ["", "CPU ms/run"],
    rows: unfollowed.map((costs, at) => [`build ${at + 1}`, writeSpread(spreadOf(costs))]),
  };
  return {
    tables: [table, whole],
    figures: [
      bounded("followed runs: CPU per chunk, of a chat's", ratios, RATIO_MAX),
      ...(before
        ? [bounded("unfollowed runs: CPU, of the second build's", changes, SAME_MAX)]
        : []),
    ],
    notes: [
      "Chats and followed runs take turns at one server; ratios are taken within each round.",
      ...(elsewhere.length > 0
        ? ["Pieces that come together at another server are one frame there, and one chunk here."]
        : ["Another server needs WADI_TEST_POSTGRES and WADI_TEST_VALKEY."]),
    ],
    data: outcome,
  };
};
