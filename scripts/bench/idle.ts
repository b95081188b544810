// Memory of streams that are open and silent: through a bare pass-through and through Wadi, in turn.
import { readFileSync } from "node:fs";
import type { Order } from "./load.ts";
import {
  type Figure,
  type Report,
  readRssMb,
  type Spread,
  spreadOf,
  writeSpread,
} from "./measure.ts";
import {
  buildBare,
  type Mock,
  makeScratch,
  type Process,
  startBare,
  startLoad,
  startMock,
  startWadi,
} from "./stage.ts";

const STREAMS = [2_000, 10_000];
const KB_MAX = 20;
/** A stream has two sockets in a gateway; the program itself needs some files, too. */
const FILES_OF_ITS_OWN = 200;
/** The first piece comes, and then nothing for longer than any round lasts. */
const SILENT = { chunks: 2, pace_ms: 3_600_000 };
/** Makes the code hot and the pools as large as they are in use. */
const WARMING = { callers: 200, stream: { chunks: 20, pace_ms: 1 } };
const SETTLE_MS = 2_000;
const SAMPLES = 5;

interface Candidate {
  name: string;
  status: number;
  start(): Promise<Process & { key?: string }>;
}

export const benchIdle = async (rounds: number, programs: readonly string[]): Promise<Report> => {
  const mock = await startMock();
  const bare = await buildBare(makeScratch());
  const candidates: Candidate[] = [
    { name: "bare", status: 200, start: () => startBare(bare, mock) },
    ...programs.map((program, at) => ({
      name: at === 0 ? "wadi" : `wadi ${at + 1}`,
      status: 201,
      start: () => startWadi(program, mock),
    })),
  ];
  const results: { name: string; streams: number; kb: Spread; whole_mb: Spread }[] = [];
  for (const wanted of STREAMS) {
    const streams = Math.min(wanted, Math.floor((readFilesMax() - FILES_OF_ITS_OWN) / 2));
    const measured = new Map<string, { kb: number; whole_mb: number }[]>();
    for (let round = 0; round < rounds; round++) {
      for (const candidate of candidates) {
        process.stderr.write(`idle: ${streams} streams through ${candidate.name}\n`);
        const one = await hold(candidate, streams, mock);
        measured.set(candidate.name, [...(measured.get(candidate.name) ?? []), one]);
      }
    }
    for (const [name, all] of measured) {
      const kb = spreadOf(all.map((one) => one.kb));
      results.push({ name, streams, kb, whole_mb: spreadOf(all.map((one) => one.whole_mb)) });
    }
  }
  await mock.stop();
  return {
    tables: [
      {
        title: "open, silent streams",
        columns: ["", "streams", "KB each", "MB in all"],
        rows: results.map(({ name, streams, kb, whole_mb }) => [
          name,
          String(streams),
          writeSpread(kb),
          writeSpread(whole_mb),
        ]),
      },
    ],
    figures: results.filter(({ name }) => name === "wadi").map(judge),
    notes: ["KB each: memory with the streams less memory of the warm process before, over them."],
    data: results,
  };
};

const judge = ({ streams, kb }: { streams: number; kb: Spread }): Figure => ({
  what: `memory of an open, silent stream, of ${streams}`,
  spread: kb,
  unit: "KB",
  goal: `≤ ${KB_MAX}`,
  isMet: kb.median <= KB_MAX,
});

/** Opens the streams on a fresh process and looks at its memory before and while they are open. */
const hold = async (candidate: Candidate, streams: number, mock: Mock) => {
  const { port, pid, key = "none", stop } = await candidate.start();
  const load = startLoad();
  const order: Omit<Order, "callers" | "stream"> = {
    port,
    key,
    status: candidate.status,
    warm_ms: 2 * streams,
    measure_ms: 2_000,
    pids: {},
  };
  const { complaint } = await load.run({ ...order, ...WARMING, warm_ms: 500 });
  if (complaint) throw new Error(complaint);
  const before_mb = await readSettledMb(pid);
  // Nobody waits for it: its callers end with the process that plays them.
  load.run({ ...order, callers: streams, stream: SILENT }).catch(() => undefined);
  while ((await mock.stats()).streams_open < streams) await Bun.sleep(50);
  const whole_mb = await readSettledMb(pid);
  await load.stop();
  await stop();
  while ((await mock.stats()).streams_open > 0) await Bun.sleep(50);
  return { kb: ((whole_mb - before_mb) * 1000) / streams, whole_mb };
};

const readSettledMb = async (pid: number): Promise<number> => {
  await Bun.sleep(SETTLE_MS);
  const samples: number[] = [];
  for (let at = 0; at < SAMPLES; at++) {
    samples.push(readRssMb(pid));
    await Bun.sleep(200);
  }
  return spreadOf(samples).median;
};

/** How many files a process may open here. */
const readFilesMax = (): number => {
  const limits = readFileSync("/proc/self/limits", "latin1");
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 1_024);
};
