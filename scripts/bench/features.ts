// Chat with what an operator switches on: budgets, traces and metrics over OTLP, each beside none.
import { type Candidate, playScene, type Scene, writeTable } from "./chat.ts";
import { type Figure, type Report, spreadOf } from "./measure.ts";
import { buildBare, makeScratch, prepareWadi, startBare, startLoad, startMock } from "./stage.ts";

const SCENES: readonly Scene[] = [
  { name: "JSON", callers: 1, stream: null },
  { name: "JSON", callers: 32, stream: null },
  { name: "100 chunks at once", callers: 32, stream: { chunks: 100, pace_ms: 0 } },
];

/** Budgets that are checked and settled for each request, and never reached. */
const LIMITS = ["--requests-minute", "100M", "--tokens-day", "1000G", "--tokens-month", "1000G"];

export const benchFeatures = async (
  rounds: number,
  [program]: readonly string[],
): Promise<Report> => {
  const mock = await startMock();
  const bare = await startBare(await buildBare(makeScratch()), mock);
  const collector = Bun.serve({ port: 0, fetch: () => Response.json({}) });
  const otlp = `\n[telemetry]\notlp = "http://127.0.0.1:${collector.port}"\n`;
  const variants = {
    plain: {},
    budgets: { limits: LIMITS },
    otlp: { more: otlp },
    both: { limits: LIMITS, more: otlp },
  };
  const wadis: Candidate[] = [];
  for (const [name, furniture] of Object.entries(variants)) {
    const { port, pid, key } = await (await prepareWadi(program!, mock, furniture))();
    wadis.push({ name, port, pid, key, status: 201 });
  }
  const candidates: Candidate[] = [
    { name: "bare", port: bare.port, pid: bare.pid, key: "none", status: 200 },
    ...wadis,
  ];
  const load = startLoad();
  const outcomes = [];
  for (const scene of SCENES) {
    process.stderr.write(`features: ${scene.name}, ${scene.callers} callers\n`);
    outcomes.push(await playScene(scene, candidates, rounds, load, mock));
  }
  await Promise.all([load, bare, mock].map((one) => one.stop()));
  for (const { pid } of wadis) process.kill(pid!, "SIGTERM");
  collector.stop(true);
  const figures: Figure[] = outcomes.flatMap(({ scene, rounds: played }) =>
    Object.keys(variants).map((name) => ({
      what: `${scene.name}, ${scene.callers} callers, ${name}: p50`,
      spread: spreadOf((played[name] ?? []).map(({ whole_ms }) => whole_ms.p50)),
      unit: "ms",
      goal: "shown",
      isMet: true,
    })),
  );
  const tables = outcomes.map((outcome) => writeTable(outcome, candidates));
  const notes = [
    "The row of the request log is written by all of them.",
    ...complaintsOf(outcomes),
  ];
  return { tables, figures, notes, data: outcomes };
};

const complaintsOf = (outcomes: readonly { complaints: string[] }[]): string[] =>
  outcomes.flatMap(({ complaints }) => complaints);
