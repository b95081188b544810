// Kills backup, restore and move at random moments, and looks at what each has left behind.
import { Database as Connection } from "bun:sqlite";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { launch, makeScratch } from "../bench/stage.ts";
import { makeFilledFixture } from "./backup.ts";
import { copyData } from "./data-copy.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

const RUNS = 3_000;
/** Share of an attempt's time before which kills fall: later attempts find a warm cache. */
const KILLED_BEFORE = 0.8;

interface Ended {
  code: number;
  ms: number;
  output: string;
  complaint: string;
}

/** A place for data: the flags and variables that name it, and its name as a target of moves. */
interface Target {
  to: string;
  flags: string[];
  env: Record<string, string>;
  clear(): Promise<void>;
}

interface Stage {
  program: string;
  config: string[];
  source: string;
  scratch: string;
  /** Rows of each table, as `wadi backup --json` lists them. */
  rows: string;
  backupFile: string;
}

interface Counts {
  kills: number;
  broken: string[];
  halves: number;
}

/** Runs a command; kills it after `killMs`. */
const run = async (
  command: string[],
  { env = {}, killMs }: { env?: Record<string, string>; killMs?: number } = {},
): Promise<Ended> => {
  const started = performance.now();
  const child = launch(command, env);
  const timer = killMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killMs);
  const [code, output] = await Promise.all([child.exited, new Response(child.stdout).text()]);
  clearTimeout(timer);
  await Bun.sleep(0);
  return { code, ms: performance.now() - started, output, complaint: child.complaint() };
};

export const killTransfers = async (program: string, kills: number): Promise<Finding[]> => {
  const { at, file } = await makeFilledFixture(program, RUNS);
  const scratch = makeScratch();
  mergeLog(file);
  const stage: Stage = {
    ...{ program, scratch, config: at.slice(0, 2), source: dirname(file), rows: "" },
    backupFile: join(scratch, "whole.backup"),
  };
  const whole = await run([program, "backup", stage.backupFile, "--json", ...at]);
  if (whole.code !== 0) throw new Error(whole.complaint);
  stage.rows = readRows(whole);
  const counts: Counts = { kills: 0, broken: [], halves: 0 };
  const server = process.env.WADI_TEST_POSTGRES;
  const targets = [nameDirectory(stage), ...(server ? [nameServer(stage, server)] : [])];
  await repeat(counts, Math.ceil(kills / 3), (killMs) => killBackup(stage, counts, killMs));
  for (const target of targets) {
    const each = Math.ceil(kills / 3 / targets.length);
    await repeat(counts, each, (killMs) => killRestore(stage, target, counts, killMs));
    await repeat(counts, each, (killMs) => killMove(stage, target, counts, killMs));
  }
  for (const sentence of counts.broken) console.error(sentence);
  return [
    atLeast("kills during backup, restore and move", counts.kills, Math.min(kills, 50)),
    atLeast("targets that said that they are not whole", counts.halves, 1),
    atMost("targets that were neither whole nor said so", counts.broken.length, 0),
  ];
};

const nameDirectory = ({ scratch }: Stage): Target => {
  const to = join(scratch, "to");
  const clear = async () => rmSync(to, { recursive: true, force: true });
  return { to, flags: ["--data", to], env: {}, clear };
};

const nameServer = ({ scratch }: Stage, url: string): Target => ({
  to: url,
  flags: [],
  env: { WADI_SERVER__DATABASE: url, WADI_SERVER__DATA: join(scratch, "beside-postgres") },
  async clear() {
    const pool = new SQL({ url, max: 1 });
    await pool.unsafe("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    await pool.close();
  },
});

/** The first attempt is not killed and tells how long the others take. */
const repeat = async (
  counts: Counts,
  times: number,
  attempt: (killMs?: number) => Promise<Ended>,
) => {
  const { ms } = await attempt();
  for (let nth = 0; nth < times; nth++) {
    const ended = await attempt(Math.random() * ms * KILLED_BEFORE);
    if (ended.code !== 0) counts.kills += 1;
  }
};

const readRows = ({ output }: Ended): string => JSON.stringify(JSON.parse(output).tables);

/** Reads a place through a backup of it: its rows, or what it says against being opened. */
const inspect = async ({ program, config, scratch }: Stage, { flags, env }: Target) => {
  const file = join(scratch, "inspection.backup");
  rmSync(file, { force: true });
  const ended = await run([program, "backup", file, "--json", ...config, ...flags], { env });
  return { ...ended, rows: ended.code === 0 ? readRows(ended) : "" };
};

const require = (counts: Counts, holds: boolean, sentence: string) => {
  if (!holds) counts.broken.push(sentence);
};

const killBackup = async (stage: Stage, counts: Counts, killMs?: number): Promise<Ended> => {
  const { program, config, source, scratch, rows } = stage;
  const file = join(scratch, "killed.backup");
  const command = [program, "backup", file, ...config, "--data", source];
  const ended = await run(command, { killMs });
  if (existsSync(file)) {
    const target = nameDirectory(stage);
    await run([program, "restore", file, "--yes", ...config, ...target.flags]);
    const found = await inspect(stage, target);
    require(counts, found.rows === rows, `a killed backup has ${found.rows}`);
    rmSync(file);
  } else require(counts, ended.code !== 0, "a backup that ended well has no file");
  return ended;
};

/** Restores over other data: they stay, or the backup's rows are there. */
const killRestore = async (
  stage: Stage,
  target: Target,
  counts: Counts,
  killMs?: number,
): Promise<Ended> => {
  const { program, config, rows, backupFile } = stage;
  const { env } = target;
  const flags = [...config, ...target.flags];
  await target.clear();
  await run([program, "accounts", "create", "other", ...flags], { env });
  const before = await inspect(stage, target);
  const command = [program, "restore", backupFile, "--yes", ...flags];
  const ended = await run(command, { env, killMs });
  const after = await inspect(stage, target);
  const isEither = after.rows === rows || (after.rows === before.rows && ended.code !== 0);
  require(counts, isEither, `a killed restore left ${after.rows} ${after.complaint}`);
  return ended;
};

/** Moves a copy of the source; after a kill the same command ends it. */
const killMove = async (
  stage: Stage,
  target: Target,
  counts: Counts,
  killMs?: number,
): Promise<Ended> => {
  const { program, config, source, scratch, rows } = stage;
  const from = join(scratch, "from");
  rmSync(from, { recursive: true, force: true });
  copyData(source, from);
  await target.clear();
  const data = [...config, "--data", from];
  const move = [program, "move", "--to", target.to, ...data];
  const ended = await run(move, { killMs });
  const left = await run([program, "status", ...data]);
  const arrived = await inspect(stage, target);
  const isHalf = arrived.complaint.includes("is not whole");
  if (isHalf) counts.halves += 1;
  const saysSo = isHalf || arrived.complaint.includes("there is no data");
  require(counts, arrived.rows === rows || saysSo, `a target says ${arrived.complaint}`);
  const areBoth = left.code === 0 && arrived.code === 0;
  require(counts, !areBoth, "source and target of a move both open");
  const names = left.code === 0 || left.complaint.includes("was moved to");
  require(counts, names, `a source says ${left.complaint}`);
  if (ended.code !== 0) {
    const again = await run(move);
    const isDone = again.code === 0 || again.complaint.includes("was moved to");
    require(counts, isDone, `a move did not continue: ${again.complaint}`);
    const found = await inspect(stage, target);
    require(counts, found.rows === rows, `a moved target has ${found.rows} ${found.complaint}`);
  }
  return ended;
};

/** Brings the log into the file, so that its directory can be copied. */
const mergeLog = (file: string) => {
  using connection = new Connection(file);
  connection.run("PRAGMA wal_checkpoint(TRUNCATE)");
};
