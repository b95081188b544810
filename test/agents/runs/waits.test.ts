// Waits for changes of runs, by the preference `wait` of RFC 7240.
import { expect, test } from "bun:test";
import type { Caller } from "../../../src/access/index.ts";
import type { RunPosition } from "../../../src/agents/runs/store/reads.ts";
import { hasEnded, RunWaits, readWait } from "../../../src/agents/runs/waits.ts";
import type { WakeListener } from "../../../src/database/store.ts";
import { createLog } from "../../../src/platform/log.ts";
import { add, beginAsking, decide, startAsking } from "../../spec/agents/approvals-front.ts";
import { type Json, makeSteps, startRuns } from "../../spec/agents/runs-front.ts";
import { storeKey } from "../../support/access.ts";
import { createManualClock } from "../../support/clock.ts";

const prefer = (value: string) => ({ headers: { prefer: value } });
const APPLIED = "preference-applied";
const readRun = async (response: Response) => (await response.json()) as Json;

test("wait is read among other preferences, up to 60 seconds", () => {
  const read = (value: string) => readWait(new Request("http://localhost", prefer(value)));
  expect(["wait=30", "Wait = 5", 'respond-async, wait="7"; x=1'].map(read)).toEqual([30, 5, 7]);
  expect(["wait=61", "wait=999999999"].map(read)).toEqual([60, 60]);
  expect(["", "wait", "wait=-1", "wait=1.5", "await=3", "x=wait=3"].map(read)).toEqual(
    Array(6).fill(null),
  );
  expect(readWait(new Request("http://localhost"))).toBeNull();
});

test("a start waits until its run has ended", async () => {
  await using front = await startAsking();
  const path = `/v1/agents/${front.agent.id}/runs`;
  const body = { input: { message: "!say Done." } };
  const response = await front.post(path, body, prefer("wait=30"));
  expect([response.status, response.headers.get(APPLIED)]).toEqual([202, "wait=30"]);
  expect(await response.json()).toMatchObject({
    status: "succeeded",
    output: { message: "Done." },
  });
  const plain = await front.post(path, body);
  expect([plain.status, plain.headers.get(APPLIED)]).toEqual([202, null]);
  expect(await plain.json()).toMatchObject({ status: "queued", output: null });
});

test("a rerun waits like a start, until it has ended or waits for a person", async () => {
  await using front = await startAsking();
  const path = `/v1/agents/${front.asking.id}/runs`;
  const body = { input: { message: add("1+1") } };
  const { id } = await readRun(await front.post(path, body, prefer("wait=60")));
  await front.post(`/v1/runs/${id}/cancel`, undefined);
  const again = `/v1/runs/${id}/rerun`;
  const response = await front.post(again, { tools: "live" }, prefer("wait=61"));
  expect([response.status, response.headers.get(APPLIED)]).toEqual([202, "wait=60"]);
  expect(await response.json()).toMatchObject({ rerun_of: id, status: "waiting_approval" });
  const said = { input: { message: "!say Done." } };
  const ended = await readRun(await front.post(again, said, prefer("wait=30")));
  expect(ended).toMatchObject({ status: "succeeded", output: { message: "Done." } });
  const plain = await front.post(again, said);
  expect([plain.status, plain.headers.get(APPLIED)]).toEqual([202, null]);
  expect(await plain.json()).toMatchObject({ status: "queued", output: null });
});

test("a start waits until its run waits for a person, and a read until anything changes", async () => {
  await using front = await startAsking();
  const body = { input: { message: add("1+1") } };
  const path = `/v1/agents/${front.asking.id}/runs`;
  const run = await readRun(await front.post(path, body, prefer("wait=60")));
  expect(run.status).toBe("waiting_approval");
  const reading = front.get(`/v1/runs/${run.id}`, prefer("wait=60"));
  await decide(front, run.pending_approvals[0], "approve");
  const reply = await reading;
  expect([reply.status, reply.headers.get(APPLIED)]).toEqual([200, "wait=60"]);
  expect((await readRun(reply)).pending_approvals).toEqual([]);
});

test("a read is answered at each step, at once for a final run, and at the latest when its time is over", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const path = `/v1/runs/${run.id}`;
  const epoch = await front.claim();
  let isOver = false;
  const read = () => front.get(path, prefer("wait=10")).finally(() => (isOver = true));
  const reading = read();
  await front.clock.advance(9_999);
  expect(isOver).toBe(false);
  await front.store.note(front.record(run, epoch, { steps: makeSteps(1) }));
  await reading;
  isOver = false;
  const other = read();
  await front.clock.advance(9_999);
  expect(isOver).toBe(false);
  await front.clock.advance(1);
  const late = await other;
  expect([late.headers.get(APPLIED), (await readRun(late)).status]).toEqual(["wait=10", "running"]);
  const final = await front.begin();
  await front.post(`/v1/runs/${final.id}/cancel`, undefined);
  const ended = await front.get(`/v1/runs/${final.id}`, prefer("wait=60"));
  expect([ended.headers.get(APPLIED), (await readRun(ended)).status]).toEqual([
    "wait=60",
    "cancelled",
  ]);
});

test("a key has 20 waits, and what is above is answered at once", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const read = () => front.get(`/v1/runs/${run.id}`, prefer("wait=60"));
  const waiting = Array.from({ length: 20 }, read);
  await front.clock.advance(0);
  const more = await read();
  expect([more.status, more.headers.get(APPLIED)]).toEqual([200, null]);
  await front.post(`/v1/runs/${run.id}/cancel`, undefined);
  for (const reply of await Promise.all(waiting))
    expect((await readRun(reply)).status).toBe("cancelled");
  expect((await read()).headers.get(APPLIED)).toBe("wait=60");
});

test("a caller who leaves, a revoked key and a stop end a wait", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const path = `/v1/runs/${run.id}`;
  const before = front.clock.pending();
  const leaving = new AbortController();
  const left = front.get(path, { ...prefer("wait=60"), signal: leaving.signal });
  await front.clock.advance(0);
  leaving.abort();
  await left.catch(() => {});
  await front.clock.advance(0);
  expect(front.clock.pending()).toBe(before);
  const { account_id, app } = front;
  const { key, secret } = await storeKey(app.access, { account_id, scopes: ["agents"] });
  const revoked = front.get(path, { ...prefer("wait=60"), key: secret });
  await front.clock.advance(0);
  await app.admin.keys.revoke(key.id);
  expect((await revoked).status).toBe(200);
});

test("a start above the waits of its key is still made, once", async () => {
  await using front = await startAsking();
  const { run } = await beginAsking(front, add("2+2"));
  const waits = Array.from({ length: 20 }, () =>
    front.get(`/v1/runs/${run.id}`, prefer("wait=60")),
  );
  await front.clock.advance(0);
  const path = `/v1/agents/${front.agent.id}/runs`;
  const started = await front.post(path, { input: { message: "Hi" } }, prefer("wait=60"));
  expect([started.status, started.headers.get(APPLIED)]).toEqual([202, null]);
  await front.post(`/v1/runs/${run.id}/cancel`, undefined);
  await Promise.all(waits);
});

test("a change that comes while a wait reads its run is seen", async () => {
  let wake: WakeListener = () => {};
  const at = { status: "running", last_seq: 1, started_at: 1 } as const;
  const positions: RunPosition[] = [at, { ...at, status: "succeeded" }];
  const clock = createManualClock();
  const findPosition = async () => {
    const position = positions.shift()!;
    wake("run", true);
    return position;
  };
  const listen = (_: string, heard: WakeListener) => {
    wake = heard;
    return () => {};
  };
  const waits = new RunWaits({
    ...{ name: "waits", runs: { findPosition }, database: { listen }, clock },
    ...{ findCaller: async () => ({}) as Caller, log: createLog(clock, () => {}, false) },
  });
  const asked = { key_id: "key", run_id: "run", signal: new AbortController().signal };
  const over = waits.follow({ ...asked, timeoutMs: 1_000, isOver: hasEnded });
  for (let turn = 0; turn < 10; turn++) await clock.advance(0);
  expect([Bun.peek.status(over), positions.length]).toEqual(["fulfilled", 0]);
  waits.stop();
});
