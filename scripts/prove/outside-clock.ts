// Starts whose clock is an hour or a year off, with everything kept for a day only.
import { cpSync } from "node:fs";
import { join } from "node:path";
import {
  addAgent,
  look,
  makeGround,
  type RunGround,
  serveRuns,
  startRun,
  THREE_ROUNDS,
  waitUntil,
} from "../bench/run-ground.ts";
import { launch, readUntil } from "../bench/stage.ts";
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
  const ground = await makeGround(program, { concurrent_runs: 16, more: RETENTION });
  const server = await serveRuns(ground);
  const agent = await addAgent(server, "stub");
  const trigger = { agent_id: agent, name: "hourly", kind: "cron", cron: "0 * * * *" };
  await (await server.ask("POST", "/v1/triggers", { ...trigger, overlap: "allow" })).text();
  for (let n = 0; n < RUNS; n++) await startRun(server, agent, THREE_ROUNDS);
  await waitUntil("all runs end", () => look(ground, IS_RUNNING).length === 0);
  await server.stop();
  const before = countRows(ground);
  const findings = [atLeast("clock: rows that could be deleted", sum(before), RUNS * 10)];
  for (const [what, ahead_s] of CLOCKS) {
    const copy = copyGround(ground, what);
    const isSaid = await liveFor(copy, shim.env(ahead_s));
    const deleted = sum(countMissing(before, countRows(copy)));
    findings.push(atMost(`clock ${what} at a start: rows deleted`, deleted, 0));
    if (ahead_s > HOUR_S) {
      findings.push(atLeast(`clock ${what}: the log says why`, Number(isSaid), 1));
    }
  }
  const copy = copyGround(ground, "by hand");
  await sweepNow(copy, shim.env(YEAR_S));
  const deleted = sum(countMissing(before, countRows(copy)));
  findings.push(atLeast("clock a year ahead, `wadi sweep --now`: rows deleted", deleted, RUNS * 4));
  return findings;
};

type Counts = Record<string, number>;
const sum = (counts: Counts) => Object.values(counts).reduce((total, one) => total + one, 0);

const countRows = (ground: RunGround): Counts =>
  Object.fromEntries(
    TABLES.map((table) => [
      table,
      look<{ n: number }>(ground, `SELECT COUNT(*) AS n FROM ${table}`)[0]!.n,
    ]),
  );

const countMissing = (before: Counts, after: Counts): Counts =>
  Object.fromEntries(TABLES.map((table) => [table, Math.max(0, before[table]! - after[table]!)]));

/** The same installation, whose data is a copy. */
const copyGround = (ground: RunGround, what: string): RunGround => {
  const [config_flag, config, data_flag, data] = ground.at as [string, string, string, string];
  const other = `${data} ${what}`;
  cpSync(data, other, { recursive: true });
  return { ...ground, at: [config_flag, config, data_flag, other], file: join(other, "wadi.db") };
};

/** Whether the log said that nothing is deleted. */
const liveFor = async (ground: RunGround, env: Record<string, string>): Promise<boolean> => {
  const child = launch([ground.program, "serve", "--port", "0", ...ground.at], env);
  await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/);
  await Bun.sleep(LIFE_MS);
  child.kill("SIGTERM");
  const code = await child.exited;
  if (code !== 0) throw new Error(`it ended with ${code}: ${child.complaint()}`);
  return child.complaint().includes("sweep: nothing is deleted");
};

const sweepNow = async ({ program, at }: RunGround, env: Record<string, string>) => {
  const child = launch([program, "sweep", "--now", ...at], env);
  if ((await child.exited) !== 0) throw new Error(`the sweep failed: ${child.complaint()}`);
};
