// Chat through the gateway: straight to the mock upstream, through a bare pass-through, through Wadi, in turn.
import type { Measured, Order } from "./load.ts";
import {
  type Figure,
  type Report,
  type Spread,
  spreadOf,
  type Table,
  writeSpread,
} from "./measure.ts";
import {
  buildBare,
  type Load,
  type Mock,
  makeScratch,
  startBare,
  startLoad,
  startMock,
  startWadi,
} from "./stage.ts";

const WARM_MS = 800;
const MEASURE_MS = 2_000;

export interface Scene {
  name: string;
  callers: number;
  stream: Order["stream"];
}

/**
 * At full speed it measures the work per stream; paced, every chunk arrives alone, as from a real
 * model.
 */
const SCENES: readonly Scene[] = [
  ...[1, 32, 256].map((callers) => ({ name: "JSON", callers, stream: null })),
  ...[1, 32, 256].map((callers) => ({
    name: "100 chunks at once",
    callers,
    stream: { chunks: 100, pace_ms: 0 },
  })),
  { name: "50 chunks, 10 ms apart", callers: 200, stream: { chunks: 50, pace_ms: 10 } },
  { name: "20 chunks, 50 ms apart", callers: 1_000, stream: { chunks: 20, pace_ms: 50 } },
];

export interface Candidate {
  name: string;
  port: number;
  key: string;
  status: number;
  /** Process of a gateway; absent for the mock itself. */
  pid?: number;
}

/** Rounds of each candidate in a scene; a round with a complaint is void. */
export interface Outcome {
  scene: Scene;
  rounds: Record<string, Measured[]>;
  /** Connections that the upstream saw being made, by candidate, over all rounds. */
  connections: Record<string, number>;
  complaints: string[];
}

export const benchChat = async (rounds: number, programs: readonly string[]): Promise<Report> => {
  const mock = await startMock();
  const bare = await startBare(await buildBare(makeScratch()), mock);
  const wadis = await Promise.all(programs.map((program) => startWadi(program, mock)));
  const candidates: Candidate[] = [
    { name: "direct", port: mock.port, key: "none", status: 200 },
    { name: "bare", port: bare.port, pid: bare.pid, key: "none", status: 200 },
    ...wadis.map(({ port, pid, key }, at) => ({
      name: at === 0 ? "wadi" : `wadi ${at + 1}`,
      port,
      pid,
      key,
      status: 201,
    })),
  ];
  const load = startLoad();
  const outcomes: Outcome[] = [];
  for (const scene of SCENES) {
    process.stderr.write(`chat: ${scene.name}, ${scene.callers} callers\n`);
    outcomes.push(await playScene(scene, candidates, rounds, load, mock));
  }
  await Promise.all([load, ...wadis, bare, mock].map((one) => one.stop()));
  return writeReport(outcomes, candidates);
};

export const playScene = async (
  scene: Scene,
  candidates: readonly Candidate[],
  rounds: number,
  load: Load,
  mock: Mock,
): Promise<Outcome> => {
  const outcome: Outcome = { scene, rounds: {}, connections: {}, complaints: [] };
  // One round more than counts: the first makes each candidate's code hot for this scene.
  for (let round = -1; round < rounds; round++) {
    for (const { name, pid, ...target } of candidates) {
      const before = await mock.stats();
      const measured = await load.run({
        ...target,
        callers: scene.callers,
        stream: scene.stream,
        warm_ms: WARM_MS,
        measure_ms: MEASURE_MS,
        pids: { mock: mock.pid, ...(pid !== undefined && { candidate: pid }) },
      });
      if (measured.complaint) outcome.complaints.push(`${name}: ${measured.complaint}`);
      if (round < 0) continue;
      outcome.rounds[name] = [...(outcome.rounds[name] ?? []), measured];
      const made = (await mock.stats()).connections_made - before.connections_made - 1;
      outcome.connections[name] = (outcome.connections[name] ?? 0) + made;
    }
  }
  return outcome;
};

/** The value of `read` in each round of a candidate. */
const spread = (
  { rounds }: Outcome,
  name: string,
  read: (measured: Measured, at: number) => number,
): Spread =>
  spreadOf((rounds[name] ?? []).map((one, at) => (one.complaint ? Number.NaN : read(one, at))));

/** Milliseconds of the candidate's own on a core for one reply, or one piece. */
const costOf = (measured: Measured, of: "replies" | "pieces"): number =>
  measured.cpu_ms.candidate! / measured[of];

/** Each round's value against another candidate's in the same round. */
const compare = (
  outcome: Outcome,
  name: string,
  other: string,
  join: (mine: Measured, theirs: Measured) => number,
): Spread =>
  spread(outcome, name, (mine, at) => {
    const theirs = outcome.rounds[other]?.[at];
    return theirs && !theirs.complaint ? join(mine, theirs) : Number.NaN;
  });

const writeReport = (outcomes: Outcome[], candidates: readonly Candidate[]): Report => ({
  tables: outcomes.map((outcome) => writeTable(outcome, candidates)),
  figures: listFigures(outcomes),
  notes: [
    "All processes (load, mock upstream, candidate) share this machine's cores; requests per core follow from the candidate's own processor time.",
    "Median of the rounds (smallest–largest); ratios and differences are taken within each round.",
    ...outcomes.flatMap(({ scene, complaints }) =>
      complaints.map((complaint) => `VOID ${scene.name}, ${scene.callers} callers: ${complaint}`),
    ),
  ],
  data: outcomes,
});

export const writeTable = (outcome: Outcome, candidates: readonly Candidate[]): Table => {
  const { scene, connections } = outcome;
  const rows = candidates.map(({ name, pid }) => {
    const cell = (read: (measured: Measured, at: number) => number) =>
      writeSpread(spread(outcome, name, read));
    const cost = (of: "replies" | "pieces") =>
      pid === undefined ? "-" : cell((measured) => costOf(measured, of) * 1000);
    const ratio = (mine: Measured, theirs: Measured) =>
      costOf(theirs, "replies") / costOf(mine, "replies");
    const replies = (outcome.rounds[name] ?? []).reduce((sum, one) => sum + one.replies, 0);
    return [
      name,
      cell(({ whole_ms }) => whole_ms.p50),
      cell(({ whole_ms }) => whole_ms.p99),
      ...(scene.stream ? [cell(({ firstMs }) => firstMs.p50)] : []),
      ...(scene.stream ? [cell(({ firstMs }) => firstMs.p99)] : []),
      cell(({ replies, seconds }) => replies / seconds),
      cost("replies"),
      ...(scene.stream ? [cost("pieces")] : []),
      pid === undefined ? "-" : writeSpread(compare(outcome, name, "bare", ratio)),
      ((1000 * (connections[name] ?? 0)) / replies).toFixed(1),
    ];
  });
  const stream = scene.stream !== null;
  return {
    title: `${scene.name}, ${scene.callers} callers`,
    columns: [
      "",
      "p50 ms",
      "p99 ms",
      ...(stream ? ["first p50", "first p99"] : []),
      stream ? "streams/s" : "requests/s",
      stream ? "CPU µs/stream" : "CPU µs/request",
      ...(stream ? ["CPU µs/chunk"] : []),
      "per core, bare = 1",
      "connects/1000",
    ],
    rows,
  };
};

const listFigures = (outcomes: Outcome[]): Figure[] => {
  const figures: Figure[] = [];
  const find = (callers: number, isStream: boolean) =>
    outcomes.find(({ scene }) => scene.callers === callers && (scene.stream !== null) === isStream);
  const add = (what: string, unit: string, spread: Spread, bound: "≤" | "≥", goal: number) => {
    const isMet = bound === "≤" ? spread.median <= goal : spread.median >= goal;
    figures.push({ what, spread, unit, goal: `${bound} ${goal}`, isMet });
  };
  const single = find(1, false);
  if (single) {
    for (const [p, goal] of [
      ["p50", 0.2],
      ["p99", 1],
    ] as const) {
      const added = compare(single, "wadi", "direct", (a, b) => a.whole_ms[p] - b.whole_ms[p]);
      add(`added latency, JSON, 1 caller, ${p}`, "ms", added, "≤", goal);
    }
  }
  for (const outcome of outcomes) {
    const { stream, name, callers } = outcome.scene;
    if (callers === 1) continue;
    const of = stream ? "pieces" : "replies";
    const ratio = compare(outcome, "wadi", "bare", (a, b) => costOf(b, of) / costOf(a, of));
    const what = `${stream ? "chunks" : "requests"} per core, ${name}, ${callers} callers`;
    add(what, "of bare", ratio, "≥", stream ? 0.8 : 0.85);
  }
  const paced = find(200, true);
  if (paced) {
    const added = compare(paced, "wadi", "direct", (a, b) => a.firstMs.p99 - b.firstMs.p99);
    add("added time to first token, 200 streams, p99", "ms", added, "≤", 1);
  }
  return figures;
};
