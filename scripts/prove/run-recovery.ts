// Kills a server with a thousand runs in flight, restarts it, and measures how long their recovery
// takes.
import {
  addAgent,
  look,
  makeRunFixture,
  type RunFixture,
  serveRuns,
  startRun,
  waitUntil,
} from "../bench/run-fixture.ts";

export const IN_FLIGHT = 1_000;
const STARTERS = 16;
/** The first round ends at once, the second outlives the kill. */
const SLOW = [
  "Calculate.",
  '!tool calculator {"expression":"2 + 3"}',
  "!next",
  "!delay 10m",
  "!say Five.",
].join("\n");

/** Milliseconds from the exec of each start to the last run that it took up. */
export const measureRecovery = async (program: string, kills: number): Promise<number[]> => {
  const taken_ms: number[] = [];
  // After a second crash without progress runs are recovered one at a time.
  for (let kill = 0; kill < kills; kill++) taken_ms.push(await measureOnce(program));
  return taken_ms;
};

const measureOnce = async (program: string): Promise<number> => {
  const fixture = await makeRunFixture(program, { concurrent_runs: IN_FLIGHT + 100 });
  const server = await serveRuns(fixture);
  const agent = await addAgent(server, "stub");
  let left = IN_FLIGHT;
  const start = async () => {
    while (left-- > 0) await startRun(server, agent, SLOW);
  };
  await Promise.all(Array.from({ length: STARTERS }, start));
  await waitUntil("all runs are in their second round", () => countIn(fixture, "last_seq >= 3"));
  await server.kill();
  const started_at = performance.now();
  const starting = serveRuns(fixture);
  await waitUntil("all runs are recovered", () =>
    countIn(fixture, "recoveries = 1 AND epoch = (SELECT MAX(epoch) FROM processes)"),
  );
  const taken_ms = performance.now() - started_at;
  await (await starting).kill();
  return taken_ms;
};

const countIn = (fixture: RunFixture, condition: string): boolean =>
  look<{ n: number }>(
    fixture,
    `SELECT COUNT(*) AS n FROM runs WHERE finished_at IS NULL AND ${condition}`,
  )[0]!.n === IN_FLIGHT;
