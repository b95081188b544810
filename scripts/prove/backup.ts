// Backs up, restores and moves under load and kills: copies are whole, and only one of two works.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fillRuns } from "../bench/run-filler.ts";
import {
  addAgent,
  look,
  makeRunFixture,
  type RunFixture,
  type RunServer,
  serveRuns,
  startRun,
  waitUntil,
} from "../bench/run-fixture.ts";
import { buildWadi, makeScratch, runWadi } from "../bench/stage.ts";
import { killTransfers } from "./backup-kills.ts";
import { atLeast, atMost, type Finding, measured, type Proof } from "./proof.ts";

const RUNS = 100_000;
const STEPS_EVERY = 4;
const RSS_MB_MAX = 400;
const SECONDS_PER_100000_MAX = 120;
const WRITERS = 24;
const WRITES_A_SECOND = 500;
const MINUTE_MS = 60_000;

export const backup: Proof = {
  name: "backup",
  about: "backup under load, copies beside their original, kills of backup, restore and move",
  async run(isLong) {
    const program = await buildWadi();
    return [
      ...(await measureTimes(program)),
      ...(await backUpUnderLoad(program)),
      ...(await killTransfers(program, isLong ? 200 : 75)),
    ];
  },
};

/** A fixture with final runs in it, which no server has open. */
export const makeFilledFixture = async (program: string, runs: number): Promise<RunFixture> => {
  const fixture = await makeRunFixture(program, { concurrent_runs: 8 });
  const [account] = look<{ id: string }>(fixture, "SELECT id FROM accounts LIMIT 1");
  fillRuns({ file: fixture.file, account_id: account!.id, runs, steps_every: STEPS_EVERY });
  return fixture;
};

/** Rows of the tables that a server does not write to by itself. */
const countRows = (file: string): Record<string, number> => {
  const tables = ["accounts", "keys", "agents", "threads", "messages", "runs", "steps", "outbox"];
  const counts = tables.map((table) => {
    const [row] = look<{ n: number }>({ file }, `SELECT COUNT(*) AS n FROM ${table}`);
    return [table, row!.n];
  });
  return Object.fromEntries(counts);
};

const runMeasured = async (command: string[]) => {
  const started = performance.now();
  const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "pipe"] });
  const complaint = new Response(child.stderr).text();
  let rss_mb = 0;
  const watch = setInterval(() => {
    rss_mb = Math.max(rss_mb, readPeak(child.pid));
  }, 50);
  const code = await child.exited;
  clearInterval(watch);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${await complaint}`);
  const seconds = (performance.now() - started) / 1_000;
  return { seconds, rss_mb };
};

/** Peak memory in MB; a child's resource usage would hold that of its parent before the exec. */
const readPeak = (pid: number): number => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
};

const measureTimes = async (program: string): Promise<Finding[]> => {
  const { at, file } = await makeFilledFixture(program, RUNS);
  const scratch = makeScratch();
  const backupFile = join(scratch, "all.backup");
  const copy = (name: string) => [...at.slice(0, 2), "--data", join(scratch, name)];
  const server = process.env.WADI_TEST_POSTGRES;
  const moved = join(scratch, "moved");
  const commands: [string, string[]][] = [
    ["backup", ["backup", backupFile, ...at]],
    ["restore", ["restore", backupFile, ...copy("restored")]],
    ["move", ["move", "--to", moved, ...at]],
    ...(server
      ? ([["move to PostgreSQL", ["move", "--to", server, "--yes", ...copy("moved")]]] as [
          string,
          string[],
        ][])
      : []),
  ];
  const before = JSON.stringify(countRows(file));
  const findings: Finding[] = [measured("file", Bun.file(file).size / 1_048_576, " MB")];
  for (const [name, args] of commands) {
    const { seconds, rss_mb } = await runMeasured([program, ...args]);
    findings.push(
      atMost(`${name} of ${RUNS} runs`, seconds, SECONDS_PER_100000_MAX, " s"),
      atMost(`memory of ${name}`, rss_mb, RSS_MB_MAX, " MB"),
    );
  }
  findings.push(measured("backup", Bun.file(backupFile).size / 1_048_576, " MB"));
  const others = ["restored", "moved"].filter(
    (name) => JSON.stringify(countRows(join(scratch, name, "wadi.db"))) !== before,
  );
  return [...findings, atMost("copies with other rows", others.length, 0)];
};

/** Starts runs at a rate until it is stopped; the ids of what was acknowledged, in their order. */
const writeSteadily = (server: RunServer, agent: string) => {
  const acknowledged: string[] = [];
  const started = performance.now();
  let isOver = false;
  let due = 0;
  const write = async () => {
    while (!isOver) {
      const waitMs = (due++ / WRITES_A_SECOND) * 1_000 - (performance.now() - started);
      if (waitMs > 0) await Bun.sleep(waitMs);
      acknowledged.push(await startRun(server, agent, "!say Done."));
    }
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, write));
  return {
    acknowledged,
    rate: () => acknowledged.length / ((performance.now() - started) / 1_000),
    async stop() {
      isOver = true;
      await writers;
    },
  };
};

const backUpUnderLoad = async (program: string): Promise<Finding[]> => {
  const original = await makeRunFixture(program, { concurrent_runs: 4 });
  const server = await serveRuns(original);
  const agent = await addAgent(server, "stub");
  const trigger = {
    ...{ name: "Minutely", kind: "cron", cron: "* * * * *", agent_id: agent },
    input: { message: "!say Fired." },
  };
  const made = await server.ask("POST", "/v1/triggers", trigger);
  if (made.status !== 201) throw new Error(await made.text());
  const load = writeSteadily(server, agent);
  await waitUntil("runs are started", () => load.acknowledged.length > WRITES_A_SECOND);
  const before = load.acknowledged.length;
  const file = join(makeScratch(), "busy.backup");
  const started = performance.now();
  await runWadi([program, "backup", file, ...original.at]);
  const seconds = (performance.now() - started) / 1_000;
  const rate = load.rate();
  await load.stop();

  const directory = makeScratch();
  const data = join(directory, "data");
  const at = [...original.at.slice(0, 2), "--data", data];
  await runWadi([program, "restore", file, ...at]);
  const copy = { ...original, at, file: join(data, "wadi.db") };
  const numbers = look<{ number: number; id: string }>(
    copy,
    "SELECT id, number FROM runs ORDER BY number",
  );
  const ids = new Set(numbers.map(({ id }) => id));
  const missing = load.acknowledged.slice(0, before).filter((id) => !ids.has(id));
  const gaps = numbers.filter(({ number }, at) => number !== at + 1);
  return [
    measured("writes a second during the backup", rate),
    measured("backup under load", seconds, " s"),
    atLeast("runs acknowledged before it", before, WRITES_A_SECOND),
    atMost("of these missing in the copy", missing.length, 0),
    atMost("gaps and doubles in the copy's numbers", gaps.length, 0),
    ...(await serveBoth(copy, original, server)),
  ];
};

/** Serves copy and original side by side for more than a minute. */
const serveBoth = async (
  copy: RunFixture,
  original: RunFixture,
  server: RunServer,
): Promise<Finding[]> => {
  const count = (fixture: RunFixture, query: string) =>
    look<{ n: number }>(fixture, `SELECT COUNT(*) AS n FROM ${query}`)[0]!.n;
  const finished = "runs WHERE finished_at IS NOT NULL";
  const [firesBefore, copyBefore] = [count(original, "fires"), count(copy, "fires")];
  const endedBefore = count(copy, finished);
  const second = await serveRuns(copy);
  await Bun.sleep(MINUTE_MS + 5_000);
  const fires = count(original, "fires") - firesBefore;
  const worked = [count(copy, "fires") - copyBefore, count(copy, finished) - endedBefore];
  await server.kill();
  await runWadi([copy.program, "resume", ...copy.at]);
  const left = "runs WHERE finished_at IS NULL";
  await waitUntil("the copy has ended its runs", () => count(copy, left) === 0, 300_000, 100);
  await second.kill();
  return [
    atLeast("fires of the original beside its copy", fires, 1),
    atMost("fires of the paused copy", worked[0]!, 0),
    atMost("runs that the paused copy ended", worked[1]!, 0),
    measured("runs that it ended after wadi resume", count(copy, finished) - endedBefore),
  ];
};
