// Kills one of three servers and freezes another beyond its lease, at every fail point of a run.
import { createRegistry, listWrites } from "../../src/database/index.ts";
import { stores } from "../../src/stores.ts";
import { drawTable } from "../bench/measure.ts";
import { compile, isStale } from "../build.ts";
import { checkProcesses, type ProcessBreaches } from "./process-check.ts";
import { openProcessStage } from "./process-stage.ts";
import { createFacts, type Trial, tryPoint } from "./process-trial.ts";
import { atLeast, atMost, type Finding, measured, type Proof } from "./proof.ts";

/** Stores whose writes the work of a run, its delivery, its fire or its process may make. */
const STORES = ["runs", "webhooks", "triggers", "processes", "counters", "ledger", "budgets"];
const LANES = 3;
const RUNS_MIN = 500;
const MET_MIN = 30;

/** `WADI_PROVE_POINTS`, such as `runs.`, picks fail points by a part of their names. */
const listPoints = (isLong: boolean): string[] => {
  const part = process.env.WADI_PROVE_POINTS ?? "";
  const passes = isLong ? ["", "#3"] : [""];
  return listWrites(createRegistry(stores))
    .filter((name) => STORES.includes(name.split(".")[0]!))
    .flatMap((name) => [`${name}:before`, `${name}:after`])
    .flatMap((point) => passes.map((pass) => `${point}${pass}`))
    .filter((point) => point.includes(part));
};

export const processes: Proof = {
  name: "processes",
  about: "one of three processes dies, one freezes beyond its lease, at every fail point of a run",
  async run(isLong) {
    const postgres = process.env.WADI_TEST_POSTGRES;
    if (!postgres) throw new Error("WADI_TEST_POSTGRES names no server of PostgreSQL");
    if (isStale({ failPoints: true })) await compile({ failPoints: true });
    const points = listPoints(isLong);
    const queue = points.slice();
    const trials: Trial[] = [];
    const breaches: ProcessBreaches[] = [];
    const broken: string[] = [];
    const lane = async () => {
      for (let isOver = false; !isOver; ) {
        const stage = await openProcessStage({ postgres });
        const facts = createFacts();
        try {
          for (let point = queue.shift(); point !== undefined; point = queue.shift()) {
            process.stderr.write(`processes: ${point}\n`);
            trials.push(await tryPoint(stage, facts, point));
          }
          isOver = true;
          const found = await checkProcesses(stage, facts);
          breaches.push(found);
          for (const text of [...facts.late, ...facts.faults]) console.error(text);
        } catch (failure) {
          broken.push(String(failure));
          console.error(failure);
        } finally {
          await stage.close();
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    drawTrials(trials);
    return listFindings(trials, breaches, broken);
  },
};

const drawTrials = (trials: readonly Trial[]): void => {
  const met = trials.filter(({ died, froze }) => died || froze);
  const unmet = trials.filter((trial) => !met.includes(trial)).map(({ point }) => point);
  const rows = met
    .toSorted((a, b) => (a.point < b.point ? -1 : 1))
    .map(({ point, died, froze, runs, tookOver_ms }) => [
      ...[point, died ? "yes" : "–", froze ? "yes" : "–", String(runs)],
      (tookOver_ms / 1_000).toFixed(1),
    ]);
  const columns = ["fail point", "one died", "one froze", "runs", "all done after, s"];
  console.log(drawTable({ title: "fail points that were met", columns, rows }));
  console.log(`not met by this work: ${unmet.sort().join(", ")}`);
};

const listFindings = (
  trials: readonly Trial[],
  breaches: readonly ProcessBreaches[],
  broken: readonly string[],
): Finding[] => {
  const met = trials.filter(({ died, froze }) => died || froze);
  const sum = (law: keyof ProcessBreaches) => breaches.reduce((all, one) => all + one[law], 0);
  const laws = Object.keys(breaches[0] ?? {}) as (keyof ProcessBreaches)[];
  const slowest = Math.max(...met.map(({ tookOver_ms }) => tookOver_ms));
  return [
    atLeast("fail points met", met.length, MET_MIN),
    atLeast(
      "runs beside them",
      met.reduce((all, { runs }) => all + runs, 0),
      RUNS_MIN,
    ),
    atLeast("processes that died", met.filter(({ died }) => died).length, MET_MIN / 2),
    atLeast("processes that froze", met.filter(({ froze }) => froze).length, MET_MIN / 2),
    atMost("trials that broke off", broken.length, 0),
    measured("slowest: until all was done after the faults", slowest / 1_000, " s"),
    ...laws.map((law) => atMost(law, sum(law), 0)),
  ];
};
