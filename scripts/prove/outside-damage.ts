// Damages a stopped server's log and pages in many places; every loss must be reported or ruled
// out.
import { Database as Connection, SQLiteError } from "bun:sqlite";
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { findDamage } from "../../src/database/index.ts";
import { launch, runWadi } from "../bench/stage.ts";
import { copyData } from "./data-copy.ts";
import { type DataFixture, makeDataFixture, refuseToServe, serve } from "./data-fixture.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

const COMMITS = 30;
const PLACES = 40;
const PLACES_LONG = 300;
const PAGES = 300;
const PAGES_LONG = 3_000;
const CHECKED_AFTER_MS_MAX = 30_000;

const draw = (most: number): number => Math.floor(Math.random() * most);

/** A killed server with accounts created from the command line: all of them are in the log. */
const makeKilled = async (program: string): Promise<DataFixture> => {
  const fixture = makeDataFixture(program);
  const server = await serve(fixture);
  for (let n = 0; n < COMMITS; n++) {
    await runWadi([program, "accounts", "create", `a-${n}`, ...fixture.at]);
  }
  server.kill("SIGKILL");
  await server.exited;
  return fixture;
};

const copyFixture = (fixture: DataFixture): DataFixture => {
  const copy = makeDataFixture(fixture.program);
  copyData(fixture.data, copy.data);
  return copy;
};

interface Stored {
  commits: number;
  accounts: number;
}

/** Findings of SQLite itself, on a copy. */
const readStored = (fixture: DataFixture): Stored => {
  const { file } = copyFixture(fixture);
  if (!existsSync(file)) return { commits: 0, accounts: 0 };
  using connection = new Connection(file);
  try {
    const one = (query: string) => Number(connection.query(query).values()[0]![0]);
    const commits = one("SELECT commits FROM wadi_commits");
    return { commits, accounts: one("SELECT COUNT(*) FROM accounts") };
  } catch {
    return { commits: 0, accounts: 0 };
  }
};

const DAMAGES: readonly [what: string, act: (log: string, size: number) => void][] = [
  ["cut", (log, size) => truncateSync(log, draw(size))],
  [
    "flipped",
    (log) => {
      const bytes = readFileSync(log);
      const at = draw(bytes.length);
      bytes[at] = bytes[at]! ^ (1 << draw(8));
      writeFileSync(log, bytes);
    },
  ],
  ["emptied", (log) => truncateSync(log, 0)],
  ["deleted", (log) => rmSync(log)],
];

interface LogTrials {
  /** Trials that lost at least a commit. */
  lossy: number;
  commits: number;
  unnoticed: number;
  miscounted: number;
  /** Refused although nothing was missing. */
  mistaken: number;
  unkept: number;
}

const tryDamage = async (fixture: DataFixture, all: Stored, trials: LogTrials): Promise<void> => {
  const stored = readStored(fixture);
  const missing = all.commits - stored.commits;
  const hadLog = existsSync(`${fixture.file}-wal`) && Bun.file(`${fixture.file}-wal`).size > 0;
  const complaint = await refuseToServe(fixture);
  const reported = Number(/lacks the last (\d+) of \d+ commits/.exec(complaint ?? "")?.[1] ?? 0);
  // The counter is compared with the callers' writes, one commit each.
  if (all.accounts - stored.accounts > missing) trials.unnoticed++;
  if (missing === 0 && complaint !== null) trials.mistaken++;
  if (missing > 0) {
    trials.lossy++;
    trials.commits += missing;
    if (complaint === null || reported === 0) trials.unnoticed++;
    else if (reported !== missing) trials.miscounted++;
    const kept = `${fixture.file}-wal.behind-${all.commits}`;
    if (complaint !== null && hadLog && !existsSync(kept)) trials.unkept++;
  }
  rmSync(fixture.data, { recursive: true });
};

const proveLog = async (whole: DataFixture, all: Stored, places: number): Promise<Finding[]> => {
  const findings: Finding[] = [];
  for (const [what, act] of DAMAGES) {
    const trials = { lossy: 0, commits: 0, unnoticed: 0, miscounted: 0, mistaken: 0, unkept: 0 };
    const times = what === "cut" || what === "flipped" ? places : 1;
    for (let time = 0; time < times; time++) {
      const fixture = copyFixture(whole);
      const log = `${fixture.file}-wal`;
      // As after a reboot, when nothing of the process is left.
      if (time % 2 === 0) rmSync(`${fixture.file}-shm`);
      act(log, Bun.file(log).size);
      await tryDamage(fixture, all, trials);
    }
    findings.push(
      atLeast(`logs ${what} that lost commits, of ${times}`, trials.lossy, Math.ceil(times / 2)),
      atMost(`of their ${trials.commits} commits: starts that did not notice`, trials.unnoticed, 0),
      atMost("reported with a wrong number", trials.miscounted, 0),
      atMost("refused although nothing was missing", trials.mistaken, 0),
      atMost("refused without keeping the log", trials.unkept, 0),
    );
  }
  return findings;
};

/** Halves the log, accepts the loss once, and serves the remaining data. */
const proveAcceptance = async (whole: DataFixture): Promise<Finding[]> => {
  const fixture = copyFixture(whole);
  truncateSync(`${fixture.file}-wal`, Math.floor(Bun.file(`${fixture.file}-wal`).size / 2));
  const server = await serve(fixture, "--accept-loss");
  server.kill("SIGTERM");
  const code = await server.exited;
  const again = await serve(fixture);
  again.kill("SIGKILL");
  const isSaid = server.complaint().includes("lacks the last");
  const figure = `code ${code}, ${isSaid ? "said" : "not said"}`;
  const bound = "starts, says it, then starts as ever";
  return [{ what: "a cut log with --accept-loss", figure, bound, isMet: code === 0 && isSaid }];
};

/** Every table's rows in full, without any index; null: it cannot be read. */
const readRows = (file: string): Map<string, string> | null => {
  using connection = new Connection(file);
  try {
    const tables = connection
      .query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .values();
    return new Map(
      tables.map(([name]) => {
        const rows = connection.query(`SELECT * FROM "${name}" NOT INDEXED`).values();
        return [String(name), `${rows.length} ${JSON.stringify(rows)}`];
      }),
    );
  } catch {
    return null;
  }
};

/** Some damage makes the check itself fail. */
const isWhole = (file: string): boolean => {
  using connection = new Connection(file);
  try {
    return connection.query("PRAGMA integrity_check").values().flat().join() === "ok";
  } catch (error) {
    if (error instanceof SQLiteError && error.code === "SQLITE_CORRUPT") return false;
    throw error;
  }
};

/** Flips a bit at a time in the pages of a database that was closed in order. */
const provePages = (sound: DataFixture, flips: number): Finding[] => {
  const bytes = readFileSync(sound.file);
  const { file } = copyFixture(sound);
  const rows = readRows(sound.file)!;
  const counts = (found: ReadonlyMap<string, string>) =>
    [...found].map(([name, text]) => `${name} ${text.split(" ", 1)}`).join();
  const seen = { noticed: 0, nothing: 0, value: 0, index: 0, rows: 0 };
  for (let flip = 0; flip < flips; flip++) {
    const damaged = Buffer.from(bytes);
    const at = draw(bytes.length);
    damaged[at] = damaged[at]! ^ (1 << draw(8));
    writeFileSync(file, damaged);
    if (findDamage(file) !== null) seen.noticed++;
    else {
      const found = readRows(file);
      if (found === null || counts(found) !== counts(rows)) seen.rows++;
      else if ([...found].some(([name, text]) => rows.get(name) !== text)) seen.value++;
      else if (isWhole(file)) seen.nothing++;
      else seen.index++;
    }
  }
  const { noticed, nothing, value, index } = seen;
  const figure = `${noticed}, ${nothing}, ${value}, ${index}`;
  const what = `of ${flips} flipped bits: noticed, in unused room, in a value, in an index`;
  return [
    { what, figure, bound: "reported correctly", isMet: noticed > 0 },
    atMost("not noticed, and a row was gone or not to be read", seen.rows, 0),
  ];
};

/** A broken page under a server that starts on it: log, readiness, `wadi check`. */
const proveCheck = async (sound: DataFixture): Promise<Finding[]> => {
  const fixture = copyFixture(sound);
  const bytes = readFileSync(fixture.file);
  using connection = new Connection(sound.file, { readonly: true });
  const root = connection
    .query("SELECT rootpage FROM sqlite_schema WHERE name = 'wadi_probe'")
    .values()[0]![0];
  writeFileSync(fixture.file, bytes.fill(0x55, (Number(root) - 1) * 4_096, Number(root) * 4_096));
  const server = await serve(fixture);
  const deadline = performance.now() + CHECKED_AFTER_MS_MAX;
  let reported = "";
  while (performance.now() < deadline && !reported.includes("data damaged")) {
    await Bun.sleep(500);
    reported = await (await fetch(`${server.url}/readyz`)).text();
  }
  const isLogged = server.complaint().includes("database: pages are damaged");
  server.kill("SIGKILL");
  await server.exited;
  const check = launch([fixture.program, "check", ...fixture.at]);
  const isChecked = (await check.exited) === 1;
  const places = [
    ...(isLogged ? ["log"] : []),
    ...(reported.includes("data damaged") ? ["/readyz"] : []),
    ...(isChecked ? ["check"] : []),
  ];
  const bound = "log, /readyz, check";
  const figure = places.join(", ");
  return [{ what: "a broken page is reported in", figure, bound, isMet: figure === bound }];
};

export const proveDamage = async (program: string, isLong: boolean): Promise<Finding[]> => {
  const whole = await makeKilled(program);
  const all = readStored(whole);
  const sound = copyFixture(whole);
  // The last close writes the log into the database.
  await runWadi([program, "accounts", "list", ...sound.at]);
  return [
    atLeast("commits in the log", all.commits, COMMITS),
    ...(await proveLog(whole, all, isLong ? PLACES_LONG : PLACES)),
    ...(await proveAcceptance(whole)),
    ...provePages(sound, isLong ? PAGES_LONG : PAGES),
    ...(await proveCheck(sound)),
  ];
};
