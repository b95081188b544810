// Removes a running server's data, admits a second one, ends its epoch: it must report this and
// exit.
import { Database as Connection } from "bun:sqlite";
import { copyFileSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildWadi, runWadi } from "../bench/stage.ts";
import { copyData } from "./data-copy.ts";
import { type DataFixture, makeDataFixture, refuseToServe, serve } from "./data-fixture.ts";
import { proveDamage } from "./outside-damage.ts";
import { atMost, type Finding } from "./proof.ts";

const NOTICED_MS_MAX = 2_000;
/** The server checks every two seconds whether its epoch has ended. */
const ENDED_MS_MAX = 4_000;
const WRITES_BESIDE = 20;

const isReady = async (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );

const replace = (path: string) => {
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
};
const moveData = ({ data }: DataFixture) => renameSync(data, `${data}.away`);

const REMOVALS: readonly [what: string, act: (fixture: DataFixture) => void][] = [
  ["data directory removed", ({ data }) => rmSync(data, { recursive: true })],
  ["data directory moved", moveData],
  [
    "data directory replaced by a copy",
    (fixture) => {
      moveData(fixture);
      copyData(`${fixture.data}.away`, fixture.data);
    },
  ],
  [
    "data directory replaced by an empty one",
    (fixture) => {
      moveData(fixture);
      mkdirSync(fixture.data);
    },
  ],
  ["database removed", ({ file }) => rmSync(file)],
  ["database moved", ({ file }) => renameSync(file, `${file}.away`)],
  ["database replaced", ({ file }) => replace(file)],
  ["-wal removed", ({ file }) => rmSync(`${file}-wal`)],
  ["-wal replaced", ({ file }) => replace(`${file}-wal`)],
  ["-shm removed", ({ file }) => rmSync(`${file}-shm`)],
  ["-shm replaced", ({ file }) => replace(`${file}-shm`)],
];

const finding = (what: string, isMet: boolean, figure: string, bound: string): Finding => {
  return { what, figure, bound, isMet };
};

/** Acts under a running server, which is to end with 1 and `sentence` in its log. */
const proveEnd = async (
  what: string,
  within_ms: number,
  sentence: RegExp,
  act: (fixture: DataFixture) => void,
  fixture: DataFixture,
): Promise<Finding> => {
  const server = await serve(fixture);
  const started = performance.now();
  act(fixture);
  const late = Bun.sleep(2 * within_ms).then(() => null);
  const code = await Promise.race([server.exited, late]);
  const ms = Math.round(performance.now() - started);
  server.kill("SIGKILL");
  await server.exited;
  const isSaid = sentence.test(server.complaint());
  const figure = `${ms} ms, code ${code}, ${isSaid ? "said" : "not said"}`;
  const isMet = code === 1 && isSaid && ms <= within_ms;
  return finding(what, isMet, figure, `≤ ${within_ms} ms, code 1, said`);
};

const proveRemovals = async (program: string): Promise<Finding[]> => {
  const findings: Finding[] = [];
  for (const [what, act] of REMOVALS) {
    const said = /was removed, moved or replaced while the server ran/;
    findings.push(await proveEnd(what, NOTICED_MS_MAX, said, act, makeDataFixture(program)));
  }
  return findings;
};

const proveEpoch = (program: string): Promise<Finding> =>
  proveEnd(
    "its number ended by another",
    ENDED_MS_MAX,
    /another server has taken over this data/,
    ({ file }) => {
      using connection = new Connection(file);
      connection.run("UPDATE processes SET ended_at = 1 WHERE ended_at IS NULL");
    },
    makeDataFixture(program),
  );

/** The lock file is deleted: no second server starts, and concurrent writes are kept. */
const proveLock = async (program: string): Promise<Finding[]> => {
  const fixture = makeDataFixture(program);
  const server = await serve(fixture);
  rmSync(join(fixture.data, "serve.lock"));
  const complaint = await refuseToServe(fixture);
  const isRefused = complaint?.includes("another wadi process") ?? false;
  for (let n = 0; n < WRITES_BESIDE; n++) {
    await runWadi([program, "accounts", "create", `a-${n}`, ...fixture.at]);
  }
  const isAlive = await isReady(server.url);
  server.kill("SIGKILL");
  await server.exited;
  const found = await runWadi([program, "accounts", "list", "--json", ...fixture.at]);
  const lost = Array.from({ length: WRITES_BESIDE }, (_, n) => `"a-${n}"`).filter(
    (name) => !found.includes(name),
  );
  return [
    finding(
      "serve.lock deleted: a second server",
      isRefused,
      isRefused ? "refused" : "let in",
      "refused",
    ),
    finding(
      "the first one beside it",
      isAlive,
      isAlive ? "ready, same pid" : "gone",
      "ready, same pid",
    ),
    atMost(`of ${WRITES_BESIDE} accounts made beside it, lost by kill -9`, lost.length, 0),
  ];
};

/** A key without its database. */
const proveKey = async (program: string): Promise<Finding> => {
  const fixture = makeDataFixture(program);
  const server = await serve(fixture);
  server.kill("SIGKILL");
  await server.exited;
  for (const ending of ["", "-wal", "-shm", "-commits"]) rmSync(fixture.file + ending);
  const complaint = await refuseToServe(fixture);
  const isRefused = complaint?.includes("its database is missing or empty") ?? false;
  const bound = "refused";
  return finding(
    "secrets.key without a database",
    isRefused,
    isRefused ? bound : "made anew",
    bound,
  );
};

/** The rows of data and lock. */
export const proveData = async (isLong: boolean): Promise<Finding[]> => {
  const program = await buildWadi();
  return [
    ...(await proveRemovals(program)),
    await proveEpoch(program),
    ...(await proveLock(program)),
    await proveKey(program),
    ...(await proveDamage(program, isLong)),
  ];
};
