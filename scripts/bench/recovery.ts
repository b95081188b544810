// From the exec after `kill -9` to the moment at which every interrupted run has an owner again.
import { type Report, spreadOf, writeSpread } from "./measure.ts";
import {
  addAgent,
  ENDLESS,
  look,
  makeRunFixture,
  serveRuns,
  startRuns,
  waitUntil,
} from "./run-fixture.ts";
import { buildWadi } from "./stage.ts";

const RUNS = 1_000;
const GOAL_MS = 500;
const POLL_MS = 2;
const PATIENCE_MS = 60_000;

export const benchRecovery = async (
  rounds: number,
  [programPath]: readonly string[],
): Promise<Report> => {
  const program = programPath ?? (await buildWadi());
  const ready_ms: number[] = [];
  const owned_ms: number[] = [];
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`recovery: ${RUNS} runs, round ${round + 1}\n`);
    const one = await recover(program);
    ready_ms.push(one.ready_ms);
    owned_ms.push(one.owned_ms);
  }
  const owned = spreadOf(owned_ms);
  return {
    tables: [
      {
        title: `${RUNS} runs under way, server killed and started, ms from exec`,
        columns: ["", "server answers", "all runs have an owner"],
        rows: [["wadi", writeSpread(spreadOf(ready_ms)), writeSpread(owned)]],
      },
    ],
    figures: [
      {
        ...{ what: `${RUNS} runs taken up after kill -9`, spread: owned, unit: "ms" },
        ...{ goal: `≤ ${GOAL_MS}`, isMet: owned.median <= GOAL_MS },
      },
    ],
    notes: ["Each run is in a model call that does not end; its owner is the epoch in its row."],
    data: { ready_ms, owned_ms },
  };
};

const recover = async (program: string): Promise<{ ready_ms: number; owned_ms: number }> => {
  const fixture = await makeRunFixture(program, { concurrent_runs: RUNS });
  const countOwned = (epoch: number) =>
    look<{ n: number }>(
      fixture,
      `SELECT COUNT(*) AS n FROM runs WHERE status = 'running' AND epoch > ${epoch}`,
    )[0]!.n;
  const first = await serveRuns(fixture);
  const agent = await addAgent(first, "stub");
  await startRuns(first, agent, { message: ENDLESS, runs: RUNS, callers: 64 });
  await waitUntil("all runs are under way", () => countOwned(0) === RUNS);
  const [dead] = look<{ epoch: number }>(fixture, "SELECT MAX(epoch) AS epoch FROM runs");
  await first.kill();
  const started_at = performance.now();
  const second = await serveRuns(fixture);
  const ready_ms = performance.now() - started_at;
  const isDone = () => countOwned(dead!.epoch) === RUNS;
  await waitUntil("all runs have an owner", isDone, PATIENCE_MS, POLL_MS);
  const owned_ms = performance.now() - started_at;
  await second.kill();
  return { ready_ms, owned_ms };
};
