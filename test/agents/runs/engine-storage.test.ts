// A temporarily failing disk or database: received data is kept until stored.
import { afterEach, describe, expect, test } from "bun:test";
import type { RunStore } from "../../../src/agents/runs/store/index.ts";
import { FINAL } from "../../../src/agents/runs/transitions.ts";
import { DatabaseUnavailable } from "../../../src/database/index.ts";
import { outcomesOf, verifyLog } from "./log.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, makeSender, pin } from "./senders.ts";
import { add, call, script, type Trial } from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

const WRITES = ["plan", "settle", "intend", "note", "finish"] as const;
type Method = (typeof WRITES)[number] | "load";
type Work = (...args: unknown[]) => Promise<unknown>;
const unavailable = () => new DatabaseUnavailable("the disk of /data is full: make room");

/** Fails this many times, before or after the commit, and then works. */
function failing(methods: readonly Method[], times: number, where: "before" | "behind") {
  const counts = new Map<Method, number>();
  const wrapOne = (store: RunStore, method: Method): [Method, Work] => {
    const work = store[method] as Work;
    const failingWork: Work = async (...args) => {
      const count = counts.get(method) ?? 0;
      if (count >= times) return work(...args);
      counts.set(method, count + 1);
      if (where === "behind") await work(...args);
      throw unavailable();
    };
    return [method, failingWork];
  };
  const wrap = (store: RunStore) => ({
    ...store,
    ...Object.fromEntries(methods.map((method) => wrapOne(store, method))),
  });
  return { counts, wrap };
}

const endAfterPauses = (trial: Trial, id: string) =>
  trial.until(async () => {
    await trial.clock.advance(500);
    const row = await trial.find(id);
    return FINAL.has(row.status) && row;
  });

async function runOnce(fault: ReturnType<typeof failing>) {
  const receiver = createReceiver();
  const trial = await open(script(call(["pay", { n: 1 }], add())), {
    ...pin([makeSender("pay", receiver, { risk: "write" })], { unattended_writes: true }),
    wrap: fault.wrap,
  });
  const id = await trial.run();
  const row = await endAfterPauses(trial, id);
  return { receiver, trial, id, row };
}

describe.each(["before", "behind"] as const)("a storage that fails %s its commit", (where) => {
  test.each(WRITES)("in %s keeps received data, and writes it once", async (one) => {
    const fault = failing([one], 3, where);
    const { receiver, trial, id, row } = await runOnce(fault);
    expect(row).toMatchObject({ status: "succeeded", recoveries: 0, usage: { tool_calls: 2 } });
    expect(receiver.times()).toEqual([1]);
    expect(await outcomesOf(trial, id)).toEqual(["ok", "ok"]);
    const ids = (await trial.steps(id)).map((step) => step.id);
    expect(new Set(ids).size).toBe(ids.length);
    await verifyLog(trial, id);
    expect(trial.lines).toEqual([]);
  });
});

test("a temporarily unreadable log is read later, and no recovery is counted", async () => {
  const fault = failing(["load"], 3, "before");
  const { row } = await runOnce(fault);
  expect(row).toMatchObject({ status: "succeeded", recoveries: 0 });
});

test("a tool that cannot read its data is run again, and has no unknown outcome", async () => {
  let times = 0;
  const receiver = createReceiver(() => {
    times++;
    if (times < 3) throw unavailable();
    return { outcome: "ok", content: "done", external: false };
  });
  const trial = await open(script(call(["pay", { n: 1 }])), {
    ...pin([makeSender("pay", receiver, { risk: "write" })], { unattended_writes: true }),
  });
  const id = await trial.run();
  expect(await endAfterPauses(trial, id)).toMatchObject({ status: "succeeded" });
  expect(times).toBe(3);
  expect(await outcomesOf(trial, id)).toEqual(["ok"]);
});
