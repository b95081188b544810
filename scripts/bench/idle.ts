// Memory of streams that are open and silent: through a bare pass-through and through Wadi, in turn.
import { readFileSync } from "node:fs";
import type { Order } from "./load.ts";
import { type Figure, type Report, readRssMb, spreadOf, writeSpread } from "./measure.ts";
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

/** Number of streams beyond which the process has paid its fixed costs. */
const FEW = 2_000;
const MANY = 10_000;
const KB_MAX = 20;
/** A stream has two sockets in a gateway; the program itself needs some files, too. */
const FILES_OF_ITS_OWN = 200;
/** The first chunk arrives, then nothing for longer than a round. */
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
  const many = Math.min(MANY, Math.floor((readFilesMax() - FILES_OF_ITS_OWN) / 2));
  const measured = new Map<string, Held[]>();
  for (let round = 0; round < rounds; round++) {
    for (const candidate of candidates) {
      process.stderr.write(`idle: ${many} streams through ${candidate.name}\n`);
      const one = await hold(candidate, many, mock);
      measured.set(candidate.name, [...(measured.get(candidate.name) ?? []), one]);
    }
  }
  const results = [...measured].map(([name, all]) => ({
    name,
    kb: spreadOf(all.map((one) => one.kb)),
    few_mb: spreadOf(all.map((one) => one.few_mb)),
    many_mb: spreadOf(all.map((one) => one.many_mb)),
  }));
  await mock.stop();
  return {
    tables: [
      {
        title: "open, silent streams",
        columns: ["", "KB each", `MB with ${FEW}`, `MB with ${many}`],
        rows: results.map(({ name, kb, few_mb, many_mb }) => [
          name,
          ...[kb, few_mb, many_mb].map(writeSpread),
        ]),
      },
    ],
    figures: results
      .filter(({ name }) => name === "wadi")
      .map(
        ({ kb }): Figure => ({
          what: "memory of an open, silent stream",
          spread: kb,
          unit: "KB",
          goal: `≤ ${KB_MAX}`,
          isMet: kb.median <= KB_MAX,
        }),
      ),
    notes: [`KB each: what the streams beyond ${FEW} added to one process, over their number.`],
    data: results,
  };
};

interface Held {
  kb: number;
  few_mb: number;
  many_mb: number;
}

/** Opens a few streams on a fresh process, and then many, and looks at its memory each time. */
const hold = async (candidate: Candidate, many: number, mock: Mock): Promise<Held> => {
  const { port, pid, key = "none", stop } = await candidate.start();
  const order: Omit<Order, "callers" | "stream" | "warm_ms"> = {
    port,
    key,
    status: candidate.status,
    measure_ms: 2_000,
    pids: {},
  };
  const warming = startLoad();
  const { complaint } = await warming.run({ ...order, ...WARMING, warm_ms: 500 });
  if (complaint) throw new Error(complaint);
  await warming.stop();
  const loads: ReturnType<typeof startLoad>[] = [];
  const openUntil = async (streams: number) => {
    const callers = streams - (await mock.stats()).streams_open;
    const load = startLoad();
    loads.push(load);
    // Not awaited: its callers end with their process.
    load.run({ ...order, callers, stream: SILENT, warm_ms: 2 * callers }).catch(() => undefined);
    while ((await mock.stats()).streams_open < streams) await Bun.sleep(50);
    return readSettledMb(pid);
  };
  const few_mb = await openUntil(FEW);
  const many_mb = await openUntil(many);
  for (const load of loads) await load.stop();
  await stop();
  while ((await mock.stats()).streams_open > 0) await Bun.sleep(50);
  return { kb: ((many_mb - few_mb) * 1000) / (many - FEW), few_mb, many_mb };
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
