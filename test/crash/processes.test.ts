// Three processes of the compiled program on one PostgreSQL database: at a fail point one dies, and
// one is frozen beyond its lease and woken. `bun run prove processes` tries every fail point.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { checkProcesses } from "../../scripts/prove/process-check.ts";
import { openProcessStage, type ProcessStage } from "../../scripts/prove/process-stage.ts";
import { createFacts, tryPoint } from "../../scripts/prove/process-trial.ts";
import { HAS_VALKEY } from "../support/valkey.ts";

const postgres = process.env.WADI_TEST_POSTGRES ?? "";
const canRun = postgres !== "" && HAS_VALKEY;
if (!canRun) console.warn("processes: left out without WADI_TEST_POSTGRES and a Valkey server");

/** Between the intent of a call and its first byte, and between a fire and what tells of it. */
const POINTS = ["runs.intend:after#4", "triggers.fire:after"];

let stage: ProcessStage;
beforeAll(async () => {
  if (canRun) stage = await openProcessStage({ postgres });
});
afterAll(() => (canRun ? stage.close() : undefined));

const isDone = canRun ? test : test.skip;
isDone(
  "three processes: one dies, one is frozen beyond its lease: all runs end, no call is sent twice",
  async () => {
    const facts = createFacts();
    for (const point of POINTS) {
      expect(await tryPoint(stage, facts, point)).toMatchObject({ died: true, froze: true });
    }
    const breaches = await checkProcesses(stage, facts);
    const none = Object.fromEntries(Object.keys(breaches).map((law) => [law, 0]));
    expect([breaches, facts.late, facts.faults]).toEqual([none as never, [], []]);
  },
  180_000,
);
