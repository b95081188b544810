// Calls with an unknown outcome: approvals, reports and repeats.
import { afterEach, describe, expect, test } from "bun:test";
import type { ToolResult } from "../../../src/agents/tools/contract.ts";
import { approvalsOf, decide, decideAll, pendingOf, verifyApprovals } from "./decisions.ts";
import { callsOf, kindsOf, outcomesOf, resultsOf, verifyLog } from "./log.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, done, makeSender, pin, pinWriter, silent, unknown } from "./senders.ts";
import { add, type CallRequest, call, script, type Trial } from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

const write = (n = 1): CallRequest => ["write", { n }];
const toolMessagesOf = (trial: Trial, turn: number) =>
  trial.asks[turn]!.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
const verify = async (trial: Trial, id: string) => {
  await verifyLog(trial, id);
  await verifyApprovals(trial, id);
};
/** Unknown at the first attempt, done afterwards. */
const onceUnknown = () => createReceiver(({ time }) => (time === 1 ? unknown() : done()));

/** Ends of a sent call without an answer about its outcome. */
const ENDS: Readonly<Record<string, () => ToolResult | Promise<ToolResult>>> = {
  "without an answer": unknown,
  "behind its time": () => ({ ...unknown(), outcome: "timeout" }),
  "by a bug of ours": () => Promise.reject(new Error("a bug")),
  "with a gateway's word": () => ({ ...unknown(), http_status: 504 }),
};

describe("a write whose outcome is unknown", () => {
  test.each(Object.entries(ENDS))(
    "after %s requests an approval, and is sent again with its key",
    async (_, end) => {
      const receiver = createReceiver(({ time }) => (time === 1 ? end() : done("sent")));
      const trial = await open(script(call(write())), pinWriter(receiver));
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
      await verify(trial, id);
    },
  );

  test.each(Object.entries(ENDS))(
    "after %s is reported to the model by the policy `report`",
    async (_, end) => {
      const receiver = createReceiver(() => end());
      const trial = await open(
        script(call(write(), add())),
        pinWriter(receiver, { on_unknown_outcome: "report" }),
      );
      const id = await trial.run();
      expect(await trial.ended(id)).toMatchObject({
        ...{ status: "succeeded", usage: { tool_calls: 2 }, cost: { tools: 0 } },
      });
      expect(receiver.times()).toEqual([1]);
      expect(toolMessagesOf(trial, 1)).toContainEqual(
        expect.stringContaining("Nobody knows whether"),
      );
      expect((await outcomesOf(trial, id)).toSorted()).toEqual(["ok", "outcome_unknown"]);
      expect(await approvalsOf(trial, id)).toEqual([]);
      await verify(trial, id);
    },
  );

  test("is reported with the known details of its end", async () => {
    const receiver = createReceiver(() => ({ ...unknown(), http_status: 502 }));
    const policy = { on_unknown_outcome: "report" } as const;
    const trial = await open(script(call(write())), pinWriter(receiver, policy));
    const id = await trial.run();
    await trial.ended(id);
    expect(await resultsOf(trial, id)).toMatchObject([{ http_status: 502, duration_ms: 0 }]);
  });

  test("is an ordinary error if nothing was sent", async () => {
    const receiver = createReceiver(() => ({ ...done("Nothing was sent."), outcome: "error" }));
    const trial = await open(script(call(write())), pinWriter(receiver));
    const id = await trial.run();
    // The call counts, and costs nothing: only useful calls are paid.
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "succeeded", usage: { tool_calls: 1 }, cost: { tools: 0 } },
    });
    expect(await outcomesOf(trial, id)).toEqual(["error"]);
    expect(await approvalsOf(trial, id)).toEqual([]);
    await verify(trial, id);
  });

  test("is given up a second after its time-out, and a read is late then", async () => {
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

describe("an approval of such a call", () => {
  test("that is rejected tells the model that the outcome is unknown", async () => {
    const receiver = createReceiver(({ arguments: input }) =>
      (input as { n: number }).n === 1 ? unknown() : done(),
    );
    const trial = await open(script(call(write()), call(write(), write(2))), pinWriter(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    const [approval] = await pendingOf(trial, id);
    await decide(trial, approval!.id, "rejected", "It has arrived.");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 2 } });
    expect(toolMessagesOf(trial, 1)).toEqual([
      expect.stringMatching(/Nobody knows whether .* a person decided .* It has arrived\./),
    ]);
    // An identical call requests no approval; another call is sent.
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown", "rejected", "ok"]);
    expect(receiver.arrivals.map((one) => one.arguments)).toEqual([{ n: 1 }, { n: 2 }]);
    await verify(trial, id);
  });

  test("that expires tells the model so", async () => {
    const receiver = onceUnknown();
    const trial = await open(script(call(write())), pinWriter(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await trial.clock.advance(60_000);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(toolMessagesOf(trial, 1)).toEqual([expect.stringContaining("nobody decided in time")]);
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown"]);
    expect(receiver.times()).toEqual([1]);
    await verify(trial, id);
  });

  test("that is closed by a cancel leaves the call's outcome unknown", async () => {
    const trial = await open(script(call(write())), pinWriter(onceUnknown()));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await trial.cancel(id);
    expect(await trial.find(id)).toMatchObject({ status: "cancelled", usage: { tool_calls: 1 } });
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown"]);
    await verify(trial, id);
  });

  test("is requested again as long as the outcome is unknown", async () => {
    const receiver = createReceiver(({ time }) => (time < 4 ? unknown() : done()));
    const trial = await open(script(call(write())), pinWriter(receiver));
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
    await verify(trial, id);
  });

  test("is decided separately for each of several, while others of the round finish", async () => {
    const receiver = createReceiver(({ time, arguments: input }) =>
      time === 1 && (input as { n: number }).n < 4 ? unknown() : done(),
    );
    const calls = [1, 2, 3, 4].map(write);
    const trial = await open(script(call(...calls, add())), pinWriter(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    expect((await outcomesOf(trial, id)).toSorted()).toEqual(["ok", "ok"]);
    const [first, second, third] = await pendingOf(trial, id);
    await decide(trial, third!.id, "approved");
    await decide(trial, first!.id, "rejected");
    await decide(trial, second!.id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 5 } });
    expect(receiver.times()).toEqual([1, 2, 2, 1]);
    await verify(trial, id);
  });

  test("that is approved gives the model the new result only", async () => {
    const receiver = createReceiver(({ time }) => ({
      ...(time === 1 ? unknown() : done()),
      content: `${time}`.repeat(100_000),
    }));
    const trial = await open(script(call(write())), pinWriter(receiver));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    await decideAll(trial, id, "approved");
    await trial.ended(id);
    const [result] = await resultsOf(trial, id);
    const whole = await trial.store.findOutput(id, result!.tool_call_id);
    expect(whole).toBe("2".repeat(100_000));
  });

  test("is awaited beside an earlier approval", async () => {
    const receiver = createReceiver(({ tool, time }) =>
      tool === "write" && time === 1 ? unknown() : done(),
    );
    const pay = makeSender("pay", receiver, { risk: "irreversible" });
    const sender = makeSender("write", receiver, { risk: "write" });
    const trial = await open(
      script(call(["pay", {}], write())),
      pin([pay, sender], { unattended_writes: true }),
    );
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    const [first, second] = await pendingOf(trial, id);
    expect([first!.why, second!.why]).toEqual([["irreversible"], ["outcome_unknown"]]);
    expect((await trial.find(id)).pending_approvals).toEqual([first!.id, second!.id]);
    await decide(trial, second!.id, "approved");
    expect(await trial.find(id)).toMatchObject({ status: "waiting_approval" });
    await decide(trial, first!.id, "rejected");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
    expect(receiver.arrivals.map(({ tool }) => tool)).toEqual(["write", "write"]);
    await verify(trial, id);
  });

  test("may be decided while others of its round still run", async () => {
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
    await verify(trial, id);
  });
});

describe("a write whose receiver deduplicates by key", () => {
  test("is sent up to three times by itself, then requests an approval", async () => {
    const receiver = createReceiver(({ time }) => (time < 4 ? unknown() : done()));
    const trial = await open(script(call(write(), add())), pinWriter(receiver, {}, true));
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    expect(receiver.times()).toEqual([3]);
    await decideAll(trial, id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 2 } });
    expect(receiver.times()).toEqual([4]);
    await verify(trial, id);
  });

  test("takes the result of the second attempt", async () => {
    const receiver = onceUnknown();
    const trial = await open(script(call(write())), pinWriter(receiver, {}, true));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", cost: { tools: 10_000 } });
    expect((await callsOf(trial, id)).map(({ attempt }) => attempt)).toEqual([0, 1, 2]);
    await verify(trial, id);
  });

  test("is neither sent again nor subject to approval if its tool was disabled meanwhile", async () => {
    const receiver = createReceiver(async () => {
      await trial.switchTool("write", "disabled");
      return unknown();
    });
    const trial = await open(script(call(write())), pinWriter(receiver, {}, true));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(receiver.times()).toEqual([1]);
    expect(await outcomesOf(trial, id)).toEqual(["outcome_unknown"]);
    expect(await approvalsOf(trial, id)).toEqual([]);
    await verify(trial, id);
  });
});

describe("a call that stopped the service", () => {
  /** Runs one call, which hangs until its process has been ended this many times. */
  const hang = async (risk: "read" | "write", times: number) => {
    const receiver = createReceiver(({ time }) => (time === 1 ? silent() : done()));
    const sender = makeSender("use", receiver, { risk, isIdempotent: true });
    const trial = await open(script(call(["use", {}])), pin([sender], { unattended_writes: true }));
    const id = await trial.run();
    await trial.until(async () => receiver.arrivals.length === 1);
    const finding = { run_id: id, cause: "stray", hungCall: receiver.arrivals[0]!.key } as const;
    const findings = Array.from({ length: times }, (_, n) => ({
      ...finding,
      fresh: [`hung-${n}`],
    }));
    const { epoch } = await trial.find(id);
    await trial.store.reclaim(findings, [epoch, 0], trial.clock.now());
    return { receiver, trial, id };
  };

  test.each(["read", "write"] as const)("once is sent again if that is safe: %s", async (risk) => {
    const { receiver, trial, id } = await hang(risk, 1);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
    expect(receiver.times()).toEqual([2]);
    expect(await outcomesOf(trial, id)).toEqual(["ok"]);
  });

  test("twice is not repeated, and the model is told", async () => {
    const { receiver, trial, id } = await hang("read", 2);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
    expect(receiver.times()).toEqual([1]);
    const content = "This call stopped the service twice and is not run again.";
    expect(await resultsOf(trial, id)).toMatchObject([{ outcome: "error", content }]);
  });

  test("twice and may have been done is left to a person, though it could be repeated", async () => {
    const { receiver, trial, id } = await hang("write", 2);
    await trial.reaches(id, "waiting_approval");
    expect(await pendingOf(trial, id)).toMatchObject([{ why: ["outcome_unknown"] }]);
    expect(receiver.times()).toEqual([1]);
  });
});
