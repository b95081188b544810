// Starts servers whose clock is an hour or a year off, with a retention of one day.
import { join } from "node:path";
import {
  addAgent,
  look,
  makeRunFixture,
  type RunFixture,
  serveRuns,
  startRun,
  THREE_ROUNDS,
  waitUntil,
} from "../bench/run-fixture.ts";
import { launch, readUntil } from "../bench/stage.ts";
import { copyData } from "./data-copy.ts";
import type { FaultShim } from "./fault-shim.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

const HOUR_S = 3_600;
const YEAR_S = 365 * 24 * HOUR_S;
const CLOCKS: readonly [what: string, ahead_s: number][] = [
  ["an hour ahead", HOUR_S],
  ["an hour behind", -HOUR_S],
  ["a year ahead", YEAR_S],
  ["a year behind", -YEAR_S],
];
/** A first sweep is over in a fraction of it. */
const LIFE_MS = 4_000;
const RUNS = 20;
const TABLES = ["runs", "steps", "messages", "ledger", "outbox", "fires"];
const RETENTION = `
[retention]
runs = "1d"
events = "1d"
request_log = "1d"
`;
const IS_RUNNING = "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1";

export const proveClock = async (program: string, shim: FaultShim): Promise<Finding[]> => {
  const fixture = await makeRunFixture(program, { concurrent_runs: 16, more: RETENTION });
  const server = await serveRuns(fixture);
  const agent = await addAgent(server, "stub");
  const trigger = { agent_id: agent, name: "hourly", kind: "cron", cron: "0 * * * *" };
  await (await server.ask("POST", "/v1/triggers", { ...trigger, overlap: "allow" })).text();
  for (let n = 0; n < RUNS; n++) await startRun(server, agent, THREE_ROUNDS);
  await waitUntil("all runs end", () => look(fixture, IS_RUNNING).length === 0);
  await server.stop();
  const before = countRows(fixture);
  const findings = [atLeast("clock: rows that could be deleted", sum(before), RUNS * 10)];
  for (const [what, ahead_s] of CLOCKS) {
    const copy = copyFixture(fixture, what);
    const isSaid = await liveFor(copy, shim.env(ahead_s));
    const deleted = sum(countMissing(before, countRows(copy)));
    findings.push(atMost(`clock ${what} at a start: rows deleted`, deleted, 0));
    if (ahead_s > HOUR_S) {
      findings.push(atLeast(`clock ${what}: the log says why`, Number(isSaid), 1));
    }
  }
  const copy = copyFixture(fixture, "by hand");
  await sweepNow(copy, shim.env(YEAR_S));
  const deleted = sum(countMissing(before, countRows(copy)));
  findings.push(atLeast("clock a year ahead, `wadi sweep --now`: rows deleted", deleted, RUNS * 4));
  return findings;
};

type Counts = Record<string, number>;
const sum = (counts: Counts) => Object.values(counts).reduce((total, one) => total + one, 0);

const countRows = (fixture: RunFixture): Counts =>
  Object.fromEntries(
    TABLES.map((table) => [
      table,
      look<{ n: number }>(fixture, `SELECT COUNT(*) AS n FROM ${table}`)[0]!.n,
    ]),
  );

const countMissing = (before: Counts, after: Counts): Counts =>
  Object.fromEntries(TABLES.map((table) => [table, Math.max(0, before[table]! - after[table]!)]));

/** The same installation on a copy of the data. */
const copyFixture = (fixture: RunFixture, what: string): RunFixture => {
  const [config_flag, config, data_flag, data] = fixture.at as [string, string, string, string];
  const other = `${data} ${what}`;
  copyData(data, other);
  return { ...fixture, at: [config_flag, config, data_flag, other], file: join(other, "wadi.db") };
};

/** Whether the log says that nothing is deleted. */
const liveFor = async (fixture: RunFixture, env: Record<string, string>): Promise<boolean> => {
  const child = launch([fixture.program, "serve", "--port", "0", ...fixture.at], env);
  await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/);
  await Bun.sleep(LIFE_MS);
  child.kill("SIGTERM");
  const code = await child.exited;
  if (code !== 0) throw new Error(`it ended with ${code}: ${child.complaint()}`);
  return child.complaint().includes("sweep: nothing is deleted");
};

const sweepNow = async ({ program, at }: RunFixture, env: Record<string, string>) => {
  const child = launch([program, "sweep", "--now", ...at], env);
  if ((await child.exited) !== 0) throw new Error(`the sweep failed: ${child.complaint()}`);
};
