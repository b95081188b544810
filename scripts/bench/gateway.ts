// Measures the gateway beside plain chats: embeddings, deep thinking and search.
import type { Ask, Measured } from "./load.ts";
import { makeMarkdown } from "./markdown-folder.ts";
import {
  type Figure,
  type Report,
  readRssMb,
  type Spread,
  spreadOf,
  type Table,
  writeSpread,
} from "./measure.ts";
import {
  buildWadi,
  type Load,
  type Mock,
  makeScratch,
  prepareWadi,
  startLoad,
  startMock,
  type Wadi,
} from "./stage.ts";

const WARM_MS = 800;
const MEASURE_MS = 2_000;
/** Wait after the first search before the memory is read. */
const IDLE_MS = 300;
const FILES = 10_000;
const QUERIES = 200;
const TEXTS = 64;
const TEXT_CHARACTERS = 500;
/** The stub's texts repeat: no more are needed. */
const ATTEMPTS = 3;
/** To compare them may take a tenth of them. */
const THINK_RATIO_MAX = ATTEMPTS * 1.1;

const SCOPES = ["embeddings", "search", "think"];
/** The limits are not what is measured. */
const OPEN = "requests_per_minute = 1000000\nmax_concurrent = 1000\nmax_queued = 1000";

const STUB_MODEL = `
[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools", "streaming"]

[models.upstream]
kind = "stub"
`;
const writeServices = (embeddings: string, folder: string) => `
[embeddings]
${embeddings}
${OPEN}

[search]
kind = "stub"
folder = ${JSON.stringify(folder)}
${OPEN}
`;

interface Candidate {
  name: string;
  port: number;
  key: string;
  status: number;
  ask: Ask;
  /** Process of a gateway; absent for the mock itself. */
  pid?: number;
}

interface Scene {
  name: string;
  callers: number;
  /** The first is what the others are compared with. */
  candidates: readonly Candidate[];
}

/** For each candidate its rounds, of which one with a complaint is void. */
interface Outcome {
  scene: Scene;
  rounds: Record<string, Measured[]>;
}

/** One start of the program with its index, or without. */
interface Started {
  ready_ms: number;
  rss_mb: number;
}

type Starts = Record<"own pages" | "folder", Started[]>;

export const benchGateway = async (
  rounds: number,
  [program]: readonly string[],
): Promise<Report> => {
  const wadi = program ?? (await buildWadi());
  const folder = makeScratch();
  const queries = makeMarkdown(folder, FILES, QUERIES);
  const mock = await startMock();
  const upstream = `kind = "openai"\nurls = ["http://127.0.0.1:${mock.port}/v1"]`;
  const startFull = await prepareWadi(wadi, mock, {
    more: STUB_MODEL + writeServices(upstream, folder),
    scopes: SCOPES,
  });
  const startOwn = await prepareWadi(wadi, mock, {
    more: STUB_MODEL + writeServices('kind = "stub"', ""),
    scopes: SCOPES,
  });
  const starts: Starts = { "own pages": [], folder: [] };
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`gateway: start ${round + 1} with ${FILES} files\n`);
    starts["own pages"].push(await startOnce(startOwn, "streaming"));
    starts.folder.push(await startOnce(startFull, queries[0]!));
  }
  const [full, own] = [await startFull(), await startOwn()];
  // The index is ready before anything else is measured.
  await search(full, queries[0]!);
  const load = startLoad();
  const scenes = [
    ...listEmbeddings(mock, full, own),
    ...listThinking(own),
    ...listSearches(own, full, queries),
  ];
  const outcomes: Outcome[] = [];
  for (const scene of scenes) outcomes.push(await playScene(scene, rounds, load));
  await Promise.all([load, full, own, mock].map((one) => one.stop()));
  return writeReport(outcomes, starts);
};

/** From exec to the answer of a search that waits for the index. */
const startOnce = async (start: () => Promise<Wadi>, query: string): Promise<Started> => {
  const started_at = performance.now();
  const wadi = await start();
  await search(wadi, query);
  const ready_ms = performance.now() - started_at;
  await Bun.sleep(IDLE_MS);
  const rss_mb = readRssMb(wadi.pid);
  await wadi.stop();
  return { ready_ms, rss_mb };
};

const search = async ({ port, key }: Wadi, query: string): Promise<void> => {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ query }),
  });
  const text = await reply.text();
  if (reply.status !== 200 || !text.includes('"url":')) {
    throw new Error(`a search was answered with ${reply.status} ${text.slice(0, 200)}`);
  }
};

const writeText = (at: number): string =>
  `${at} dates grow on palms beside the water of an oasis, and `
    .repeat(20)
    .slice(0, TEXT_CHARACTERS);

const listEmbeddings = (mock: Mock, full: Wadi, own: Wadi): Scene[] => {
  const input = Array.from({ length: TEXTS }, (_, at) => writeText(at));
  return ["float", "base64"].flatMap((encoding_format) =>
    [1, 8].map((callers): Scene => {
      const ask: Ask = {
        path: "/v1/embeddings",
        bodies: [JSON.stringify({ model: "bge-m3", input, encoding_format })],
        piece: '"embedding":',
        pieces_min: TEXTS,
      };
      return {
        name: `${TEXTS} × ${TEXT_CHARACTERS} characters as ${encoding_format}`,
        callers,
        candidates: [
          { name: "direct", port: mock.port, key: "none", status: 200, ask },
          { ...full, name: "wadi", status: 200, ask },
          { ...own, name: "stub", status: 200, ask },
        ],
      };
    }),
  );
};

const listThinking = (wadi: Wadi): Scene[] => {
  const writeAsk = (think: boolean): Ask => {
    // Long enough that no account reaches a million requests a minute.
    const content = Array.from({ length: 8 }, (_, at) => writeText(at)).join("\n");
    const messages = [{ role: "user", content }];
    return {
      path: "/v1/chat/completions",
      bodies: [JSON.stringify({ model: "stub", messages, ...(think && { think }) })],
      piece: '"content":"',
      pieces_min: 1,
    };
  };
  return [1, 32].map((callers) => ({
    name: `chat on the stub, ${ATTEMPTS} attempts`,
    callers,
    candidates: [
      { ...wadi, name: "plain", status: 201, ask: writeAsk(false) },
      { ...wadi, name: "think", status: 201, ask: writeAsk(true) },
    ],
  }));
};

const listSearches = (own: Wadi, full: Wadi, queries: readonly string[]): Scene[] => {
  const writeAsk = (all: readonly string[]): Ask => ({
    path: "/v1/search",
    bodies: all.map((query) => JSON.stringify({ query, max_results: 5 })),
    piece: '"url":',
    pieces_min: 1,
  });
  const about = ["stream a reply", "embeddings of texts", "rate limit", "retry an error", "models"];
  return [1, 8].map((callers) => ({
    name: "search",
    callers,
    candidates: [
      { ...own, name: "own pages", status: 200, ask: writeAsk(about) },
      { ...full, name: "folder", status: 200, ask: writeAsk(queries) },
    ],
  }));
};

const nameScene = ({ name, callers }: Scene): string =>
  `${name}, ${callers} caller${callers === 1 ? "" : "s"}`;

const playScene = async (scene: Scene, rounds: number, load: Load): Promise<Outcome> => {
  process.stderr.write(`gateway: ${nameScene(scene)}\n`);
  const outcome: Outcome = { scene, rounds: {} };
  // One round more than counts: the first makes each candidate's code hot for this scene.
  for (let round = -1; round < rounds; round++) {
    for (const { name, port, key, status, ask, pid } of scene.candidates) {
      const measured = await load.run({
        ...{ port, key, status, ask, stream: null, callers: scene.callers },
        warm_ms: WARM_MS,
        measure_ms: MEASURE_MS,
        pids: pid === undefined ? {} : { candidate: pid },
      });
      if (round >= 0) outcome.rounds[name] = [...(outcome.rounds[name] ?? []), measured];
    }
  }
  return outcome;
};

type Read = (measured: Measured) => number;

const readCost: Read = ({ cpu_ms, replies }) => cpu_ms.candidate! / replies;
const readP50: Read = ({ whole_ms }) => whole_ms.p50;
const readP99: Read = ({ whole_ms }) => whole_ms.p99;

/** The value of `read` in each round of a candidate; void rounds are left out. */
const spread = ({ rounds }: Outcome, name: string, read: Read): Spread =>
  spreadOf((rounds[name] ?? []).map((one) => (one.complaint ? Number.NaN : read(one))));

/** Each round's value joined with the first candidate's in the same round. */
const compare = (
  { scene, rounds }: Outcome,
  name: string,
  read: Read,
  join: (mine: number, first: number) => number,
): Spread =>
  spreadOf(
    (rounds[name] ?? []).map((mine, at) => {
      const first = rounds[scene.candidates[0]!.name]?.[at];
      if (!first || first.complaint || mine.complaint) return Number.NaN;
      return join(read(mine), read(first));
    }),
  );

const add = (mine: number, first: number) => mine - first;
const ratio = (mine: number, first: number) => mine / first;

const writeTable = (outcome: Outcome): Table => ({
  title: nameScene(outcome.scene),
  columns: ["", "p50 ms", "p99 ms", "added p50", "added p99", "replies/s", "CPU ms/request"],
  rows: outcome.scene.candidates.map(({ name, pid }, at) => [
    name,
    writeSpread(spread(outcome, name, readP50)),
    writeSpread(spread(outcome, name, readP99)),
    at === 0 ? "-" : writeSpread(compare(outcome, name, readP50, add)),
    at === 0 ? "-" : writeSpread(compare(outcome, name, readP99, add)),
    writeSpread(spread(outcome, name, ({ replies, seconds }) => replies / seconds)),
    pid === undefined ? "-" : writeSpread(spread(outcome, name, readCost)),
  ]),
});

const writeStarts = (starts: Starts): Table => ({
  title: `start with ${FILES.toLocaleString("en")} Markdown files`,
  columns: ["", "exec to the first search, ms", "RSS, MB"],
  rows: Object.entries(starts).map(([name, all]) => [
    name,
    writeSpread(spreadOf(all.map(({ ready_ms }) => ready_ms))),
    writeSpread(spreadOf(all.map(({ rss_mb }) => rss_mb))),
  ]),
});

const listFigures = (outcomes: readonly Outcome[], starts: Starts): Figure[] => {
  const figures: Figure[] = [];
  const compareToGoal = (what: string, unit: string, spread: Spread, goal: number) =>
    figures.push({
      what,
      spread,
      unit,
      goal: `≤ ${Number(goal.toPrecision(3))}`,
      isMet: spread.median <= goal,
    });
  for (const outcome of outcomes) {
    const { scene } = outcome;
    const has = (name: string) => scene.candidates.some((candidate) => candidate.name === name);
    if (has("wadi") && scene.callers === 1) {
      const added = compare(outcome, "wadi", readP50, add);
      compareToGoal(`added latency, ${nameScene(scene)}, p50`, "ms", added, 10);
    }
    if (has("think")) {
      const cost = compare(outcome, "think", readCost, ratio);
      compareToGoal(`CPU of think, ${nameScene(scene)}`, "of plain", cost, THINK_RATIO_MAX);
      const felt = compare(outcome, "think", readP50, ratio);
      compareToGoal(`p50 of think, ${nameScene(scene)}`, "of plain", felt, THINK_RATIO_MAX);
    }
    if (has("folder") && scene.callers === 1) {
      compareToGoal(`${nameScene(scene)}, p99`, "ms", spread(outcome, "folder", readP99), 20);
    }
  }
  const ready = spreadOf(starts.folder.map(({ ready_ms }) => ready_ms));
  compareToGoal("exec to a ready index", "ms", ready, 5_000);
  const grown = starts.folder.map(({ rss_mb }, at) => rss_mb - starts["own pages"][at]!.rss_mb);
  compareToGoal("memory of the index", "MB", spreadOf(grown), 200);
  return figures;
};

const writeReport = (outcomes: Outcome[], starts: Starts): Report => ({
  tables: [writeStarts(starts), ...outcomes.map(writeTable)],
  figures: listFigures(outcomes, starts),
  notes: [
    "All processes (load, mock upstream, candidate) share this machine's cores; CPU is the candidate's own.",
    "Median of the rounds (smallest–largest); what is added is taken within each round.",
    "These goals are this bench's own: design/quality.md names none.",
    ...outcomes.flatMap(({ scene, rounds }) =>
      Object.entries(rounds).flatMap(([name, all]) =>
        all
          .filter(({ complaint }) => complaint)
          .map(({ complaint }) => `VOID ${nameScene(scene)}, ${name}: ${complaint}`),
      ),
    ),
  ],
  data: { outcomes, starts },
});
