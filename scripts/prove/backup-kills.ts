// Kills backup, restore and move at random moments, and looks at what each has left behind.
import { Database as Connection } from "bun:sqlite";
import { cpSync, existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { launch, makeScratch } from "../bench/stage.ts";
import { countRows, makeFilledFixture } from "./backup.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

const RUNS = 3_000;

interface Ended {
  code: number;
  ms: number;
  complaint: string;
}

/** Runs a command; kills it after `killMs`. */
const run = async (command: string[], killMs?: number): Promise<Ended> => {
  const started = performance.now();
  const child = launch(command);
  const timer = killMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killMs);
  const code = await child.exited;
  clearTimeout(timer);
  await Bun.sleep(0);
  return { code, ms: performance.now() - started, complaint: child.complaint() };
};

interface Stage {
  program: string;
  config: string[];
  source: string;
  scratch: string;
  rows: string;
  backupFile: string;
}

interface Counts {
  kills: number;
  broken: string[];
  halves: number;
}

export const killTransfers = async (program: string, kills: number): Promise<Finding[]> => {
  const { at, file } = await makeFilledFixture(program, RUNS);
  const scratch = makeScratch();
  const stage: Stage = {
    ...{ program, scratch, config: at.slice(0, 2), source: dirname(file) },
    rows: JSON.stringify(countRows(file)),
    backupFile: join(scratch, "whole.backup"),
  };
  mergeLog(file);
  const whole = await run([program, "backup", stage.backupFile, ...at]);
  if (whole.code !== 0) throw new Error(whole.complaint);
  const counts: Counts = { kills: 0, broken: [], halves: 0 };
  const each = Math.ceil(kills / 3);
  await repeat(stage, counts, each, killBackup);
  await repeat(stage, counts, each, killRestore);
  await repeat(stage, counts, each, killMove);
  for (const sentence of counts.broken) console.error(sentence);
  return [
    atLeast("kills during backup, restore and move", counts.kills, Math.min(kills, 50)),
    atLeast("targets that said that they are not whole", counts.halves, 1),
    atMost("targets that were neither whole nor said so", counts.broken.length, 0),
  ];
};

type Attempt = (stage: Stage, counts: Counts, killMs?: number) => Promise<Ended>;

/** The first attempt is not killed and tells how long the others take. */
const repeat = async (stage: Stage, counts: Counts, times: number, attempt: Attempt) => {
  const { ms } = await attempt(stage, counts);
  for (let nth = 0; nth < times; nth++) {
    const ended = await attempt(stage, counts, Math.random() * ms);
    if (ended.code !== 0) counts.kills += 1;
  }
};

const require = (counts: Counts, holds: boolean, sentence: string) => {
  if (!holds) counts.broken.push(sentence);
};

const killBackup: Attempt = async (stage, counts, killMs) => {
  const { program, config, source, scratch, rows } = stage;
  const file = join(scratch, "killed.backup");
  const ended = await run([program, "backup", file, ...config, "--data", source], killMs);
  if (existsSync(file)) {
    const data = join(scratch, "from-killed");
    await run([program, "restore", file, "--yes", ...config, "--data", data]);
    const found = JSON.stringify(countRows(join(data, "wadi.db")));
    require(counts, found === rows, `a killed backup has ${found}`);
    rmSync(file);
  } else require(counts, ended.code !== 0, "a backup that ended well has no file");
  return ended;
};

/** Restores over other data: they stay, or the backup's rows are there. */
const killRestore: Attempt = async (stage, counts, killMs) => {
  const { program, config, scratch, rows, backupFile } = stage;
  const data = join(scratch, "target");
  const flags = [...config, "--data", data];
  rmSync(data, { recursive: true, force: true });
  await run([program, "accounts", "create", "other", ...flags]);
  const before = JSON.stringify(countRows(join(data, "wadi.db")));
  const ended = await run([program, "restore", backupFile, "--yes", ...flags], killMs);
  const status = await run([program, "status", ...flags]);
  const found = status.code === 0 ? JSON.stringify(countRows(join(data, "wadi.db"))) : "";
  const isEither = found === rows || (found === before && ended.code !== 0);
  require(counts, isEither, `a killed restore left ${found} ${status.complaint}`);
  return ended;
};

/** Moves a copy of the source; after a kill the same command ends it. */
const killMove: Attempt = async (stage, counts, killMs) => {
  const { program, config, source, scratch, rows } = stage;
  const [from, to] = [join(scratch, "from"), join(scratch, "to")];
  for (const directory of [from, to]) rmSync(directory, { recursive: true, force: true });
  cpSync(source, from, { recursive: true });
  const move = [program, "move", "--to", to, ...config, "--data", from];
  const ended = await run(move, killMs);
  const status = (data: string) => run([program, "status", ...config, "--data", data]);
  const [left, arrived] = [await status(from), await status(to)];
  const saysNotWhole = /not whole|no database/.test(arrived.complaint);
  if (/not whole/.test(arrived.complaint)) counts.halves += 1;
  require(counts, arrived.code === 0 || saysNotWhole, `a target says ${arrived.complaint}`);
  const areBoth = left.code === 0 && arrived.code === 0;
  require(counts, !areBoth, "source and target of a move both open");
  const names = left.code === 0 || left.complaint.includes("was moved to");
  require(counts, names, `a source says ${left.complaint}`);
  if (ended.code !== 0) {
    const again = await run(move);
    const isDone = again.code === 0 || again.complaint.includes("was moved to");
    require(counts, isDone, `a move did not continue: ${again.complaint}`);
  }
  const found = JSON.stringify(countRows(join(to, "wadi.db")));
  require(counts, found === rows, `a moved target has ${found}`);
  return ended;
};

/** Brings the log into the file, so that its directory can be copied. */
const mergeLog = (file: string) => {
  using connection = new Connection(file);
  connection.run("PRAGMA wal_checkpoint(TRUNCATE)");
};
