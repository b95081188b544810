// Runs whose process stops, dies, or is considered dead.
import { afterEach, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { BuiltinTool } from "../../../src/agents/tools/contract.ts";
import { DatabaseUnusable } from "../../../src/database/index.ts";
import type { InternalChatRequest } from "../../../src/gateway/index.ts";
import { createCut } from "./cut.ts";
import { kindsOf, resultsOf, verifyLog, within } from "./log.ts";
import {
  add,
  answer,
  call,
  failing,
  type Model,
  openTrial,
  say,
  type Trial,
  type TrialOptions,
  untilAborted,
} from "./trial.ts";

const open: Trial[] = [];
/** Starts a process; those of one test share database and clock. */
const begin = async (model: Model, options: TrialOptions = {}) => {
  const { database, clock } = open[0] ?? {};
  const seed = open.length + 1;
  const trial = await openTrial(model, { database, clock, seed, ...options });
  open.push(trial);
  return trial;
};
afterEach(async () => {
  for (const trial of open.slice(1)) await trial.stop();
  for (const trial of open.splice(0, 1)) await trial.close();
  open.length = 0;
});

describe("one of several processes", () => {
  test("finds runs and cancels that nobody has told it of by its next heartbeat", async () => {
    const first = await begin(async () => say("done"));
    // As if each writer died between its commit and the notification.
    const database = { ...first.database, listen: () => () => {} };
    const deaf = await begin(
      async (_ask, signal, turn) => {
        if (turn === 0) return say("done");
        return untilAborted(signal);
      },
      { database, isShared: true },
    );
    await deaf.engine.start();
    const id = await deaf.run();
    await deaf.clock.advance(2_000);
    expect(await deaf.ended(id)).toMatchObject({ status: "succeeded" });
    const endless = await deaf.run();
    await deaf.clock.advance(2_000);
    await deaf.until(async () => deaf.asks.length === 2);
    await deaf.cancel(endless);
    await deaf.clock.advance(2_000);
    expect(await deaf.ended(endless)).toMatchObject({ status: "cancelled" });
  });
});

describe("a pause", () => {
  test("releases a run after its round and begins none; with its end all go on", async () => {
    const go = Promise.withResolvers<void>();
    const first = await begin(async (_ask, _signal, turn) => {
      if (turn > 0) return say("done");
      await go.promise;
      return call(add());
    });
    await first.engine.start();
    const id = await first.run();
    await first.until(async () => first.asks.length === 1);
    const paused = first.engine.pause();
    go.resolve();
    await paused;
    await first.until(async () => (await first.find(id))!.epoch === 0);
    const later = await first.run();
    await first.clock.advance(60_000);
    expect(first.asks).toHaveLength(1);
    first.engine.resume();
    for (const run of [id, later]) {
      expect(await first.ended(run)).toMatchObject({ status: "succeeded", recoveries: 0 });
    }
    expect(first.asks).toHaveLength(3);
    await verifyLog(first, id);
  });
});

describe("a stop", () => {
  test("starts no further round; active runs continue at the next start, not counted as recovered", async () => {
    const go = Promise.withResolvers<void>();
    const first = await begin(async () => {
      await go.promise;
      return call(add());
    });
    await first.engine.start();
    const id = await first.run();
    await first.until(async () => first.asks.length === 1);
    first.engine.drain();
    await first.clock.advance(7_000);
    const stopped = first.engine.stop(30_000);
    go.resolve();
    await stopped;
    const row = await first.find(id);
    expect(row).toMatchObject({ status: "running", epoch: 0, worked_ms: 7_000, recoveries: 0 });
    expect(await kindsOf(first, id)).toEqual(["assistant", "tool_call", "tool_result"]);

    const second = await begin(() => say("done"));
    await second.engine.start();
    expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 0 });
    expect(second.asks).toHaveLength(1);
    await verifyLog(second, id);
  });

  test("claims no run that is started meanwhile", async () => {
    const first = await begin(() => say("done"));
    await first.engine.start();
    first.engine.drain();
    const id = await first.run();
    await first.engine.stop(30_000);
    expect(await first.find(id)).toMatchObject({ status: "queued", started_at: null });
    expect(first.asks).toEqual([]);
  });

  test("ends a run whose budget is used up, as it would begin no further round", async () => {
    const go = Promise.withResolvers<void>();
    const first = await begin(
      async () => {
        await go.promise;
        return call(add());
      },
      within({ max_total_tokens: 110 }),
    );
    await first.engine.start();
    const id = await first.run();
    await first.until(async () => first.asks.length === 1);
    first.engine.drain();
    go.resolve();
    expect(await first.ended(id)).toMatchObject({ error: { code: "max_total_tokens" } });
    await verifyLog(first, id);
  });

  test("aborts at its deadline model requests and tools that still run", async () => {
    const slow: BuiltinTool = {
      ...{ name: "web_search", title: "", description: "", risk: "read", revision: 1 },
      ...{ external_content: false, timeout_ms: 600_000, isFree: true },
      parameters: Type.Object({}),
      async run({ signal }) {
        await untilAborted(signal);
        return { outcome: "timeout", content: "late", external: false };
      },
    };
    const first = await begin(
      (ask, signal) =>
        JSON.stringify(ask).includes("with tools")
          ? call(add(), ["web_search", {}])
          : untilAborted(signal),
      { tools: [slow] },
    );
    await first.engine.start();
    const [asking, calling] = [await first.run("without"), await first.run("with tools")];
    await first.until(async () => (await first.find(calling)).usage.tool_calls === 1);
    const stopped = first.engine.stop(30_000);
    await first.clock.advance(30_000);
    await stopped;
    expect(await first.find(asking)).toMatchObject({ status: "running", epoch: 0, last_seq: 0 });
    expect(await first.find(calling)).toMatchObject({ status: "running", epoch: 0 });

    // Only the call without a result is repeated.
    const second = await begin(() => say("done"));
    await second.engine.start();
    for (const id of [asking, calling]) {
      expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 0 });
      await verifyLog(second, id);
    }
    expect((await resultsOf(second, calling)).map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
  });

  test("releases at once a run that pauses before a retry of its model", async () => {
    const first = await begin(() => failing("model_offline"));
    await first.engine.start();
    const id = await first.run();
    await first.until(async () => (await first.steps(id)).length === 1);
    await first.engine.stop(30_000);
    expect(await first.find(id)).toMatchObject({ status: "running", epoch: 0 });
  });

  test("waits a second past its deadline for the runs that it broke off", async () => {
    const releasing = Promise.withResolvers<void>();
    const first = await begin((_ask, signal) => untilAborted(signal), {
      wrap: (store) => ({
        ...store,
        async release() {
          releasing.resolve();
          return new Promise<never>(() => undefined);
        },
      }),
    });
    await first.engine.start();
    await first.run();
    await first.until(async () => first.asks.length === 1);
    let isStopped = false;
    const stopped = first.engine.stop(5_000).then(() => {
      isStopped = true;
    });
    await first.clock.advance(5_000);
    await releasing.promise;
    await first.clock.advance(999);
    expect(isStopped).toBe(false);
    await first.clock.advance(1);
    await stopped;
  });

  test("still ends a run whose key ends before the deadline (agents.authentication.1)", async () => {
    const first = await begin((_ask, signal) => untilAborted(signal));
    await first.engine.start();
    const id = await first.run();
    await first.until(async () => first.asks.length === 1);
    const stopped = first.engine.stop(30_000);
    await first.endKey();
    await stopped;
    expect(await first.find(id)).toMatchObject({
      ...{ status: "failed", error: { code: "permission_denied" } },
    });
  });

  test("waits for a claim in flight, whose runs are not counted as recovered either", async () => {
    const go = Promise.withResolvers<void>();
    const claiming = Promise.withResolvers<void>();
    const releasing = Promise.withResolvers<void>();
    const mayRelease = Promise.withResolvers<void>();
    const first = await begin(() => say("never"), {
      wrap: (store) => ({
        ...store,
        async claim(...args) {
          const rows = await store.claim(...args);
          claiming.resolve();
          await go.promise;
          return rows;
        },
        async release(...args) {
          releasing.resolve();
          await mayRelease.promise;
          return store.release(...args);
        },
      }),
    });
    await first.engine.start();
    const id = await first.run();
    await claiming.promise;
    let isStopped = false;
    const stopped = first.engine.stop(30_000).then(() => {
      isStopped = true;
    });
    go.resolve();
    await releasing.promise;
    for (let turns = 0; turns < 10; turns++) await first.clock.advance(0);
    expect(isStopped).toBe(false);
    mayRelease.resolve();
    await stopped;
    expect(await first.find(id)).toMatchObject({ epoch: 0, recoveries: 0 });
    expect(first.asks).toHaveLength(0);
  });
});

describe("a run whose process died", () => {
  test("five times without progress is requeued; the sixth time ends it with crash_loop", async () => {
    let id = "";
    for (let process = 0; process <= 5; process++) {
      const cut = createCut();
      const trial = await begin(() => {
        cut.die();
        return untilAborted(new AbortController().signal);
      }, cut.wraps);
      await trial.engine.start();
      if (process === 0) id = await trial.run();
      await cut.reached.promise;
      const counted = { recoveries: process, crashes: process };
      expect(await trial.find(id)).toMatchObject({ status: "running", ...counted });
    }
    const last = await begin(() => say("never"));
    await last.engine.start();
    expect(await last.find(id)).toMatchObject({
      ...{ status: "failed", error: { code: "crash_loop" }, recoveries: 5, epoch: 0 },
    });
    await verifyLog(last, id);
    expect(last.asks).toHaveLength(0);
    expect((await last.outbox.list("a-1")).map(({ type }) => type)).toEqual(["run.failed"]);
  });

  test("eight times with progress between is requeued each time, and counts every recovery", async () => {
    let id = "";
    for (let process = 0; process < 8; process++) {
      const cut = createCut(2);
      const trial = await begin(() => call(add()), cut.wraps);
      await trial.engine.start();
      if (process === 0) id = await trial.run();
      await cut.reached.promise;
      expect(await trial.find(id)).toMatchObject({ recoveries: process, crashes: 0 });
    }
    const last = await begin(() => say("done"));
    await last.engine.start();
    expect(await last.ended(id)).toMatchObject({ status: "succeeded", recoveries: 8 });
    await verifyLog(last, id);
  });

  test("does not fail with another run that keeps crashing: suspects run one at a time", async () => {
    const isPoison = (ask: InternalChatRequest) => JSON.stringify(ask).includes("poison");
    const ids: string[] = [];
    let poison = "";
    let crashes = 0;
    const start = async () => {
      const cut = createCut();
      const trial = await begin((ask, signal) => {
        if (!isPoison(ask)) return crashes < 2 ? untilAborted(signal) : say("done");
        crashes += 1;
        cut.die();
        return untilAborted(signal);
      }, cut.wraps);
      await trial.engine.start();
      return { trial, cut };
    };
    const first = await start();
    for (let n = 0; n < 20; n++) ids.push(await first.trial.run("innocent"));
    poison = await first.trial.run("poison");
    await first.cut.reached.promise;
    for (let process = 1; process <= 5; process++) await (await start()).cut.reached.promise;
    const last = (await start()).trial;
    expect(await last.ended(poison)).toMatchObject({ error: { code: "crash_loop" } });
    for (const id of ids) {
      expect(await last.ended(id)).toMatchObject({ status: "succeeded", recoveries: 2 });
    }
    expect(crashes).toBe(6);
  });

  test("is requeued after ten seconds of silence if other processes use the database", async () => {
    const first = await begin((_ask, signal) => untilAborted(signal), {
      isShared: true,
      // The cut-off process sends no heartbeat and writes nothing, unaware of it.
      wrapProcesses: (store) => ({ ...store, beat: () => new Promise<never>(() => undefined) }),
    });
    await first.engine.start();
    const id = await first.run();
    await first.until(async () => first.asks.length === 1);
    const second = await begin(() => say("done"), { isShared: true });
    await second.engine.start();
    await first.clock.advance(9_999);
    expect(await second.find(id)).toMatchObject({ status: "running", epoch: 1, recoveries: 0 });
    await first.clock.advance(2_001);
    expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 1 });
  });

  test("continues elsewhere if its living process is declared dead, which registers again", async () => {
    const late = Promise.withResolvers<void>();
    const first = await begin(
      async () => {
        await late.promise;
        return say("too late");
      },
      { isShared: true },
    );
    await first.engine.start();
    const id = await first.run();
    await first.until(async () => first.asks.length === 1);
    const second = await begin(() => say("in time"), { isShared: true });
    await second.engine.start();
    await second.processes.end(1, 0);
    const findings = [{ run_id: id, fresh: ["s-x"], cause: "crash", hungCall: null } as const];
    await second.store.reclaim(findings, [1], 0);
    expect(await second.ended(id)).toMatchObject({ output: { message: "in time" } });
    await first.clock.advance(2_000);
    late.resolve();
    await first.clock.advance(2_000);
    expect(await first.find(id)).toMatchObject({ output: { message: "in time" }, recoveries: 1 });
    expect(first.lines.map(({ message }) => message)).toEqual([
      "process: declared dead by another process; it continues with a new epoch",
    ]);
    await verifyLog(first, id);

    await second.engine.stop(0);
    expect(await first.ended(await first.run())).toMatchObject({ status: "succeeded" });
  });
});

test("a process that claims its own run again keeps it when the first execution ends", async () => {
  const late = Promise.withResolvers<void>();
  const trial = await begin(
    async (_ask, signal, turn) => {
      if (turn > 0) return untilAborted(signal);
      await late.promise;
      return say("too late");
    },
    { isShared: true },
  );
  await trial.engine.start();
  const id = await trial.run();
  await trial.until(async () => trial.asks.length === 1);
  await trial.processes.end(1, 0);
  await trial.clock.advance(2_000);
  await trial.until(async () => trial.asks.length === 2);
  late.resolve();
  await trial.clock.advance(10_000);
  expect(trial.engine.executing).toBe(1);
  await trial.cancel(id);
  expect(await trial.ended(id)).toMatchObject({ status: "cancelled", recoveries: 1 });
  await verifyLog(trial, id);
});

test.each([
  [true, ["ok", "cancelled"]],
  [false, ["ok"]],
])("the calls that a run's end closes are counted where it is written: %p", async (...row) => {
  const [isWritten, expected] = row;
  const counted: string[] = [];
  const stuck: BuiltinTool = {
    ...{ name: "web_search", title: "", description: "", risk: "read", revision: 1 },
    ...{ external_content: false, timeout_ms: 600_000, isFree: true },
    parameters: Type.Object({}),
    async run({ signal }) {
      await untilAborted(signal);
      return { outcome: "timeout", content: "late", external: false };
    },
  };
  const trial = await begin(() => call(add(), ["web_search", {}]), {
    tools: [stuck],
    countCall: (outcome) => void counted.push(outcome),
    wrap: (store) => ({ ...store, finish: async (...args) => isWritten && store.finish(...args) }),
  });
  await trial.engine.start();
  const id = await trial.run();
  await trial.until(async () => counted.length === 1);
  await trial.cancel(id);
  await trial.until(async () => trial.engine.executing === 0);
  expect(counted).toEqual(expected);
});

test.each([
  ["succeeded", 1, 1],
  ["failed", 2, 0],
] as const)("a run ends as %s whose round hung before: %d", async (status, times, asks) => {
  const trial = await begin(() => say("done"));
  const id = await trial.run();
  for (let n = 1; n <= times; n++) {
    const finding = { run_id: id, fresh: [`hang-${n}`], hungCall: "round 1" };
    await trial.store.reclaim([{ ...finding, cause: "stray" }], [0], trial.clock.now());
  }
  await trial.engine.start();
  expect(await trial.ended(id)).toMatchObject({ status });
  expect(trial.asks).toHaveLength(asks);
});

describe("a run that a bug drops", () => {
  test("is requeued at the next heartbeat, and counted", async () => {
    const trial = await begin((_ask, _signal, turn) => {
      if (turn === 0) throw new Error("a bug");
      return say("done");
    });
    await trial.engine.start();
    const id = await trial.run();
    await trial.until(async () => trial.lines.length === 1);
    expect(await trial.find(id)).toMatchObject({ status: "running", recoveries: 0 });
    await trial.clock.advance(4_000);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", recoveries: 1 });
  });

  test("twice without progress ends with internal_error", async () => {
    const trial = await begin(() => {
      throw new Error("a bug");
    });
    await trial.engine.start();
    const id = await trial.run();
    await trial.clock.advance(30_000);
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "failed", error: { code: "internal_error" }, recoveries: 1, crashes: 0 },
    });
    expect(trial.asks).toHaveLength(2);
    expect((await trial.outbox.list("a-1")).map(({ type }) => type)).toEqual(["run.failed"]);
    await verifyLog(trial, id);
  });

  test("twice, with progress between, continues", async () => {
    const trial = await begin((_ask, _signal, turn) => {
      if (turn === 0 || turn === 2) throw new Error("a bug");
      return turn === 1 ? call(add()) : say("done");
    });
    await trial.engine.start();
    const id = await trial.run();
    await trial.clock.advance(30_000);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", recoveries: 2 });
  });

  test("for every outage of the database continues", async () => {
    let loads = 0;
    const trial = await begin(() => say("done"), {
      wrap: (store) => ({
        ...store,
        finish: (...args) =>
          ++loads < 4 ? Promise.reject(new DatabaseUnusable("full")) : store.finish(...args),
      }),
    });
    await trial.engine.start();
    const id = await trial.run();
    await trial.clock.advance(30_000);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", recoveries: 3 });
  });
});

test("a run that is accepted while an engine starts is not left waiting", async () => {
  let id = "";
  const trial = await begin(() => say("done"), {
    wrap: (store) => ({
      ...store,
      async listWaiting() {
        const accounts = await store.listWaiting();
        // Too late for the list, so that only its notification tells of the run.
        id = await trial.run();
        return accounts;
      },
    }),
  });
  await trial.engine.start();
  expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
});

describe("a claim", () => {
  test("that fails is retried", async () => {
    let claims = 0;
    const trial = await begin(() => say("done"), {
      wrap: (store) => ({
        ...store,
        claim: (...args) =>
          ++claims < 3 ? Promise.reject(new Error("disk full")) : store.claim(...args),
      }),
    });
    await trial.engine.start();
    const id = await trial.run();
    await trial.clock.advance(2_000);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
    expect(trial.lines.map(({ message }) => message)).toEqual(Array(2).fill("runs: claim failed"));
  });

  test("alternates between accounts: a long queue of one does not delay another", async () => {
    const order: string[] = [];
    const trial = await begin(
      async (ask) => {
        const name = ask.messages.at(-1)!.content as string;
        order.push(name);
        return answer({ content: name });
      },
      { concurrent_runs: 1 },
    );
    for (let n = 0; n < 20; n++) await trial.run("many");
    for (const one of ["b", "c"]) {
      trial.allow({ key_id: `k-${one}`, account_id: one });
      await trial.run(one, { account_id: one, started_by_key_id: `k-${one}` });
    }
    await trial.engine.start();
    await trial.until(async () => order.length === 22);
    expect(order.slice(0, 3).sort()).toEqual(["b", "c", "many"]);
  });

  test("fills the current limit, lowered or raised", async () => {
    const trial = await begin((_ask, signal) => untilAborted(signal), { concurrent_runs: 2 });
    await trial.engine.start();
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) ids.push(await trial.run());
    await trial.until(async () => trial.asks.length === 2);
    trial.limits.concurrent_runs = 4;
    await trial.clock.advance(2_000);
    await trial.until(async () => trial.asks.length === 4);
    trial.limits.concurrent_runs = 1;
    await trial.cancel(ids[0]!);
    await trial.ended(ids[0]!);
    await trial.clock.advance(10_000);
    expect(trial.asks).toHaveLength(4);
    expect(trial.engine.executing).toBe(3);
  });
});
