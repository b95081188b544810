// Takes a running server's data away, lets a second one in, ends its number: it says so and goes.
import { Database as Connection } from "bun:sqlite";
import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildWadi, runWadi } from "../bench/stage.ts";
import { type Ground, makeGround, refuseToServe, serve } from "./data-ground.ts";
import { proveDamage } from "./outside-damage.ts";
import { atMost, type Finding } from "./proof.ts";

const NOTICED_MS_MAX = 2_000;
/** It looks every two seconds whether its number has been ended. */
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
const moveData = ({ data }: Ground) => renameSync(data, `${data}.away`);

const REMOVALS: readonly [what: string, act: (ground: Ground) => void][] = [
  ["data directory removed", ({ data }) => rmSync(data, { recursive: true })],
  ["data directory moved", moveData],
  [
    "data directory replaced by a copy",
    (ground) => {
      moveData(ground);
      cpSync(`${ground.data}.away`, ground.data, { recursive: true });
    },
  ],
  [
    "data directory replaced by an empty one",
    (ground) => {
      moveData(ground);
      mkdirSync(ground.data);
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
  act: (ground: Ground) => void,
  ground: Ground,
): Promise<Finding> => {
  const server = await serve(ground);
  const started = performance.now();
  act(ground);
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
    findings.push(await proveEnd(what, NOTICED_MS_MAX, said, act, makeGround(program)));
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
    makeGround(program),
  );

/** The lock file is deleted: no second server comes in, and what is written beside is kept. */
const proveLock = async (program: string): Promise<Finding[]> => {
  const ground = makeGround(program);
  const server = await serve(ground);
  rmSync(join(ground.data, "serve.lock"));
  const complaint = await refuseToServe(ground);
  const isRefused = complaint?.includes("another wadi server runs on") ?? false;
  for (let n = 0; n < WRITES_BESIDE; n++) {
    await runWadi([program, "accounts", "create", `a-${n}`, ...ground.at]);
  }
  const isAlive = await isReady(server.url);
  server.kill("SIGKILL");
  await server.exited;
  const found = await runWadi([program, "accounts", "list", "--json", ...ground.at]);
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
  const ground = makeGround(program);
  const server = await serve(ground);
  server.kill("SIGKILL");
  await server.exited;
  for (const ending of ["", "-wal", "-shm", "-commits"]) rmSync(ground.file + ending);
  const complaint = await refuseToServe(ground);
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
