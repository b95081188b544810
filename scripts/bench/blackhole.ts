// Measures callers of a healthy model beside callers of a model whose server is slow or never
// answers.
import type { Measured, Order } from "./load.ts";
import { type Figure, type Report, spreadOf, type Table, writeSpread } from "./measure.ts";
import { buildWadi, type Load, startLoad, startMock, startWadi, type Wadi } from "./stage.ts";

const WARM_MS = 800;
const MEASURE_MS = 3_000;
/**
 * Number of callers of the other model, the time each waits for an answer, and its pause before a
 * retry.
 */
const CROWD = 200;
const ANSWER_MS = 1_000;
const PAUSE_MS = 1_000;
/** Reserved for documentation: packets to it are dropped, or on some machines refused at once. */
const UNROUTED = "192.0.2.1:8000";
const RATIO_MAX = 1.1;

const SCENES: readonly Pick<Order, "callers" | "stream">[] = [
  { callers: 8, stream: null },
  { callers: 50, stream: { chunks: 20, pace_ms: 20 } },
];

/**
 * Models that the other callers use. `slow` answers when requests to the others time out, so that
 * their load is the same.
 */
const NEIGHBOURS = ["slow", "silent", "unrouted"] as const;
type Neighbour = (typeof NEIGHBOURS)[number];
const CONDITIONS = ["alone", ...NEIGHBOURS] as const;
type Condition = (typeof CONDITIONS)[number];

/** Without health checks, which would soon exclude the dead ones. */
const writeModel = (id: Neighbour, address: string) => `
[[models]]
id = "${id}"
self_hosted = true

[models.upstream]
kind = "openai"
urls = ["http://${address}/v1"]
connect_timeout = "${ANSWER_MS}ms"
first_token_timeout = "${id === "slow" ? 10 * ANSWER_MS : ANSWER_MS}ms"
health_every = "0s"
`;

const startSlow = () =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch() {
      await Bun.sleep(ANSWER_MS);
      const message = { role: "assistant", content: "Hello" };
      return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }] });
    },
  });

/** Accepts every connection and request, and never answers. */
const startHole = () =>
  Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });

interface Crowd {
  /** Ended requests, counted by outcome. */
  outcomeCounts: Record<string, number>;
  stop(): Promise<void>;
}

const startCrowd = ({ port, key }: Wadi, model: Neighbour): Crowd => {
  const leaving = new AbortController();
  const outcomeCounts: Record<string, number> = {};
  const play = async (at: number) => {
    // Callers start at different times.
    await Bun.sleep((at / CROWD) * PAUSE_MS);
    while (!leaving.signal.aborted) {
      try {
        const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
          signal: leaving.signal,
        });
        const { error } = (await reply.json()) as { error?: { code: string } };
        const outcome = error?.code ?? "answered";
        outcomeCounts[outcome] = (outcomeCounts[outcome] ?? 0) + 1;
        await Bun.sleep(PAUSE_MS);
      } catch {
        // The caller left or its connection broke: it retries.
      }
    }
  };
  const playing = Array.from({ length: CROWD }, (_, at) => play(at));
  return {
    outcomeCounts,
    async stop() {
      leaving.abort();
      await Promise.all(playing);
    },
  };
};

interface Outcome {
  scene: (typeof SCENES)[number];
  rounds: Record<Condition, Measured[]>;
}

export const benchBlackhole = async (
  rounds: number,
  [program]: readonly string[],
): Promise<Report> => {
  const mock = await startMock();
  const hole = startHole();
  const slow = startSlow();
  const models = [
    writeModel("slow", `127.0.0.1:${slow.port}`),
    writeModel("silent", `127.0.0.1:${hole.port}`),
    writeModel("unrouted", UNROUTED),
  ];
  const wadi = await startWadi(program ?? (await buildWadi()), mock, models.join(""));
  const load = startLoad();
  const outcomeCounts: Record<string, Record<string, number>> = {};
  const outcomes: Outcome[] = [];
  for (const scene of SCENES) {
    process.stderr.write(`blackhole: ${nameScene(scene)}\n`);
    const outcome: Outcome = { scene, rounds: { alone: [], slow: [], silent: [], unrouted: [] } };
    // One round more than counts: the first makes the code hot.
    for (let round = -1; round < rounds; round++) {
      for (const neighbour of CONDITIONS) {
        const crowd = neighbour === "alone" ? null : startCrowd(wadi, neighbour);
        const measured = await runScene(scene, wadi, load);
        await crowd?.stop();
        if (round >= 0) outcome.rounds[neighbour].push(measured);
        if (crowd)
          outcomeCounts[neighbour] = addUp(outcomeCounts[neighbour] ?? {}, crowd.outcomeCounts);
      }
    }
    outcomes.push(outcome);
  }
  await Promise.all([load, wadi, mock].map((one) => one.stop()));
  hole.stop(true);
  await slow.stop(true);
  return writeReport(outcomes, outcomeCounts);
};

const runScene = (scene: Outcome["scene"], { port, key, pid }: Wadi, load: Load) =>
  load.run({
    ...scene,
    port,
    key,
    status: 201,
    warm_ms: WARM_MS,
    measure_ms: MEASURE_MS,
    pids: { candidate: pid },
  });

const addUp = (sums: Record<string, number>, more: Record<string, number>) => {
  for (const [name, count] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
};

const nameScene = ({ callers, stream }: Outcome["scene"]): string =>
  stream
    ? `${callers} streams of ${stream.chunks} chunks, ${stream.pace_ms} ms apart`
    : `JSON, ${callers} callers`;

/** Time to the first chunk of a stream, or to the complete reply. */
const readFelt = ({ scene }: Outcome, measured: Measured) =>
  scene.stream ? measured.firstMs : measured.whole_ms;

/** Each round against the same round beside a slow server; a void one is left out. */
const compare = (outcome: Outcome, neighbour: Condition, p: "p50" | "p99") =>
  spreadOf(
    outcome.rounds[neighbour].map((measured, at) => {
      const slow = outcome.rounds.slow[at]!;
      if (measured.complaint || slow.complaint) return Number.NaN;
      return readFelt(outcome, measured)[p] / readFelt(outcome, slow)[p];
    }),
  );

const writeReport = (
  outcomes: Outcome[],
  outcomeCounts: Record<string, Record<string, number>>,
): Report => ({
  tables: outcomes.map(writeTable),
  figures: outcomes.flatMap((outcome) =>
    NEIGHBOURS.slice(1).map((neighbour): Figure => {
      const spread = compare(outcome, neighbour, "p99");
      return {
        what: `p99 beside a ${neighbour} server, ${nameScene(outcome.scene)}`,
        spread,
        unit: "of slow",
        goal: `≤ ${RATIO_MAX}`,
        isMet: spread.median <= RATIO_MAX,
      };
    }),
  ),
  notes: [
    `${CROWD} callers ask the other model all the while, each about every two seconds; ratios are taken within each round.`,
    ...Object.entries(outcomeCounts).map(
      ([neighbour, counts]) => `outcomes of the ${neighbour} model: ${JSON.stringify(counts)}`,
    ),
    ...outcomes.flatMap(({ scene, rounds }) =>
      Object.entries(rounds).flatMap(([neighbour, all]) =>
        all
          .filter(({ complaint }) => complaint)
          .map(({ complaint }) => `VOID ${nameScene(scene)}, ${neighbour}: ${complaint}`),
      ),
    ),
  ],
  data: { outcomes, outcomeCounts },
});

const writeTable = (outcome: Outcome): Table => ({
  title: nameScene(outcome.scene),
  columns: ["", "p50 ms", "p99 ms", "p50, slow = 1", "p99, slow = 1", "replies/s"],
  rows: CONDITIONS.map((neighbour) => {
    const cell = (read: (measured: Measured) => number) =>
      writeSpread(spreadOf(outcome.rounds[neighbour].map(read)));
    return [
      neighbour,
      cell((measured) => readFelt(outcome, measured).p50),
      cell((measured) => readFelt(outcome, measured).p99),
      writeSpread(compare(outcome, neighbour, "p50")),
      writeSpread(compare(outcome, neighbour, "p99")),
      cell(({ replies, seconds }) => replies / seconds),
    ];
  }),
});
