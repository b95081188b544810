// What callers feel while a hundred thousand old runs are deleted beside their requests.
import { Database as Connection } from "bun:sqlite";
import type { Ask, Measured } from "./load.ts";
import { type Report, spreadOf, writeSpread } from "./measure.ts";
import { fillRuns } from "./run-filler.ts";
import {
  holdOnlySlot,
  look,
  makeRunFixture,
  type RunFixture,
  type RunServer,
  serveRuns,
  writeStart,
} from "./run-fixture.ts";
import { buildWadi, startLoad } from "./stage.ts";

const RUNS = 100_000;
/** Each has its ten steps. */
const STEPS_EVERY = 1;
const CALLERS = 4;
const RATIO_MAX = 2;
const ROUND = { callers: CALLERS, warm_ms: 200, measure_ms: 1_000, stream: null };
const DAY_MS = 86_400_000;

type Beside = Record<string, { during: Measured[]; after: Measured[] }>;

export const benchSweep = async (
  rounds: number,
  [programPath]: readonly string[],
): Promise<Report> => {
  const program = programPath ?? (await buildWadi());
  const fixture = await makeRunFixture(program, {
    ...{ concurrent_runs: 1, more: '[retention]\nruns = "1d"' },
  });
  process.stderr.write(`sweep: filling a database with ${RUNS.toLocaleString("en")} runs\n`);
  const [account] = look<{ id: string }>(fixture, "SELECT id FROM accounts");
  fillRuns({
    ...{ file: fixture.file, account_id: account!.id, runs: RUNS, steps_every: STEPS_EVERY },
  });
  makeOverdue(fixture);
  const started_at = performance.now();
  const server = await serveRuns(fixture);
  const load = startLoad();
  const beside: Beside = {};
  const asks = await listAsks(server);
  const measure = async (when: "during" | "after") => {
    for (const [name, { status, ...ask }] of Object.entries(asks)) {
      const { port, key, pid } = server;
      const order = { ...ROUND, port, key, status, ask, pids: { candidate: pid } };
      beside[name] ??= { during: [], after: [] };
      beside[name][when].push(await load.run(order));
    }
  };
  while (countRuns(fixture) > RUNS / 100) await measure("during");
  const swept_s = (performance.now() - started_at) / 1_000;
  for (let round = 0; round < rounds; round++) await measure("after");
  await Promise.all([load.stop(), server.kill()]);
  return writeReport(beside, swept_s);
};

/** A sweep starts with the server when the last one was long ago. */
const makeOverdue = ({ file }: RunFixture): void => {
  using connection = new Connection(file);
  const [swept_at, now] = [Date.now() - 2 * DAY_MS, Date.now()];
  connection.run(
    "INSERT OR REPLACE INTO sweeps (number, swept_at, witnessed_at) VALUES (1, ?, ?)",
    [...[swept_at, now]],
  );
};

const countRuns = (fixture: RunFixture): number =>
  look<{ n: number }>(fixture, "SELECT COUNT(*) AS n FROM runs WHERE finished_at > 0")[0]!.n;

const listAsks = async (server: RunServer): Promise<Record<string, Ask & { status: number }>> => {
  const { agent, run_id } = await holdOnlySlot(server);
  return {
    "one run": {
      ...{ method: "GET", path: `/v1/runs/${run_id}`, bodies: [""], piece: '"recoveries":' },
      ...{ pieces_min: 1, status: 200 },
    },
    start: { ...writeStart(`/v1/agents/${agent}/runs`), status: 202 },
  };
};

const writeReport = (beside: Beside, swept_s: number): Report => {
  const read = (all: readonly Measured[], share: "p50" | "p99") =>
    spreadOf(all.map((one) => (one.complaint ? Number.NaN : one.whole_ms[share])));
  const entries = Object.entries(beside);
  return {
    tables: [
      {
        title: `beside the deletion of ${RUNS.toLocaleString("en")} runs, ${CALLERS} callers`,
        columns: ["", "p50 ms", "p50 ms after", "p99 ms", "p99 ms after"],
        rows: entries.map(([name, { during, after }]) => [
          name,
          ...(["p50", "p99"] as const).flatMap((share) =>
            [during, after].map((all) => writeSpread(read(all, share))),
          ),
        ]),
      },
    ],
    figures: entries.map(([what, { during, after }]) => {
      const ratio = read(during, "p99").median / read(after, "p99").median;
      return {
        ...{ what: `${what}, p99 beside a sweep`, spread: spreadOf([ratio]), unit: "of after" },
        ...{ goal: `≤ ${RATIO_MAX}`, isMet: ratio <= RATIO_MAX },
      };
    }),
    notes: [`The sweep took ${swept_s.toFixed(0)} s beside these requests.`],
    data: { beside, swept_s },
  };
};
