// Calls of which nobody knows whether they were done: who is asked, who is told, what is sent again.
import { afterEach, describe, expect, test } from "bun:test";
import type { ToolResult } from "../../../src/agents/tools/contract.ts";
import { createCut, createCutAt } from "./cut.ts";
import { callsOf, judgeLog, kindsOf, outcomesOf, resultsOf, within } from "./log.ts";
import { approvalsOf, decide, decideAll, judgeApprovals, pendingOf } from "./people.ts";
import {
  createReceiver,
  done,
  makeSender,
  pin,
  type Receiver,
  silent,
  unknown,
} from "./senders.ts";
import {
  add,
  call,
  type Model,
  openTrial,
  say,
  script,
  type Trial,
  type TrialOptions,
  type Wish,
} from "./trial.ts";

const opened: Trial[] = [];
/** A process; those of one test share database and clock. */
const open = async (model: Model, options: TrialOptions = {}) => {
  const { database, clock } = opened[0] ?? {};
  const seed = opened.length + 1;
  const trial = await openTrial(model, { database, clock, seed, ...options });
  opened.push(trial);
  await trial.engine.start();
  trial.expiry.start();
  return trial;
};
afterEach(async () => {
  for (const trial of opened.slice(1)) await trial.stop();
  for (const trial of opened.splice(0, 1)) await trial.close();
  opened.length = 0;
});

const TTL_MS = 60_000;
const write = (n = 1): Wish => ["write", { n }];
type Policy = Parameters<typeof pin>[1];
/** One that writes by itself. */
const writer = (receiver: Receiver, policy: Policy = {}, is_idempotent = false) =>
  pin([makeSender("write", receiver, { risk: "write", is_idempotent })], {
    ...{ approval_ttl_seconds: TTL_MS / 1000, unattended_writes: true },
    ...policy,
  });
const toldOf = (trial: Trial, turn: number) =>
  trial.asks[turn]!.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
const judge = async (trial: Trial, id: string) => {
  await judgeLog(trial, id);
  await judgeApprovals(trial, id);
};
/** Unknown the first time, done from then on. */
const onceUnknown = () => createReceiver(({ time }) => (time === 1 ? unknown() : done()));

/** Ends of a call that was sent, in which no word of the receiver says what became of it. */
const ENDS: Readonly<Record<string, () => ToolResult | Promise<ToolResult>>> = {
  "without an answer": unknown,
  "behind its time": () => ({ ...unknown(), outcome: "timeout" }),
  "by a bug of ours": () => Promise.reject(new Error("a bug")),
  "with a gateway's word": () => ({ ...unknown(), http_status: 504 }),
};

describe("a write that ends", () => {
  test.each(Object.entries(ENDS))(
    "%s is asked about, and sent again with its key",
    async (_, end) => {
      const receiver = createReceiver(({ time }) => (time === 1 ? end() : done("sent")));
      const trial = await open(script(call(write())), writer(receiver));
      const id = await trial.run();
      await trial.reaches(id, "waiting_approval");
      expect(await trial.find(id)).toMatchObject({ usage: { tool_calls: 0 } });
      const [approval] = await pendingOf(trial, id);
      expect(approval).toMatchObject({
        ...{ why: ["outcome_unknown"], risk: "write", arguments: { n: 1 }, tool: "write" },
      });
      expect(await callsOf(trial, id)).toMatchObject([
        { decision: "auto", attempt: 0, approval_id: null },
        { decision: "auto", attempt: 1, approval_id: null },
        { decision: "needs_approval", attempt: 1, approval_id: approval!.id },
      ]);
      await decide(trial, approval!.id, "approved");
      expect(await trial.ended(id)).toMatchObject({
        ...{ status: "succeeded", usage: { tool_calls: 1 }, cost: { tools: 10_000 } },
      });
      expect(receiver.times()).toEqual([2]);
      expect((await callsOf(trial, id)).at(-1)).toMatchObject({ decision: "approved", attempt: 2 });
      expect(await resultsOf(trial, id)).toMatchObject([{ outcome: "ok", content: "sent" }]);
      await judge(trial, id);
    },
  );

  test.each(Object.entries(ENDS))(
    "%s is told to the model by the policy `report`",
    async (_, end) => {
      const receiver = createReceiver(() => end());
      const trial = await open(
        script(call(write(), add())),
        writer(receiver, { on_unknown_outcome: "report" }),
      );
      const id = await trial.run();
      expect(await trial.ended(id)).toMatchObject({
        ...{ status: "succeeded", usage: { tool_calls: 2 }, cost: { tools: 0 } },
      });
      expect(receiver.times()).toEqual([1]);
      expect(toldOf(trial, 1)).toContainEqual(expect.stringContaining("Nobody knows whether"));
      expect((await outcomesOf(trial, id)).toSorted()).toEqual(["ok", "outcome_unknown"]);
      expect(await approvalsOf(trial, id)).toEqual([]);
      await judge(trial, id);
    },
  );

  test("is reported with what was seen of its end", async () => {
    const receiver = createReceiver(() => ({ ...unknown(), http_status: 502 }));
    const policy = { on_unknown_outcome: "report" } as const;
    const trial = await open(script(call(write())), writer(receiver, policy));
    const id = await trial.run();
    await trial.ended(id);
    expect(await resultsOf(trial, id)).toMatchObject([{ http_status: 502, duration_ms: 0 }]);
  });

  test("before anything was sent is an ordinary error", async () => {
    const receiver = createReceiver(() => ({ ...done("Nothing was sent."), outcome: "error" }));
    const trial = await open(script(call(write())), writer(receiver));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(await outcomesOf(trial, id)).toEqual(["error"]);
    expect(await approvalsOf(trial, id)).toEqual([]);
    await judge(trial, id);
  });

  test("never is given up a second behind its time, and what reads is late then", async () => {
    const receiver = createReceiver(() => silent());
    const look = makeSender("look", receiver, { risk: "read" });
    const sender = makeSender("write", receiver, { risk: "write" });
    const trial = await open(
      script(call(write(), ["look", {}])),
      pin([look, sender], { unattended_writes: true }),
    );
    const id = await trial.run();
    await trial.until(async () => receiver.arrivals.length === 2);
    await trial.clock.advance(60_999);
    expect(await trial.find(id)).toMatchObject({ status: "running", usage: { tool_calls: 0 } });
    await trial.clock.advance(1);
    await trial.reaches(id, "waiting_approval");
    expect(await pendingOf(trial, id)).toMatchObject([{ why: ["outcome_unknown"] }]);
    expect(await outcomesOf(trial, id)).toEqual(["timeout"]);
  });
});

describe("a person who is asked about such a call", () => {
  test("and rejects it has the model told that nobody knows", async () => {
    const receiver = createReceiver(({ arguments: given }) =>
      (given as { n: number }).n === 1 ? unknown() : done(),
    );
    const trial = await open(script(call(write()), call(write(), write(2))), writer(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    const [approval] = await pendingOf(trial, id);
    await decide(trial, approval!.id, "rejected", "It has arrived.");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 2 } });
    expect(toldOf(trial, 1)).toEqual([
      expect.stringMatching(/Nobody knows whether .* a person decided .* It has arrived\./),
    ]);
    // The same again is not asked for; another is sent by itself.
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown", "rejected", "ok"]);
    expect(receiver.arrivals.map((one) => one.arguments)).toEqual([{ n: 1 }, { n: 2 }]);
    await judge(trial, id);
  });

  test("and lets its time pass has the model told so", async () => {
    const receiver = onceUnknown();
    const trial = await open(script(call(write())), writer(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await trial.clock.advance(TTL_MS);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(toldOf(trial, 1)).toEqual([expect.stringContaining("nobody decided in time")]);
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown"]);
    expect(receiver.times()).toEqual([1]);
    await judge(trial, id);
  });

  test("is asked each time anew, for as long as nobody knows", async () => {
    const receiver = createReceiver(({ time }) => (time < 4 ? unknown() : done()));
    const trial = await open(script(call(write())), writer(receiver));
    const id = await trial.run();
    for (let time = 1; time < 4; time++) {
      await trial.until(async () => (await approvalsOf(trial, id)).length === time);
      await trial.reaches(id, "waiting_approval");
      expect(receiver.times()).toEqual([time]);
      await decideAll(trial, id, "approved");
    }
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect((await callsOf(trial, id)).map(({ attempt }) => attempt)).toEqual([
      ...[0, 1, 1, 2, 2, 3, 3, 4],
    ]);
    expect(receiver.times()).toEqual([4]);
    await judge(trial, id);
  });

  test("decides on each of several by itself, while others of the round are done", async () => {
    const receiver = createReceiver(({ time, arguments: given }) =>
      time === 1 && (given as { n: number }).n < 4 ? unknown() : done(),
    );
    const wishes = [1, 2, 3, 4].map(write);
    const trial = await open(script(call(...wishes, add())), writer(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    expect((await outcomesOf(trial, id)).toSorted()).toEqual(["ok", "ok"]);
    const [first, second, third] = await pendingOf(trial, id);
    await decide(trial, third!.id, "approved");
    await decide(trial, first!.id, "rejected");
    await decide(trial, second!.id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 5 } });
    expect(receiver.times()).toEqual([1, 2, 2, 1]);
    await judge(trial, id);
  });

  test("may decide while others of its round still run", async () => {
    const going = Promise.withResolvers<void>();
    const receiver = createReceiver(async ({ tool, time }) => {
      if (tool === "look") await going.promise;
      return tool === "write" && time === 1 ? unknown() : done();
    });
    const look = makeSender("look", receiver, { risk: "read" });
    const sender = makeSender("write", receiver, { risk: "write" });
    const trial = await open(
      script(call(["look", {}], write())),
      pin([look, sender], { unattended_writes: true }),
    );
    const id = await trial.run();
    await trial.until(async () => (await pendingOf(trial, id)).length === 1);
    await decideAll(trial, id, "approved");
    expect(await trial.find(id)).toMatchObject({ status: "running", pending_approvals: [] });
    going.resolve();
    await trial.ended(id);
    expect(receiver.times().toSorted()).toEqual([1, 2]);
    expect((await kindsOf(trial, id)).filter((kind) => kind === "approval")).toHaveLength(2);
    await judge(trial, id);
  });
});

describe("a write whose receiver knows its key", () => {
  test("is sent up to three times by itself, and then a person is asked", async () => {
    const receiver = createReceiver(({ time }) => (time < 4 ? unknown() : done()));
    const trial = await open(script(call(write(), add())), writer(receiver, {}, true));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    expect(receiver.times()).toEqual([3]);
    await decideAll(trial, id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 2 } });
    expect(receiver.times()).toEqual([4]);
    await judge(trial, id);
  });

  test("is done with what it came to the second time", async () => {
    const receiver = onceUnknown();
    const trial = await open(script(call(write())), writer(receiver, {}, true));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", cost: { tools: 10_000 } });
    expect((await callsOf(trial, id)).map(({ attempt }) => attempt)).toEqual([0, 1, 2]);
    await judge(trial, id);
  });

  test("is not sent again where its tool was switched off meanwhile, nor asked about", async () => {
    const receiver = createReceiver(async () => {
      await trial.switchTool("write", "disabled");
      return unknown();
    });
    const trial = await open(script(call(write())), writer(receiver, {}, true));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(receiver.times()).toEqual([1]);
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown"]);
    expect(await approvalsOf(trial, id)).toEqual([]);
    await judge(trial, id);
  });
});

describe("a tool that is switched off", () => {
  test("between plan and sending sends nothing; others of the round are sent", async () => {
    const receiver = createReceiver();
    const sender = (name: string) => makeSender(name, receiver, { risk: "write" });
    const trial = await open(script(call(write(), ["keyed", {}], write(2), add())), {
      ...pin([sender("write"), sender("keyed")], { unattended_writes: true }),
      wrap: (store) => ({
        ...store,
        // Behind the look at the round's tools: only the intent's own look can tell.
        async intend(...given) {
          await trial.switchTool("write", "disabled");
          return store.intend(...given);
        },
      }),
    });
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 2 } });
    expect(receiver.arrivals.map(({ tool }) => tool)).toEqual(["keyed"]);
    expect((await outcomesOf(trial, id)).toSorted()).toEqual([
      ...["disabled", "disabled", "ok", "ok"],
    ]);
    await judge(trial, id);
  });

  test("while nobody knows what became of its call is not asked for again by an approval", async () => {
    const receiver = onceUnknown();
    const trial = await open(script(call(write())), writer(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await trial.switchTool("write", "disabled");
    await decideAll(trial, id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown"]);
    expect(receiver.times()).toEqual([1]);
    await judge(trial, id);
  });

  test("right behind an approval is neither sent nor asked about again", async () => {
    const receiver = onceUnknown();
    let intents = 0;
    const trial = await open(script(call(write())), {
      ...writer(receiver),
      wrap: (store) => ({
        ...store,
        async intend(...given) {
          if (++intents === 2) await trial.switchTool("write", "disabled");
          return store.intend(...given);
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
    await judge(trial, id);
  });

  test("and on again while its call waits sends it as it was shown", async () => {
    const receiver = createReceiver();
    const trial = await open(script(call(write())), writer(receiver, { unattended_writes: false }));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await trial.switchTool("write", "disabled");
    await trial.switchTool("write", "enabled");
    await decideAll(trial, id, "approved");
    await trial.ended(id);
    expect(await outcomesOf(trial, id)).toEqual(["ok"]);
  });
});

/** What ends or lets go a run in the middle of a write. */
describe("a write under way", () => {
  const begin = async (options: Partial<TrialOptions> = {}) => {
    const receiver = createReceiver(() => silent());
    const pinned = writer(receiver);
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
    expect(await trial.find(id)).toMatchObject({ usage: { tool_calls: 2 }, epoch: 0 });
    expect(await approvalsOf(trial, id)).toEqual([]);
    await judge(trial, id);
  };

  test("of a run that is cancelled: its outcome is unknown", async () => {
    const { trial, id, receiver } = await begin();
    await trial.cancel(id);
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
    expect(receiver.times()).toEqual([1]);
    await expectUnknown(trial, id);
  });

  test("of a run whose time is used up: its outcome is unknown", async () => {
    const { trial, id } = await begin(within({ max_run_seconds: 5 }));
    await trial.clock.advance(5_000);
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "budget_exceeded", error: { code: "max_run_seconds" } },
    });
    await expectUnknown(trial, id);
  });

  test("of a run whose key is revoked: its outcome is unknown", async () => {
    const { trial, id } = await begin();
    await trial.endKey();
    expect(await trial.ended(id)).toMatchObject({ error: { code: "permission_denied" } });
    await expectUnknown(trial, id);
  });

  test("of a run that kills its processes: its outcome is unknown", async () => {
    const cut = createCut();
    const { trial, id, pinned } = await begin({ wrap: cut.wrap });
    cut.die();
    for (let process = 2; process <= 6; process++) {
      // It dies before a person is asked.
      const next = createCutAt({ write: "settle", side: "before" });
      await open(script(), { ...pinned, wrap: next.wrap });
      await next.reached.promise;
    }
    await open(script(), pinned);
    expect(await trial.ended(id)).toMatchObject({ error: { code: "crash_loop" }, recoveries: 5 });
    await expectUnknown(trial, id);
  });

  test("at a stop is asked about at the next start, as is what was never heard of again", async () => {
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
    await judge(second, id);
  });

  test("is broken off with a round that a bug of ours ends, and asked about", async () => {
    let isAborted = false;
    const receiver = createReceiver((_arrival, { signal }) => {
      signal.addEventListener("abort", () => {
        isAborted = true;
      });
      return silent();
    });
    let isBroken = true;
    const trial = await open(script(call(write(), add())), {
      ...writer(receiver),
      wrap: (store) => ({
        ...store,
        settle(...given) {
          if (isBroken) throw new Error("the disk is full");
          return store.settle(...given);
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

  test("of a process that others take for dead is asked about; what comes late changes nothing", async () => {
    const late = Promise.withResolvers<ToolResult>();
    const receiver = createReceiver(() => late.promise);
    const pinned = writer(receiver);
    const first = await open(script(call(write())), {
      ...{ ...pinned, isShared: true },
      wrap: (store) => ({ ...store, beat: () => new Promise<never>(() => undefined) }),
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
    await judge(second, id);
  });
});
