// Tests the operator's run commands: lists, one with its steps, and a followed one.
import { expect, test } from "bun:test";
import type { Account } from "../../src/access/index.ts";
import { walkAccounts } from "../../src/admin/accounts.ts";
import { AdminError } from "../../src/admin/index.ts";
import { makeSteps, startRuns } from "../spec/agents/runs-front.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const ANY = { account: null, agent: null, status: null, limit: 20 };

test("runs are listed newest first, by account, agent or status", async () => {
  await using front = await startRuns();
  const { runs } = front.app.admin;
  const first = await front.begin();
  await front.clock.advance(1_000);
  const key = "svc_sk_test-other";
  const theirs = await front.createAgent({}, { key });
  const path = `/v1/agents/${theirs.id}/runs`;
  await front.post(path, { input: { message: "x" } }, { key });
  await front.clock.advance(1_000);
  const last = await front.begin();
  await front.finish(first);
  const list = async (wish: Partial<typeof ANY | { [name: string]: string }>) =>
    (await runs.list({ ...ANY, ...wish } as typeof ANY)).map((run) => [run.account, run.status]);
  const [mine, other, done] = [
    ["dev", "running"],
    ["other", "queued"],
    ["dev", "succeeded"],
  ];
  expect(await list({})).toEqual([mine!, other!, done!]);
  expect(await list({ limit: 2 } as never)).toEqual([mine!, other!]);
  expect(await list({ account: "other" })).toEqual([other!]);
  expect(await list({ agent: front.agent.id.toUpperCase() })).toEqual([mine!, done!]);
  expect(await list({ agent: front.agent.id, account: "other" })).toEqual([]);
  expect(await list({ status: "succeeded" })).toEqual([done!]);
  const [newest, others] = await runs.list(ANY);
  expect(newest).toMatchObject({ id: last.id, cost: 0, rounds: 0, agent_name: front.agent.name });
  expect(others).toMatchObject({ title: "x", agent_name: theirs.name });
  for (const wrong of [{ agent: "x" }, { agent: UNKNOWN }, { account: "no" }]) {
    expect(runs.list({ ...ANY, ...wrong })).rejects.toBeInstanceOf(AdminError);
  }
});

test("runs of the same moment are listed by their ids, also of several accounts", async () => {
  await using front = await startRuns();
  const key = "svc_sk_test-other";
  const theirs = await front.createAgent({}, { key });
  for (let n = 0; n < 2; n++) {
    await front.askStart();
    await front.post(`/v1/agents/${theirs.id}/runs`, { input: { message: "x" } }, { key });
  }
  const listed = (await front.app.admin.runs.list(ANY)).map(({ id }) => id);
  expect(listed).toHaveLength(4);
  expect(listed).toEqual(listed.toSorted().reverse());
});

test("a walk of many accounts lets other work go on", async () => {
  const accounts = Array.from({ length: 1_000 }, (_, n) => ({ id: `a-${n}` }) as Account);
  let turns = 0;
  const count = () => {
    turns += 1;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  const walked: Account[] = [];
  for await (const account of walkAccounts(accounts)) walked.push(account);
  clearImmediate(turn);
  expect(walked).toEqual(accounts);
  expect(turns).toBeGreaterThan(5);
});

test("a run's steps are listed after a number", async () => {
  await using front = await startRuns();
  const { runs } = front.app.admin;
  const run = await front.begin();
  await front.finish(run, "failed", { steps: makeSteps(205) });
  const steps = await runs.listSteps(run.id.toUpperCase(), 100);
  expect(steps.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, i) => i + 101));
  expect((await runs.listSteps(run.id, 203, 1)).map(({ seq }) => seq)).toEqual([204]);
  expect(await runs.listSteps(run.id, 205)).toEqual([]);
  expect(runs.listSteps(UNKNOWN, 0)).rejects.toBeInstanceOf(AdminError);
  expect(runs.require("svc_sk_secret")).rejects.toThrow(/^(?!.*secret)/);
});
