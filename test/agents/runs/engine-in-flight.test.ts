// Writes in flight, or about to start, when their tool or run changes.
import { afterEach, describe, expect, test } from "bun:test";
import type { ToolResult, ToolUse } from "../../../src/agents/tools/contract.ts";
import { createCut, createCutAt } from "./cut.ts";
import { approvalsOf, decideAll, pendingOf, verifyApprovals } from "./decisions.ts";
import { outcomesOf, resultsOf, verifyLog, within } from "./log.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, done, makeSender, pin, pinWriter, silent, unknown } from "./senders.ts";
import {
  add,
  type CallRequest,
  call,
  say,
  script,
  type Trial,
  type TrialOptions,
} from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

const write = (n = 1): CallRequest => ["write", { n }];
const verify = async (trial: Trial, id: string) => {
  await verifyLog(trial, id);
  await verifyApprovals(trial, id);
};
/** Unknown at the first attempt, done afterwards. */
const onceUnknown = () => createReceiver(({ time }) => (time === 1 ? unknown() : done()));

test("a result that comes during the write of another one is kept, though the run is cancelled then", async () => {
  const going = Promise.withResolvers<void>();
  const receiver = createReceiver(() => going.promise.then(() => done()));
  let settles = 0;
  const trial = await open(script(call(add(), ["look", {}])), {
    ...pin([makeSender("look", receiver, { risk: "read" })]),
    wrap: (store) => ({
      ...store,
      async settle(...args) {
        if (++settles > 1) return store.settle(...args);
        going.resolve();
        for (let turns = 0; turns < 10; turns++) await trial.clock.advance(0);
        await trial.cancel(args[0].run_id);
        return store.settle(...args);
      },
    }),
  });
  const id = await trial.run();
  expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
  expect(await outcomesOf(trial, id)).toEqual(["ok", "ok"]);
  await verify(trial, id);
});

test("a task is stored before it is asked for, also one that begins while another is stored", async () => {
  const storing = Promise.withResolvers<void>();
  const seen: string[] = [];
  const begin = (name: string, turn: Promise<void>) => ({
    ...makeSender(name, createReceiver(), { risk: "read" }),
    async run({ keepTask, now }: ToolUse) {
      await turn;
      await keepTask!({ id: name, ends_at: now() + 60_000 });
      seen.push(`asked for ${name}`);
      return done();
    },
  });
  const trial = await open(script(call(["one", {}], ["two", {}])), {
    ...pin([begin("one", Promise.resolve()), begin("two", storing.promise)]),
    wrap: (store) => ({
      ...store,
      async note(record, ...rest) {
        storing.resolve();
        for (let turns = 0; turns < 10; turns++) await trial.clock.advance(0);
        const recorded = await store.note(record, ...rest);
        const tasks = record.steps.map(({ data }) => JSON.parse(data as string).detail.task_id);
        seen.push(`stored ${tasks}`);
        return recorded;
      },
    }),
  });
  const id = await trial.run();
  expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
  expect(seen).toEqual(["stored one", "asked for one", "stored two", "asked for two"]);
  await verify(trial, id);
});

test.each([
  [false, ["ended", "task one is cancelled"]],
  [true, ["lost"]],
])(
  "a task is cancelled once its run has ended, and by no process that has lost the run: %p",
  async (isLost, expected) => {
    const seen: string[] = [];
    let isKept = false;
    const sender = {
      ...makeSender("one", createReceiver(), { risk: "read" }),
      async run({ keepTask, now }: ToolUse) {
        await keepTask!({ id: "one", ends_at: now() + 60_000 });
        isKept = true;
        return silent();
      },
      cancelTask: async ({ id }: { id: string }) => void seen.push(`task ${id} is cancelled`),
    };
    const trial = await open(script(call(["one", {}])), {
      ...pin([sender]),
      wrap: (store) => ({
        ...store,
        async finish(...args) {
          const isWritten = !isLost && (await store.finish(...args));
          seen.push(isWritten ? "ended" : "lost");
          return isWritten;
        },
      }),
    });
    const id = await trial.run();
    await trial.until(async () => isKept);
    await trial.cancel(id);
    await trial.until(async () => trial.engine.executing === 0);
    expect(seen).toEqual(expected);
  },
);

test("a call that is approved before its round listens starts beside the others", async () => {
  const going = Promise.withResolvers<void>();
  const looking = createReceiver(() => going.promise.then(() => done()));
  const paying = createReceiver();
  const senders = [
    makeSender("look", looking, { risk: "read" }),
    makeSender("pay", paying, { risk: "irreversible" }),
  ];
  const trial = await open(script(call(["look", {}], ["pay", { sum: 1 }])), {
    ...pin(senders),
    wrap: (store) => ({
      ...store,
      async plan(...args) {
        const recorded = await store.plan(...args);
        await decideAll(trial, args[0].run_id, "approved");
        return recorded;
      },
    }),
  });
  const id = await trial.run();
  await trial.until(async () => paying.arrivals.length === 1);
  going.resolve();
  expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
  await verify(trial, id);
});

test("a call that is approved while its round reads decisions starts beside the others", async () => {
  const going = Promise.withResolvers<void>();
  const looking = createReceiver(() => going.promise.then(() => done()));
  const paying = createReceiver();
  const senders = [
    makeSender("look", looking, { risk: "read" }),
    makeSender("pay", paying, { risk: "irreversible" }),
  ];
  let reads = 0;
  const trial = await open(script(call(["look", {}], ["pay", { sum: 1 }])), {
    ...pin(senders),
    wrap: (store) => ({
      ...store,
      async listDecisions(...args) {
        const found = await store.listDecisions(...args);
        if (++reads > 1) return found;
        await decideAll(trial, args[0], "approved");
        // The round is woken before it gets what it has read.
        for (let turns = 0; turns < 10; turns++) await trial.clock.advance(0);
        return found;
      },
    }),
  });
  const id = await trial.run();
  await trial.until(async () => paying.arrivals.length === 1);
  going.resolve();
  expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
  await verify(trial, id);
});

describe("a disabled tool", () => {
  test("between plan and sending is not called; others of the round are", async () => {
    const receiver = createReceiver();
    const sender = (name: string) => makeSender(name, receiver, { risk: "write" });
    const trial = await open(script(call(write(), ["keyed", {}], write(2), add())), {
      ...pin([sender("write"), sender("keyed")], { unattended_writes: true }),
      wrap: (store) => ({
        ...store,
        // After the check of the round's tools, only the intent's own check can detect it.
        async intend(...args) {
          await trial.switchTool("write", "disabled");
          return store.intend(...args);
        },
      }),
    });
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 2 } });
    expect(receiver.arrivals.map(({ tool }) => tool)).toEqual(["keyed"]);
    expect((await outcomesOf(trial, id)).toSorted()).toEqual([
      ...["disabled", "disabled", "ok", "ok"],
    ]);
    await verify(trial, id);
  });

  test("behind the calls of a round is not shown in the next round", async () => {
    const receiver = createReceiver();
    const trial = await open(script(call(["look", {}])), {
      ...pin([makeSender("look", receiver, { risk: "read" })]),
      wrap: (store) => ({
        ...store,
        async settle(...args) {
          const recorded = await store.settle(...args);
          await trial.switchTool("look", "disabled");
          return recorded;
        },
      }),
    });
    await trial.ended(await trial.run());
    const shown = trial.asks.map(({ tools }) => tools.map(({ function: { name } }) => name));
    expect(shown.map((names) => names.includes("look"))).toEqual([true, false]);
  });

  test("during the model's reply is not called, though it only reads", async () => {
    const receiver = createReceiver();
    const model = async (_ask: unknown, _signal: unknown, turn: number) => {
      if (turn === 0) await trial.switchTool("look", "disabled");
      return turn === 0 ? call(["look", {}]) : say("done");
    };
    const trial = await open(model, pin([makeSender("look", receiver, { risk: "read" })]));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 0 } });
    expect(await outcomesOf(trial, id)).toEqual(["disabled"]);
    expect(receiver.arrivals).toEqual([]);
  });

  test("before the approval of its call is not called, though it only reads and others still run", async () => {
    const going = Promise.withResolvers<void>();
    const receiver = createReceiver(async ({ tool }) => {
      if (tool === "slow") await going.promise;
      return done();
    });
    const tools = ["slow", "look"].map((name) => makeSender(name, receiver, { risk: "read" }));
    const trial = await open(
      script(call(["slow", {}], ["look", {}])),
      pin(tools, { require_approval: ["look"] }),
    );
    const id = await trial.run();
    await trial.until(async () => (await pendingOf(trial, id)).length === 1);
    await trial.switchTool("look", "disabled");
    await decideAll(trial, id, "approved");
    await trial.until(async () => (await outcomesOf(trial, id)).length === 1);
    expect(await outcomesOf(trial, id)).toEqual(["disabled"]);
    going.resolve();
    await trial.ended(id);
    expect(receiver.arrivals.map(({ tool }) => tool)).toEqual(["slow"]);
    await verify(trial, id);
  });

  test("while its call's outcome is unknown requests no approval for a repeat", async () => {
    const receiver = onceUnknown();
    const trial = await open(script(call(write())), pinWriter(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await trial.switchTool("write", "disabled");
    await decideAll(trial, id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown"]);
    expect(receiver.times()).toEqual([1]);
    await verify(trial, id);
  });

  test("right after an approval is neither called nor subject to another approval", async () => {
    const receiver = onceUnknown();
    let intents = 0;
    const trial = await open(script(call(write())), {
      ...pinWriter(receiver),
      wrap: (store) => ({
        ...store,
        async intend(...args) {
          if (++intents === 2) await trial.switchTool("write", "disabled");
          return store.intend(...args);
        },
      }),
    });
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await decideAll(trial, id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown"]);
    expect(await approvalsOf(trial, id)).toHaveLength(1);
    expect(receiver.times()).toEqual([1]);
    await verify(trial, id);
  });

  test("and enabled again while its call waits receives it as shown", async () => {
    const receiver = createReceiver();
    const trial = await open(
      script(call(write())),
      pinWriter(receiver, { unattended_writes: false }),
    );
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await trial.switchTool("write", "disabled");
    await trial.switchTool("write", "enabled");
    await decideAll(trial, id, "approved");
    await trial.ended(id);
    expect(await outcomesOf(trial, id)).toEqual(["ok"]);
  });
});

describe("a cancel", () => {
  test("right before a write is sent prevents it, with a known outcome", async () => {
    const receiver = createReceiver();
    const trial = await open(script(call(write(), add())), {
      ...pinWriter(receiver),
      wrap: (store) => ({
        ...store,
        async intend(...args) {
          await trial.cancel(args[0].run_id);
          return store.intend(...args);
        },
      }),
    });
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled", usage: { tool_calls: 0 } });
    expect(await outcomesOf(trial, id)).toEqual(["cancelled", "cancelled"]);
    expect(receiver.arrivals).toEqual([]);
    await verify(trial, id);
  });

  test("while a write's intent is stored leaves it unsent, with an unknown outcome, and runs no read beside it", async () => {
    const receiver = createReceiver();
    const tools = [
      makeSender("write", receiver, { risk: "write" }),
      makeSender("look", receiver, { risk: "read" }),
    ];
    const trial = await open(script(call(write(), ["look", {}])), {
      ...pin(tools, { unattended_writes: true }),
      wrap: (store) => ({
        ...store,
        async intend(...args) {
          const intent = await store.intend(...args);
          await trial.cancel(args[0].run_id);
          return intent;
        },
      }),
    });
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
    expect(await outcomesOf(trial, id)).toEqual(["cancelled", "outcome_unknown"]);
    expect(receiver.arrivals).toEqual([]);
    await verify(trial, id);
  });

  test("while results are written keeps the results of the calls it aborts", async () => {
    const broken = Promise.withResolvers<void>();
    const receiver = createReceiver(async (_arrival, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      broken.resolve();
      return { ...done("It was broken off."), outcome: "error" };
    });
    const look = makeSender("look", receiver, { risk: "read" });
    const trial = await open(script(call(add(), ["look", {}])), {
      ...pin([look]),
      wrap: (store) => ({
        ...store,
        async settle(...args) {
          await trial.cancel(args[0].run_id);
          await broken.promise;
          return store.settle(...args);
        },
      }),
    });
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled", usage: { tool_calls: 1 } });
    expect(await outcomesOf(trial, id)).toEqual(["ok", "cancelled"]);
    await verify(trial, id);
  });
});

test("a process that has lost the run does not send its write, and does nothing more", async () => {
  const receiver = createReceiver();
  let intents = 0;
  const trial = await open(script(call(write())), {
    ...pinWriter(receiver),
    wrap: (store) => ({
      ...store,
      async intend() {
        intents++;
        return { kind: "lost" };
      },
    }),
  });
  await trial.run();
  await trial.until(async () => intents > 0 && trial.engine.executing === 0);
  expect([intents, receiver.arrivals, trial.lines]).toEqual([1, [], []]);
});

/** Ends or releases a run during a write. */
describe("a write in flight", () => {
  const begin = async (options: Partial<TrialOptions> = {}) => {
    const receiver = createReceiver(() => silent());
    const pinned = pinWriter(receiver);
    const version = { ...pinned.version, ...options.version };
    const trial = await open(script(call(write(), ["calculator", { expression: "1" }])), {
      ...pinned,
      ...options,
      version,
    });
    const id = await trial.run();
    await trial.until(async () => (await outcomesOf(trial, id)).length === 1);
    return { receiver, pinned, trial, id };
  };
  const expectUnknown = async (trial: Trial, id: string) => {
    expect(await outcomesOf(trial, id)).toEqual(["ok", "outcome_unknown"]);
    expect(await trial.find(id)).toMatchObject({
      ...{ usage: { tool_calls: 2 }, epoch: 0, external_content: false },
    });
    expect(await approvalsOf(trial, id)).toEqual([]);
    await verify(trial, id);
  };

  test("of a cancelled run has an unknown outcome", async () => {
    const { trial, id, receiver } = await begin();
    await trial.cancel(id);
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
    expect(receiver.times()).toEqual([1]);
    await expectUnknown(trial, id);
  });

  test("of a run past its time budget has an unknown outcome", async () => {
    const { trial, id } = await begin(within({ max_run_seconds: 5 }));
    await trial.clock.advance(5_000);
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "budget_exceeded", error: { code: "max_run_seconds" } },
    });
    await expectUnknown(trial, id);
  });

  test("of a run whose key is revoked has an unknown outcome", async () => {
    const { trial, id } = await begin();
    await trial.endKey();
    expect(await trial.ended(id)).toMatchObject({ error: { code: "permission_denied" } });
    await expectUnknown(trial, id);
  });

  test("of a run that crashes its processes has an unknown outcome", async () => {
    const cut = createCut();
    const { trial, id, pinned } = await begin(cut.wraps);
    cut.die();
    for (let process = 2; process <= 6; process++) {
      // The process dies before an approval is requested.
      const next = createCutAt({ write: "settle", side: "before" });
      await open(script(), { ...pinned, ...next.wraps });
      await next.reached.promise;
    }
    await open(script(), pinned);
    expect(await trial.ended(id)).toMatchObject({ error: { code: "crash_loop" }, recoveries: 5 });
    await expectUnknown(trial, id);
  });

  test("whose tool is disabled at the next start has an unknown outcome, without an approval", async () => {
    const cut = createCut();
    const { trial, id, pinned, receiver } = await begin(cut.wraps);
    cut.die();
    await trial.switchTool("write", "disabled");
    const second = await open(script(say("done")), pinned);
    expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 1 });
    expect(receiver.times()).toEqual([1]);
    await expectUnknown(second, id);
  });

  test("at a stop requests an approval at the next start, as does one without any reply", async () => {
    const { trial, id, pinned, receiver } = await begin();
    const stopped = trial.engine.stop(30_000);
    await trial.clock.advance(31_000);
    await stopped;
    expect(await trial.find(id)).toMatchObject({ status: "running", epoch: 0, recoveries: 0 });
    receiver.answer = () => done();
    const second = await open(script(say("done")), pinned);
    await second.reaches(id, "waiting_approval");
    expect(await pendingOf(second, id)).toMatchObject([{ why: ["outcome_unknown"] }]);
    await decideAll(second, id, "approved");
    expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 0 });
    expect(receiver.times()).toEqual([2]);
    await verify(second, id);
  });

  test("is aborted with a round that a bug ends, and requests an approval", async () => {
    let isAborted = false;
    const receiver = createReceiver((_arrival, { signal }) => {
      signal.addEventListener("abort", () => {
        isAborted = true;
      });
      return silent();
    });
    let isBroken = true;
    const trial = await open(script(call(write(), add())), {
      ...pinWriter(receiver),
      wrap: (store) => ({
        ...store,
        settle(...args) {
          if (isBroken) throw new Error("the disk is full");
          return store.settle(...args);
        },
      }),
    });
    const id = await trial.run();
    await trial.until(async () => trial.lines.length > 0);
    expect(isAborted).toBe(true);
    isBroken = false;
    await trial.clock.advance(5_000);
    await trial.reaches(id, "waiting_approval");
    expect(await trial.find(id)).toMatchObject({ recoveries: 1 });
    expect(await pendingOf(trial, id)).toMatchObject([{ why: ["outcome_unknown"] }]);
    expect(receiver.times()).toEqual([1]);
  });

  test("of a process considered dead requests an approval; a late result changes nothing", async () => {
    const late = Promise.withResolvers<ToolResult>();
    const receiver = createReceiver(() => late.promise);
    const pinned = pinWriter(receiver);
    const first = await open(script(call(write())), {
      ...{ ...pinned, isShared: true },
      wrapProcesses: (store) => ({ ...store, beat: () => new Promise<never>(() => undefined) }),
    });
    const id = await first.run();
    await first.until(async () => receiver.arrivals.length === 1);
    receiver.answer = () => done("again");
    const second = await open(script(say("done")), { ...pinned, isShared: true });
    await first.clock.advance(12_000);
    await second.reaches(id, "waiting_approval");
    late.resolve(done("late"));
    await first.clock.advance(1_000);
    expect(await outcomesOf(second, id)).toEqual([]);
    await decideAll(second, id, "approved");
    expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 1 });
    expect(await resultsOf(second, id)).toMatchObject([{ content: "again" }]);
    await verify(second, id);
  });
});
