// The steps of a run, whole and in parts.
import { expect, test } from "bun:test";
import { expectRefusal } from "./refusal.ts";
import { type Json, makeSteps, startRuns } from "./runs-front.ts";

const seqs = ({ data }: Json) => data.map(({ seq }: Json) => seq);

test("agents.endpoints.runs.get_runs_id_steps, agents.does.step, agents.resources.step, agents.limits.steps: steps come in order, all of them without parameters, else after `after_seq` and at most `limit`", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const path = `/v1/runs/${run.id}/steps`;
  expect(await front.read(path)).toEqual({ data: [] });
  const epoch = await front.claim();
  const steps = makeSteps(520);
  await front.store.note(front.record(run, epoch, { steps: steps.slice(0, 3) }));
  await front.clock.advance(1_000);
  await front.store.note(front.record(run, epoch, { steps: steps.slice(3) }));
  const whole = await front.read(path);
  expect(Object.keys(whole)).toEqual(["data"]);
  expect(seqs(whole)).toEqual(steps.map((_, i) => i + 1));
  expect(whole.data[3]).toEqual({
    id: steps[3]!.id,
    run_id: run.id,
    seq: 4,
    kind: "system",
    round: 1,
    created_at: "2026-11-20T12:00:01.000Z",
    data: { event: "model_retry", message: "Try 4." },
  });
  expect(seqs(await front.read(`${path}?after_seq=0`))).toHaveLength(500);
  expect(seqs(await front.read(`${path}?after_seq=515`))).toEqual([516, 517, 518, 519, 520]);
  expect(seqs(await front.read(`${path}?after_seq=2&limit=2`))).toEqual([3, 4]);
  expect(seqs(await front.read(`${path}?limit=1`))).toEqual([1]);
  expect(seqs(await front.read(`${path}?after_seq=2147483647`))).toEqual([]);
});

test("agents.endpoints.runs.get_runs_id_steps: unknown parameters are ignored, invalid ones refused", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const path = `/v1/runs/${run.id}/steps`;
  expect(await front.read(`${path}?page=2&before=x`)).toEqual({ data: [] });
  for (const [name, value] of [
    ["after_seq", "-1"],
    ["after_seq", "2147483648"],
    ["after_seq", "x"],
    ["limit", "0"],
    ["limit", "501"],
  ]) {
    await expectRefusal(await front.get(`${path}?${name}=${value}`), 400, undefined, name!);
  }
});
