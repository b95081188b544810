// Tests that compute Workers have a time limit, and that an error affects only its own job.
import { afterEach, expect, test } from "bun:test";
import { ComputePool, type ComputeService } from "../../src/compute/index.ts";
import { createLog } from "../../src/platform/log.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { COUNT, ECHO, EXIT, LOOP, THROW } from "../support/compute-worker.ts";

const script = new URL("../support/compute-worker.ts", import.meta.url);
const turn = { account: "a-1" };
let pool: ComputeService;
let clock: ManualClock;
let lines: Record<string, unknown>[] = [];
const open = (from = script) => {
  const logged: Record<string, unknown>[] = [];
  lines = logged;
  clock = createManualClock();
  const log = createLog(clock, (line) => void logged.push(JSON.parse(line)), false);
  pool = new ComputePool({ script: from, clock, log });
};
afterEach(() => pool?.stop(0));

test("a task's result is returned as data", async () => {
  open();
  const input = { text: "🐪", list: [1, null], bytes: new Uint8Array([1, 2]) };
  expect(await pool.run(ECHO, input, turn)).toEqual({ ok: true, value: input });
  expect(lines).toEqual([]);
});

test("a task beyond its time limit is terminated, and others continue", async () => {
  open();
  const stuck = pool.run(LOOP, null, turn);
  const behind = pool.run(ECHO, 1, turn);
  expect(await pool.run(ECHO, 2, { account: "a-2" })).toEqual({ ok: true, value: 2 });
  await clock.advance(999);
  expect(await pool.run(ECHO, 3, { account: "a-2" })).toEqual({ ok: true, value: 3 });
  await clock.advance(1);
  expect(await stuck).toEqual({ ok: false, reason: "timeout" });
  expect(await behind).toEqual({ ok: true, value: 1 });
  expect(lines).toMatchObject([{ level: "warn", code: "loop" }]);
});

test("accounts take turns, and none has more than one Worker at once", async () => {
  open();
  const stuck = Array.from({ length: 3 }, () => pool.run(LOOP, null, turn));
  for (let n = 0; n < 20; n++) {
    const account = `b-${n % 2}`;
    expect(await pool.run(ECHO, n, { account })).toEqual({ ok: true, value: n });
  }
  for (const _ of stuck) await clock.advance(1_000);
  for (const one of stuck) expect(await one).toEqual({ ok: false, reason: "timeout" });
});

test("an error of a task is logged with its stack, and its Worker continues", async () => {
  open();
  expect(await pool.run(COUNT, null, turn)).toEqual({ ok: true, value: 1 });
  expect(await pool.run(THROW, "a bug", turn)).toEqual({ ok: false, reason: "failed" });
  expect(await pool.run(COUNT, null, turn)).toEqual({ ok: true, value: 2 });
  expect(lines).toMatchObject([
    { level: "error", code: "throw", error: expect.stringContaining("compute-worker.ts") },
  ]);
});

test("a Worker that exits fails only its own job", async () => {
  open();
  const ending = pool.run(EXIT, null, turn);
  const behind = pool.run(ECHO, 1, turn);
  const beside = pool.run(ECHO, 2, { account: "a-2" });
  expect(await ending).toEqual({ ok: false, reason: "failed" });
  expect(await behind).toEqual({ ok: true, value: 1 });
  expect(await beside).toEqual({ ok: true, value: 2 });
  expect(lines).toMatchObject([{ level: "error", message: "compute: a worker ended" }]);
});

test("a job whose caller left gets no Worker", async () => {
  open();
  const stuck = pool.run(LOOP, null, turn);
  const leaving = new AbortController();
  const left = pool.run(ECHO, 1, { ...turn, signal: leaving.signal });
  leaving.abort();
  expect(await left).toEqual({ ok: false, reason: "aborted" });
  const gone = { ...turn, signal: AbortSignal.abort() };
  expect(await pool.run(ECHO, 1, gone)).toEqual({ ok: false, reason: "aborted" });
  // The other Worker is free for this account.
  expect(await pool.run(ECHO, 1, { ...gone, account: "a-2" })).toEqual({
    ok: false,
    reason: "aborted",
  });
  pool.stop(0);
  expect(await stuck).toEqual({ ok: false, reason: "failed" });
});

test("a job that waits for the Worker of its account begins as that is free", async () => {
  open();
  const both = [1, 2].map((input) => pool.run(ECHO, input, turn));
  expect(await Promise.all(both)).toEqual([1, 2].map((value) => ({ ok: true, value })));
});

test("a job that waits gets the successor of a Worker that exits", async () => {
  open();
  const stuck = pool.run(LOOP, null, turn);
  const ending = pool.run(EXIT, null, { account: "a-2" });
  const waiting = pool.run(ECHO, 1, { account: "a-3" });
  expect(await ending).toEqual({ ok: false, reason: "failed" });
  expect(await waiting).toEqual({ ok: true, value: 1 });
  pool.stop(0);
  await stuck;
});

test("a job that cannot be serialized fails alone, as a bug", async () => {
  open();
  expect(await pool.run(ECHO, () => 1, turn)).toEqual({ ok: false, reason: "failed" });
  expect(await pool.run(ECHO, 1, turn)).toEqual({ ok: true, value: 1 });
});

test("a stopped pool computes nothing more", async () => {
  open();
  pool.stop(0);
  expect(await pool.run(ECHO, 1, turn)).toEqual({ ok: false, reason: "busy" });
});

test.skipIf(process.platform === "win32")(
  "no Worker is started where descriptors are scarce, since that would end the process",
  async () => {
    const program = Bun.fileURLToPath(new URL("../support/compute-scarce.ts", import.meta.url));
    const limited = `ulimit -n 200; exec "${process.execPath}" "${program}"`;
    const child = Bun.spawn(["sh", "-c", limited], { stderr: "inherit" });
    expect(await new Response(child.stdout).json()).toEqual([
      { ok: false, reason: "busy" },
      { ok: true, value: "free" },
    ]);
    expect(await child.exited).toBe(0);
  },
);

test("Workers that fail at their start are not replaced while no job waits", async () => {
  open(new URL("data:text/javascript,throw new Error('no start')"));
  expect(await pool.run(ECHO, 1, turn)).toEqual({ ok: false, reason: "failed" });
  const failing = pool;
  const failures = lines;
  // As long as others start and work.
  for (let n = 0; n < 5; n++) {
    open();
    expect(await pool.run(ECHO, n, turn)).toEqual({ ok: true, value: n });
    pool.stop(0);
  }
  failing.stop(0);
  expect(failures.length).toBeLessThanOrEqual(2);
});
