// Calls with approvals: sent as shown, or not at all.
import { afterEach, describe, expect, test } from "bun:test";
import type { StepRow } from "../../../src/agents/runs/step.ts";
import { writeCanonical } from "../../../src/platform/json.ts";
import { approvalsOf, codeOf, decide, decideAll, pendingOf, verifyApprovals } from "./decisions.ts";
import { callsOf, kindsOf, outcomesOf, resultsOf, verifyLog } from "./log.ts";
import { createReceiver, makeSender, pin, type Receiver } from "./senders.ts";
import {
  add,
  type CallRequest,
  call,
  type Model,
  openTrial,
  say,
  script,
  type Trial,
  type TrialOptions,
} from "./trial.ts";

let trial: Trial;
const open = async (model: Model, options: TrialOptions = {}) => {
  trial = await openTrial(model, options);
  await trial.engine.start();
  trial.expiry.start();
};
afterEach(() => trial.close());

/** A waiting run. */
const begin = async () => {
  const id = await trial.run();
  await trial.reaches(id, "waiting_approval");
  return id;
};
const toolMessagesOf = (turn: number) =>
  trial.asks[turn]!.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
const TTL_MS = 60_000;
const SHORT = { approval_ttl_seconds: TTL_MS / 1000 };
const pay = (sum: number): CallRequest => ["pay", { sum }];
/** An agent with a payment tool, which always needs approval. */
const payer = (receiver: Receiver, policy: Parameters<typeof pin>[1] = {}) =>
  pin([makeSender("pay", receiver, { risk: "irreversible" })], { ...SHORT, ...policy });

describe("an approved call", () => {
  test("is sent with exactly the arguments that the approval showed", async () => {
    const receiver = createReceiver();
    const text =
      '{"z":1,"a":{"é":"\\ud83d\\udc2a","__proto__":{"x":-0}},"n":[1e21,0.1,null],"\\u0000":"\\u2028"}';
    await open(script(call(["pay", text])), payer(receiver));
    const id = await begin();
    const [approval] = await pendingOf(trial, id);
    const canonical = writeCanonical(JSON.parse(text));
    expect(approval).toMatchObject({
      ...{ tool: "pay", risk: "irreversible", why: ["irreversible"], revision: 1 },
      arguments_sha256: new Bun.CryptoHasher("sha256").update(canonical).digest("hex"),
      expires_at: approval!.requested_at + TTL_MS,
    });
    expect(writeCanonical(approval!.arguments)).toBe(canonical);
    expect(receiver.arrivals).toEqual([]);
    await decide(trial, approval!.id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    const sent = receiver.arrivals.map((one) => writeCanonical(one.arguments));
    expect(sent).toEqual([canonical]);
    expect(await callsOf(trial, id)).toMatchObject([
      { decision: "needs_approval", attempt: 0, approval_id: approval!.id },
      { decision: "approved", attempt: 1, approval_id: approval!.id },
    ]);
    expect(receiver.keys()).toEqual(new Set([approval!.tool_call_id]));
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("starts at once beside other calls of its round, and its run waits for the remaining ones", async () => {
    const [payments, looks] = [createReceiver(), createReceiver()];
    const held = Promise.withResolvers<void>();
    const look = makeSender("look", looks, { risk: "read" });
    const slow: typeof look = {
      ...look,
      run: async (use) => {
        await held.promise;
        return look.run(use);
      },
    };
    const pinned = pin([slow, makeSender("pay", payments, { risk: "irreversible" })], SHORT);
    await open(script(call(["look", { n: 1 }], pay(1), pay(2), pay(3))), pinned);
    const id = await trial.run();
    const [first, second, third] = await trial.until(async () => {
      const pending = await pendingOf(trial, id);
      return pending.length === 3 && pending;
    });
    await decide(trial, first!.id, "approved");
    await decide(trial, second!.id, "rejected");
    await trial.until(async () => payments.arrivals.length === 1);
    await trial.until(async () => (await outcomesOf(trial, id)).length === 1);
    expect(payments.arrivals).toMatchObject([{ arguments: { sum: 1 } }]);
    expect(await trial.find(id)).toMatchObject({
      status: "running",
      pending_approvals: [third!.id],
    });
    expect(looks.arrivals).toEqual([]);
    held.resolve();
    await trial.reaches(id, "waiting_approval");
    expect(await outcomesOf(trial, id)).toEqual(["ok", "ok", "rejected"]);
    await decide(trial, third!.id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 3 } });
    expect(payments.arrivals.map((one) => one.arguments)).toEqual([{ sum: 1 }, { sum: 3 }]);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("starts beside other calls also where the news of its decision was lost", async () => {
    const held = Promise.withResolvers<void>();
    const payments = createReceiver();
    const look = makeSender("look", createReceiver(), { risk: "read" });
    const slow: typeof look = {
      ...look,
      run: async (use) => {
        await held.promise;
        return look.run(use);
      },
    };
    const pinned = pin([slow, makeSender("pay", payments, { risk: "irreversible" })], SHORT);
    await open(script(call(["look", { n: 1 }], pay(1), pay(2))), pinned);
    const idle = trial.listened();
    const id = await trial.run();
    const [first, second] = await trial.until(async () => {
      const pending = await pendingOf(trial, id);
      return pending.length === 2 && pending;
    });
    await trial.until(async () => trial.listened().length > idle.length);
    await trial.lose(() => decide(trial, first!.id, "approved"));
    await trial.until(async () => payments.arrivals.length === 1);
    held.resolve();
    await trial.reaches(id, "waiting_approval");
    // A run that waits for people listens to nothing.
    expect(trial.listened()).toEqual(idle);
    await decide(trial, second!.id, "approved");
    await trial.ended(id);
    await trial.stop();
    expect(trial.listened().filter((channel) => channel !== "approvals.due")).toEqual([]);
  });

  test("joins the running calls, of which at most eight run at once", async () => {
    const receiver = createReceiver();
    const held = Promise.withResolvers<void>();
    let [working, most] = [0, 0];
    const hold = (tool: ReturnType<typeof makeSender>): typeof tool => ({
      ...tool,
      run: async (use) => {
        most = Math.max(most, ++working);
        await held.promise;
        working--;
        return tool.run(use);
      },
    });
    const tools = [
      makeSender("look", receiver, { risk: "read" }),
      makeSender("pay", receiver, { risk: "irreversible" }),
    ].map(hold);
    const looks = Array.from({ length: 6 }, (_, n): CallRequest => ["look", { n }]);
    const pays = Array.from({ length: 4 }, (_, n) => pay(n));
    await open(script(call(...looks, ...pays)), pin(tools, SHORT));
    const id = await trial.run();
    await trial.until(async () => working === 6 && (await pendingOf(trial, id)).length === 4);
    await decideAll(trial, id, "approved");
    await trial.until(async () => working === 8);
    held.resolve();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 10 } });
    expect([most, receiver.arrivals.length]).toEqual([8, 10]);
    await verifyLog(trial, id);
  });

  /** Restores the run from steps whose given kinds have another sum. */
  const openForged = (receiver: Receiver, ...kinds: StepRow["kind"][]) => {
    const forge = ({ data, ...step }: StepRow) => {
      const text = JSON.stringify(data);
      const isForged = kinds.includes(step.kind);
      return {
        ...step,
        data: JSON.parse(isForged ? text.replaceAll('{"sum":1}', '{"sum":1000}') : text),
      };
    };
    return open(script(call(pay(1))), {
      ...payer(receiver),
      wrap: (store) => ({
        ...store,
        async load(row) {
          const log = await store.load(row);
          return { ...log, steps: log.steps.map(forge) };
        },
      }),
    });
  };

  test("is not sent if the stored arguments differ from the shown ones", async () => {
    const receiver = createReceiver();
    await openForged(receiver, "tool_call", "approval");
    const id = await begin();
    await decideAll(trial, id, "approved");
    await trial.until(async () => trial.lines.length > 0);
    expect(trial.lines.map(({ error }) => String(error))).toEqual([
      "Error: an approval's arguments are not those that were shown",
    ]);
    expect(receiver.arrivals).toEqual([]);
  });

  test("is sent with the approval's arguments, whatever its plan says", async () => {
    const receiver = createReceiver();
    await openForged(receiver, "tool_call");
    const id = await begin();
    await decideAll(trial, id, "approved");
    await trial.ended(id);
    expect(receiver.arrivals).toMatchObject([{ arguments: { sum: 1 } }]);
  });

  test("runs if it only reads, and if its effect is internal", async () => {
    const receiver = createReceiver();
    const look = makeSender("look", receiver, { risk: "read" });
    const { sends: _, ...note } = makeSender("note", receiver, { risk: "write" });
    const pinned = pin([look, note], { require_approval: ["look"] });
    await open(script(call(["look", { n: 1 }], ["note", { n: 2 }])), pinned);
    const id = await begin();
    expect((await pendingOf(trial, id)).map(({ why }) => why)).toEqual([["listed"], ["write"]]);
    await decideAll(trial, id, "approved");
    await trial.ended(id);
    expect(receiver.arrivals).toMatchObject([
      { tool: "look", arguments: { n: 1 } },
      { tool: "note", arguments: { n: 2 } },
    ]);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("is not sent if its tool was disabled meanwhile, and does not count", async () => {
    const receiver = createReceiver();
    await open(script(call(pay(1))), payer(receiver));
    const id = await begin();
    await trial.switchTool("pay", "disabled");
    await decideAll(trial, id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 0 } });
    expect(await outcomesOf(trial, id)).toEqual(["disabled"]);
    expect(receiver.arrivals).toEqual([]);
    await verifyLog(trial, id);
  });
});

describe("agents.states.waiting_approval_reject: a denied call", () => {
  test("is reported to the model with the reason, and its run continues", async () => {
    const receiver = createReceiver();
    await open(script(call(pay(1))), payer(receiver, { on_approval_expired: "fail" }));
    const id = await begin();
    const [approval] = await pendingOf(trial, id);
    await decide(trial, approval!.id, "rejected", "Too dear.");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 0 } });
    expect(toolMessagesOf(1)).toEqual([expect.stringContaining("Too dear.")]);
    expect(await resultsOf(trial, id)).toMatchObject([{ outcome: "rejected", cost: "0.000000" }]);
    expect(receiver.arrivals).toEqual([]);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("is refused without an approval when repeated identically", async () => {
    const receiver = createReceiver();
    const again = '{ "b": [1, 2], "sum": 1.0 }';
    await open(
      script(call(["pay", '{"sum":1,"b":[1,2]}']), call(["pay", again], pay(2)), call(pay(1))),
      payer(receiver),
    );
    const id = await begin();
    await decideAll(trial, id, "rejected");
    await trial.until(async () => (await approvalsOf(trial, id)).length === 2);
    await trial.reaches(id, "waiting_approval");
    expect(await pendingOf(trial, id)).toMatchObject([{ arguments: { sum: 2 } }]);
    expect(await outcomesOf(trial, id)).toEqual(["rejected", "rejected"]);
    // A refused call appears as requested.
    expect((await callsOf(trial, id))[1]).toMatchObject({
      ...{ decision: "refused", arguments: { sum: 1, b: [1, 2] }, approval_id: null, attempt: 0 },
    });
    await decideAll(trial, id, "approved");
    await trial.until(async () => (await approvalsOf(trial, id)).length === 3);
    await decideAll(trial, id, "approved");
    await trial.ended(id);
    expect(receiver.arrivals.map((one) => one.arguments)).toEqual([{ sum: 2 }, { sum: 1 }]);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("expires at no process whose clock is wrong", async () => {
    let offMs = 300_000;
    await open(script(call(pay(1))), {
      ...payer(createReceiver()),
      isShared: true,
      wrapProcesses: (store) => ({
        ...store,
        beat: async (epoch) => (await store.beat(epoch))! + offMs,
      }),
    });
    const id = await begin();
    await trial.clock.advance(2 * TTL_MS);
    expect(await trial.find(id)).toMatchObject({ status: "waiting_approval" });
    offMs = 0;
    await trial.clock.advance(TTL_MS);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
  });

  test("expires exactly at its deadline, and the model is told", async () => {
    const receiver = createReceiver();
    await open(script(call(pay(1)), call(pay(1))), payer(receiver));
    // Excludes the checks made regardless of waiting runs.
    await trial.clock.advance(7_000);
    const id = await begin();
    const [approval] = await pendingOf(trial, id);
    await trial.clock.advance(TTL_MS - 1);
    expect(await trial.find(id)).toMatchObject({ status: "waiting_approval" });
    await trial.clock.advance(1);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
    expect(await outcomesOf(trial, id)).toEqual(["expired", "rejected"]);
    expect(toolMessagesOf(1)).toEqual([expect.stringContaining("Nobody decided in time")]);
    expect(await approvalsOf(trial, id)).toMatchObject([
      { status: "expired", decided_by: null, decided_at: approval!.expires_at },
    ]);
    for (const decision of ["approved", "rejected"] as const) {
      expect(await codeOf(decide(trial, approval!.id, decision))).toBe("approval_expired");
    }
    expect(receiver.arrivals).toEqual([]);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("expires at its own deadline, however long another approval has", async () => {
    await open(script(call(pay(1)), call(pay(1))), payer(createReceiver()));
    const policy = trial.version.policy;
    trial.version.policy = { ...policy, approval_ttl_seconds: 86_400 };
    await begin();
    trial.version.policy = policy;
    // After a check that saw only the other approval.
    await trial.clock.advance(40_000);
    const id = await begin();
    await trial.clock.advance(TTL_MS);
    expect(await approvalsOf(trial, id)).toMatchObject([{ status: "expired" }]);
  });

  test("that expires ends its run if the policy says so; no other call of the round is sent", async () => {
    const receiver = createReceiver();
    await open(
      script(call(add(), pay(1), pay(2))),
      payer(receiver, { on_approval_expired: "fail" }),
    );
    const id = await begin();
    await decide(trial, (await pendingOf(trial, id))[1]!.id, "approved");
    await trial.clock.advance(TTL_MS);
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "failed", error: { code: "approval_expired" } },
    });
    expect(await outcomesOf(trial, id)).toEqual(["ok", "expired", "cancelled"]);
    expect(receiver.arrivals).toEqual([]);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });
});

describe("several calls of one round", () => {
  test("keep their run waiting until the last decision, and do not delay calls without approval", async () => {
    const receiver = createReceiver();
    const [look, write] = [
      makeSender("look", receiver, { risk: "read" }),
      makeSender("write", receiver, { risk: "write" }),
    ];
    await open(
      script(
        call(["look", { n: 1 }], ["write", { n: 1 }], ["write", { n: 2 }], ["write", { n: 3 }]),
      ),
      pin([look, write], SHORT),
    );
    const id = await begin();
    expect(receiver.arrivals.map(({ tool }) => tool)).toEqual(["look"]);
    const pendingIds = (await pendingOf(trial, id)).map((approval) => approval.id);
    expect((await trial.find(id)).pending_approvals).toEqual(pendingIds);
    await decide(trial, pendingIds[1]!, "approved");
    expect(await trial.find(id)).toMatchObject({
      ...{ status: "waiting_approval", pending_approvals: [pendingIds[0], pendingIds[2]] },
    });
    await decide(trial, pendingIds[0]!, "rejected", "Not the first.");
    await trial.clock.advance(TTL_MS / 2);
    expect(await trial.find(id)).toMatchObject({
      ...{ status: "waiting_approval", pending_approvals: [pendingIds[2]] },
    });
    expect(receiver.arrivals).toHaveLength(1);
    await trial.clock.advance(TTL_MS / 2);
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "succeeded", pending_approvals: [], usage: { tool_calls: 2 } },
    });
    expect(receiver.arrivals.map((one) => one.arguments)).toEqual([{ n: 1 }, { n: 2 }]);
    const outcomes = await outcomesOf(trial, id);
    expect(outcomes.toSorted()).toEqual(["expired", "ok", "ok", "rejected"]);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("may all be decided while another call runs, so that the run never waits", async () => {
    const going = Promise.withResolvers<void>();
    const receiver = createReceiver(async ({ tool }) => {
      if (tool === "look") await going.promise;
      return { outcome: "ok", content: tool, external: false };
    });
    const look = makeSender("look", receiver, { risk: "read" });
    const send = makeSender("pay", receiver, { risk: "irreversible" });
    await open(script(call(["look", {}], pay(1), pay(2))), pin([look, send]));
    const id = await trial.run();
    await trial.until(async () => receiver.arrivals.length === 1);
    const [first, second] = await pendingOf(trial, id);
    await decide(trial, first!.id, "approved");
    await decide(trial, second!.id, "rejected");
    expect(await trial.find(id)).toMatchObject({ status: "running", pending_approvals: [] });
    await trial.until(async () => receiver.arrivals.length === 2);
    going.resolve();
    await trial.ended(id);
    expect(receiver.arrivals).toMatchObject([{ tool: "look" }, { arguments: { sum: 1 } }]);
    const { length } = (await trial.steps(id)).filter(({ status }) => status !== "running");
    expect(length).toBe(0);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("keep the run waiting for the other when one is decided meanwhile", async () => {
    const going = Promise.withResolvers<void>();
    const receiver = createReceiver(async ({ tool }) => {
      if (tool === "look") await going.promise;
      return { outcome: "ok", content: tool, external: false };
    });
    const look = makeSender("look", receiver, { risk: "read" });
    const send = makeSender("pay", receiver, { risk: "irreversible" });
    await open(script(call(["look", {}], pay(1), pay(2))), pin([look, send]));
    const id = await trial.run();
    await trial.until(async () => receiver.arrivals.length === 1);
    const [first, second] = await pendingOf(trial, id);
    await decide(trial, first!.id, "approved");
    going.resolve();
    await trial.reaches(id, "waiting_approval");
    expect(await trial.find(id)).toMatchObject({ pending_approvals: [second!.id] });
    expect(receiver.arrivals).toHaveLength(2);
    await decide(trial, second!.id, "approved");
    await trial.ended(id);
    expect(receiver.times()).toEqual([1, 1, 1]);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });

  test("request approvals again in each later round", async () => {
    const receiver = createReceiver();
    await open(script(call(pay(1), pay(2)), call(pay(3)), say("done")), payer(receiver));
    const id = await begin();
    expect(await decideAll(trial, id, "approved")).toBe(2);
    await trial.until(async () => (await pendingOf(trial, id))[0]?.status === "pending");
    await trial.reaches(id, "waiting_approval");
    expect(await decideAll(trial, id, "approved")).toBe(1);
    await trial.ended(id);
    expect(receiver.arrivals.map((one) => one.arguments)).toEqual(
      [1, 2, 3].map((sum) => ({ sum })),
    );
    const kinds = await kindsOf(trial, id);
    expect(kinds.filter((kind) => kind === "approval")).toHaveLength(6);
    await verifyLog(trial, id);
    await verifyApprovals(trial, id);
  });
});
