// Tests what a waterfall is drawn from: pieces of work, and the axis on which long waits are folded.
import { describe, expect, test } from "bun:test";
import { createAxis, writeTick } from "../../src/console/client/run/axis.ts";
import type { ShownRun, StepItem } from "../../src/console/client/run/data.ts";
import {
  findDefault,
  findPiece,
  listPieces,
  measurePiece,
} from "../../src/console/client/run/pieces.ts";

const BEGIN = Date.UTC(2026, 10, 20, 12);
const iso = (ms: number) => new Date(BEGIN + ms).toISOString();
const NOW = BEGIN + 100_000;

const makeRun = (fields: Partial<ShownRun> = {}) =>
  ({
    ...{ id: "r-1", model: "qwen", status: "running", error: null, usage: { rounds: 1 } },
    ...{ created_at: iso(0), started_at: iso(100), finished_at: null },
    ...fields,
  }) as ShownRun;

let seq = 0;
const step = (kind: string, at: number, data: object, fields: object = {}) =>
  ({
    ...{ seq: ++seq, kind, round: 1, created_at: iso(at), data, started_at: null, ended_at: null },
    ...{ waited_ms: null, first_token_ms: null, replica: null, attempts: null },
    ...fields,
  }) as StepItem;
const times = (from: number, to: number) => ({ started_at: iso(from), ended_at: iso(to) });
const reply = (from: number, to: number, fields: object = {}) =>
  step("assistant", to, { model: "qwen", cost: "0.010000" }, { ...times(from, to), ...fields });
const call = (at: number, id = "c-1", name = "pay") =>
  step("tool_call", at, { tool_call_id: id, name, attempt: 0 });
const result = (from: number, to: number, fields: object = {}) => {
  const data = {
    tool_call_id: "c-1",
    name: "pay",
    outcome: "ok",
    cost: "0.000000",
    external: false,
  };
  return step("tool_result", to, { ...data, ...fields }, times(from, to));
};
const decision = (event: string, at: number, decided: number | null = null) =>
  step("approval", decided ?? at, {
    event,
    approval: {
      ...{ id: "p-1", tool_call_id: "c-1", requested_at: iso(at) },
      decided_at: decided === null ? null : iso(decided),
    },
  });
const retry = (from: number, at: number, wait_ms: number) => {
  const data = { event: "model_retry", message: "It is asked again.", detail: { wait_ms } };
  return step("system", at, data, { started_at: iso(from) });
};

/** Each piece as its name, state, and bars from the begin on. */
const draw = (run: ShownRun, steps: StepItem[], now = NOW) =>
  listPieces(run, steps, now).map(({ kind, name, state, bars }) => [
    name || kind,
    state,
    ...bars.map((bar) => `${bar.kind} ${bar.from - BEGIN} ${bar.to - BEGIN}`),
  ]);

describe("the pieces of a run", () => {
  test("a queued run grows", () => {
    const run = makeRun({ status: "queued", started_at: null });
    expect(draw(run, [], BEGIN + 900)).toEqual([["queue", "running", "queue 0 900"]]);
  });

  test("a reply is its wait, its first token and its writing", () => {
    const steps = [reply(100, 2_000, { waited_ms: 200, first_token_ms: 700 })];
    const run = makeRun({ status: "succeeded", finished_at: iso(2_000) });
    expect(draw(run, steps)).toEqual([
      ["queue", "done", "queue 0 100"],
      ["qwen", "done", "queue 100 300", "ttft 300 800", "model 800 2000"],
    ]);
    expect(listPieces(run, steps, NOW).map(measurePiece)).toEqual([100, 1_900]);
  });

  test("a call waits for a person, then runs, and is found by each of its steps", () => {
    const steps = [
      reply(100, 1_000),
      call(1_000),
      decision("requested", 1_000),
      decision("approved", 1_000, 50_000),
      result(50_010, 50_400, { external: true }),
    ];
    const run = makeRun();
    const [, , pay, open] = draw(run, steps, BEGIN + 51_000);
    expect(pay).toEqual(["pay", "done", "wait 1000 50000", "tool 50010 50400"]);
    expect(open).toEqual(["qwen", "running", "ttft 50400 51000"]);
    const pieces = listPieces(run, steps, NOW);
    expect(steps.slice(1).map(({ seq: number }) => findPiece(pieces, String(number)))).toEqual(
      Array(4).fill(pieces[2]!),
    );
    expect(pieces[2]).toMatchObject({ isExternal: true, cost: "0.000000" });
  });

  test("a call that waits, and a denied one", () => {
    const asking = [reply(100, 1_000), call(1_000), decision("requested", 1_000)];
    const run = makeRun({ status: "waiting_approval" });
    expect(draw(run, asking, BEGIN + 3_000)[2]).toEqual(["pay", "waiting", "wait 1000 3000"]);
    const pieces = listPieces(run, asking, NOW);
    expect(findDefault(pieces, run.status)).toBe(pieces[2]!);
    const denied = [...asking, decision("rejected", 1_000, 2_000)];
    const answer = step("tool_result", 2_100, {
      ...{ tool_call_id: "c-1", name: "pay", outcome: "rejected", cost: "0.000000" },
    });
    expect(draw(run, [...denied, answer])[2]).toEqual(["pay", "rejected", "wait 1000 2000"]);
  });

  test("failed attempts and pauses stand before their reply, and are rows of their own", () => {
    const steps = [retry(100, 200, 1_000), retry(1_200, 1_300, 2_000), reply(3_300, 4_000)];
    const drawn = draw(makeRun({ status: "succeeded", finished_at: iso(4_000) }), steps);
    expect(drawn.slice(1)).toEqual([
      ["It is asked again.", "done"],
      ["It is asked again.", "done"],
      [
        ...["qwen", "done", "failed 100 200", "pause 200 1200"],
        ...["failed 1200 1300", "pause 1300 3300", "model 3300 4000"],
      ],
    ]);
    const pieces = listPieces(makeRun(), steps, NOW);
    expect(measurePiece(pieces[3]!)).toBe(700);
  });

  test("the failure of a model is the last piece, and shown first", () => {
    const error = { code: "upstream_timeout", message: "It did not answer." };
    const run = makeRun({ status: "failed", error, finished_at: iso(1_500) });
    const steps = [retry(100, 200, 1_000)];
    expect(draw(run, steps).at(-1)).toEqual([
      ...["qwen", "failed", "failed 100 200", "pause 200 1200", "failed 1200 1500"],
    ]);
    const pieces = listPieces(run, steps, NOW);
    expect(findDefault(pieces, "failed")).toBe(pieces.at(-1)!);
    const expired = { code: "approval_expired", message: "Late." };
    const other = makeRun({ status: "failed", error: expired, finished_at: iso(1_500) });
    expect(draw(other, [])).toHaveLength(1);
  });
});

describe("the time axis", () => {
  const axisOf = (steps: StepItem[], now = NOW) =>
    createAxis(listPieces(makeRun({ status: "waiting_approval" }), steps, now));

  test("has three to six round ticks of worked time", () => {
    for (const ms of [90, 800, 3_000, 4_100, 25_000, 61_000, 400_000, 9e6, 4e8]) {
      const { ticks, folds } = axisOf([reply(100, 100 + ms)]);
      expect(folds).toEqual([]);
      expect([ms, ticks.length >= 3 && ticks.length <= 7]).toEqual([ms, true]);
      for (const { ms: at } of ticks) expect(writeTick(at)).toMatch(/^\d+(\.\d+)?( \w+)?$/);
    }
  });

  test("folds a long wait to a fixed width, and keeps times in their order", () => {
    const steps = [reply(100, 4_000), call(4_000), decision("requested", 4_000)];
    const { folds, ticks, place } = axisOf(steps, BEGIN + 604_000);
    expect(folds).toEqual([{ x: 92, width: 8, ms: 600_000 }]);
    expect(place(BEGIN)).toBe(0);
    expect(place(BEGIN + 4_000)).toBe(92);
    expect(place(BEGIN + 304_000)).toBeCloseTo(96);
    expect(place(BEGIN + 604_000)).toBe(100);
    expect(ticks.map(({ ms }) => ms)).toEqual([0, 1_000, 2_000, 3_000]);
  });

  test("does not fold a short wait, or one beside long work", () => {
    const asking = (worked: number) => [
      reply(100, worked),
      call(worked),
      decision("requested", worked),
    ];
    expect(axisOf(asking(2_000), BEGIN + 11_000).folds).toEqual([]);
    expect(axisOf(asking(60_000), BEGIN + 75_000).folds).toEqual([]);
    expect(axisOf(asking(60_000), BEGIN + 95_000).folds).toHaveLength(1);
  });

  test("folds of many waits leave half of the width", () => {
    const steps = Array.from({ length: 20 }, (_, n) => reply(n * 20_000, n * 20_000 + 100));
    const { folds } = axisOf(steps, BEGIN + 400_000);
    expect(folds.length).toBeGreaterThan(18);
    expect(folds.reduce((sum, { width }) => sum + width, 0)).toBeLessThanOrEqual(48.1);
  });
});
