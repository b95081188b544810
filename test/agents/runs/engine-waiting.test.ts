// A run that waits for approval: ends of its waiting, and its load meanwhile.
import { afterEach, describe, expect, test } from "bun:test";
import { ANSWER_BEGIN } from "../../../src/agents/index.ts";
import { LiveRuns } from "../../../src/agents/runs/events/live.ts";
import { RunStreams } from "../../../src/agents/runs/events/streams.ts";
import { UNWATCHED } from "../../../src/cluster/index.ts";
import type { EventStream } from "../../../src/http/index.ts";
import { readThreads } from "../../support/thread-reader.ts";
import { createCut, createCutAt } from "./cut.ts";
import { approvalsOf, codeOf, decide, decideAll, pendingOf, verifyApprovals } from "./decisions.ts";
import { kindsOf, outcomesOf, verifyLog, within } from "./log.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, done, makeSender, pin } from "./senders.ts";
import { type CallRequest, call, KEY_ID, type Model, say, script, type Trial } from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

const begin = async (trial: Trial, message?: string) => {
  const id = await trial.run(message);
  await trial.reaches(id, "waiting_approval");
  return id;
};
const pay = (sum: number): CallRequest => ["pay", { sum }];
const TTL_MS = 60_000;
const SHORT = { approval_ttl_seconds: TTL_MS / 1000 };
/** A tool that pays, and its receiver. */
const openPayer = (policy: Parameters<typeof pin>[1] = SHORT) => {
  const receiver = createReceiver();
  const sender = makeSender("pay", receiver, { risk: "irreversible" });
  return { receiver, ...pin([sender], policy) };
};
const verify = async (trial: Trial, id: string) => {
  await verifyLog(trial, id);
  await verifyApprovals(trial, id);
};

test("the watchdog is told of a run only while it is executed", async () => {
  const executed = new Set<string>();
  const activity = {
    ...UNWATCHED,
    enter: (id: string) => void executed.add(id),
    leave: (id: string) => void executed.delete(id),
  };
  const seen: string[][] = [];
  const model: Model = (...asked) => {
    seen.push([...executed]);
    return script(call(pay(1)))(...asked);
  };
  const trial = await open(model, { ...openPayer(), activity });
  const id = await begin(trial);
  expect([...executed]).toEqual([]);
  await decideAll(trial, id, "approved");
  await trial.ended(id);
  expect([seen, [...executed]]).toEqual([[[id], [id]], []]);
});

const ACTS = ["approved", "rejected", "expired", "cancelled"] as const;
type Act = (typeof ACTS)[number];
const ORDERS: Act[][] = ACTS.flatMap((one) =>
  ACTS.flatMap((two) =>
    ACTS.flatMap((three) => ACTS.map((four) => [one, two, three, four])).filter(
      (order) => new Set(order).size === 4,
    ),
  ),
);

/** Approves and rejects in the last millisecond, expires and cancels, all concurrently. */
async function actAtOnce(trial: Trial, id: string, order: readonly Act[]) {
  const [approval] = await pendingOf(trial, id);
  const { id: approval_id, expires_at } = approval!;
  const ids = () => ({ step_id: trial.ids.uuid(), event_id: trial.ids.uuid() });
  const deciding = (decision: "approved" | "rejected") =>
    codeOf(
      trial.store.decide({
        ...{ approval_id, account_id: "a-1", decision, reason: null, now: expires_at - 1 },
        ...{ decided_by: { kind: "key", id: "k-2" }, ...ids() },
      }),
    );
  const acts: Record<Act, () => Promise<unknown>> = {
    approved: () => deciding("approved"),
    rejected: () => deciding("rejected"),
    expired: () => trial.store.expire([{ approval_id, ...ids() }], expires_at),
    cancelled: () => trial.cancel(id),
  };
  const answers = await Promise.all(order.map((act) => acts[act]()));
  return Object.fromEntries(order.map((act, at) => [act, answers[at]])) as Record<Act, unknown>;
}

describe("approve, reject, expire and cancel at once", () => {
  test.each(ORDERS)("on a waiting run: one of %s, %s, %s and %s wins", async (...order) => {
    const { receiver, ...payer } = openPayer();
    const trial = await open(script(call(pay(1))), payer);
    const id = await begin(trial);
    const answers = await actAtOnce(trial, id, order);
    const run = await trial.ended(id);
    const [approval] = await approvalsOf(trial, id);
    const [first] = order;
    expect(approval!.status).toBe(first === "cancelled" ? "closed" : first!);
    expect(answers.expired).toBe(first === "expired" ? 1 : 0);
    const refusal = {
      ...{ approved: "approval_decided", rejected: "approval_decided" },
      ...{ expired: "approval_expired", closed: "approval_closed", pending: "" },
    }[approval!.status];
    expect(answers.approved).toBe(first === "approved" ? "accepted" : refusal);
    expect(answers.rejected).toBe(first === "rejected" ? "accepted" : refusal);
    // If the decision wins, the run continues to its next step, and stops there.
    expect(run).toMatchObject({ status: "cancelled", cancel_requested: first !== "cancelled" });
    expect(receiver.arrivals).toEqual([]);
    await verify(trial, id);
  });

  test.each(ORDERS)("on an executing run: one of %s, %s, %s and %s wins", async (...order) => {
    const { receiver, tools } = openPayer();
    const going = Promise.withResolvers<void>();
    const looking = createReceiver(() => going.promise.then(() => done()));
    const look = makeSender("look", looking, { risk: "read" });
    const trial = await open(script(call(["look", {}], pay(1))), pin([look, ...tools], SHORT));
    const id = await trial.run();
    await trial.until(async () => looking.arrivals.length === 1);
    const answers = await actAtOnce(trial, id, order);
    going.resolve();
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled", cancel_requested: true });
    const [approval] = await approvalsOf(trial, id);
    // A cancel is only a request; until the run stops, decisions and expiry count.
    const winner = order.find((act) => act !== "cancelled")!;
    expect(approval!.status).toBe(winner);
    expect(answers[winner]).toBe(winner === "expired" ? 1 : "accepted");
    expect(receiver.arrivals).toEqual([]);
    await verify(trial, id);
  });
});

describe("a waiting run", () => {
  test("is cancelled at once with its approvals (agents.states.waiting_approval_cancel)", async () => {
    const { receiver, ...payer } = openPayer();
    const trial = await open(script(call(pay(1), pay(2))), payer);
    const id = await begin(trial);
    const [first, second] = await pendingOf(trial, id);
    await decide(trial, first!.id, "approved");
    expect(await trial.cancel(id)).toMatchObject({ status: "cancelled", pending_approvals: [] });
    expect((await approvalsOf(trial, id)).map(({ status }) => status)).toEqual([
      "approved",
      "closed",
    ]);
    expect(await codeOf(decide(trial, second!.id, "approved"))).toBe("approval_closed");
    expect(await codeOf(decide(trial, first!.id, "approved"))).toBe("accepted");
    expect(await outcomesOf(trial, id)).toEqual(["cancelled", "cancelled"]);
    const closing = ["tool_result", "tool_result", "approval"];
    expect((await kindsOf(trial, id)).slice(-3)).toEqual(closing);
    expect(receiver.arrivals).toEqual([]);
    await verify(trial, id);
  });

  test("continues though its agent is held meanwhile, since it had begun before", async () => {
    const { receiver, ...payer } = openPayer();
    const trial = await open(script(call(pay(1))), payer);
    const id = await begin(trial);
    const since = trial.clock.now();
    await trial.holds.hold({
      ...{ kind: "agent", id: "g-1", account_id: "a-1", reason: null, since },
    });
    await decideAll(trial, id, "approved");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
    expect(receiver.times()).toEqual([1]);
    await verify(trial, id);
  });

  test("ends if its key was revoked meanwhile, and sends nothing (agents.authentication.1)", async () => {
    const { receiver, ...payer } = openPayer();
    const trial = await open(script(call(pay(1), pay(2))), payer);
    const id = await begin(trial);
    await trial.endKey();
    expect(await trial.find(id)).toMatchObject({ status: "waiting_approval" });
    const [first, second] = await pendingOf(trial, id);
    await decide(trial, first!.id, "rejected");
    await decide(trial, second!.id, "approved");
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "failed", error: { code: "permission_denied" } },
    });
    expect(await outcomesOf(trial, id)).toEqual(["rejected", "cancelled"]);
    expect(receiver.arrivals).toEqual([]);
    await verify(trial, id);
  });

  test("tells the model a rejection's reason, but of an answer the answer alone", async () => {
    const { receiver, ...payer } = openPayer();
    const trial = await open(script(call(pay(1), pay(2))), payer);
    const id = await begin(trial);
    const [first, second] = await pendingOf(trial, id);
    await decide(trial, first!.id, "rejected", "Wrong sum.");
    await decide(trial, second!.id, "rejected", `${ANSWER_BEGIN}It was paid on Monday.`);
    await trial.ended(id);
    const told = (await trial.steps(id))
      .filter(({ kind }) => kind === "tool_result")
      .map(({ data }) => (data as { content: string }).content);
    expect(told).toEqual([
      "A person decided that this call is not made. The reason given: Wrong sum.",
      "In place of the result, a person answers: It was paid on Monday.",
    ]);
    expect(await outcomesOf(trial, id)).toEqual(["rejected", "rejected"]);
    expect(receiver.arrivals).toEqual([]);
    await verify(trial, id);
  });

  test("does not count as active, holds no slot, and uses no run time, for weeks", async () => {
    const WEEKS_MS = 20 * 86_400_000;
    const { receiver, tools, version } = openPayer({ approval_ttl_seconds: 2_592_000 });
    const going = Promise.withResolvers<void>();
    const model: Model = async ({ messages }) => {
      const said = JSON.stringify(messages);
      if (said.includes("Slow")) await going.promise;
      return said.includes("Pay") && !said.includes('"tool"') ? call(pay(1)) : say("done");
    };
    const budgets = within({ max_run_seconds: 60 }).version;
    const trial = await open(model, {
      ...{ tools, version: { ...version, ...budgets }, concurrent_runs: 1 },
    });
    const id = await begin(trial, "Pay.");
    const counts = () => readThreads(trial.database).counts();
    expect(await counts()).toEqual([{ account_id: "a-1", active: 0 }]);
    await trial.ended(await trial.run("Quick."));
    // No heartbeat runs meanwhile; only the wall clock moves.
    trial.clock.shiftWall(WEEKS_MS);
    const slow = await trial.run("Slow.");
    await trial.reaches(slow, "running");
    await decideAll(trial, id, "approved");
    // Another run has its slot now, so it waits in the queue.
    await trial.clock.advance(10_000);
    expect(await trial.find(id)).toMatchObject({ status: "running", epoch: 0, worked_ms: 0 });
    expect(await counts()).toEqual([{ account_id: "a-1", active: 2 }]);
    going.resolve();
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", worked_ms: 0 });
    await trial.ended(slow);
    expect(await counts()).toEqual([{ account_id: "a-1", active: 0 }]);
    expect(receiver.times()).toEqual([1]);
    await verify(trial, id);
  });

  test("streams each step with its approval, and each status", async () => {
    const { receiver: _, ...payer } = openPayer();
    const trial = await open(script(call(pay(1), pay(2))), payer);
    const { store, database, clock, callers } = trial;
    const streams = new RunStreams({
      ...{ runs: store, live: new LiveRuns(), database, clock, log: console as never },
      findCaller: async (key_id) => callers.get(key_id),
    });
    let frames = "";
    const stream = {
      pass(more: string) {
        frames += more;
      },
      ...{ comment() {}, close() {}, countUnread: () => 0, left: new AbortController().signal },
    };
    const id = await trial.run();
    streams.open(KEY_ID, await trial.find(id), () => stream as unknown as EventStream);
    await trial.reaches(id, "waiting_approval");
    const [first, second] = await pendingOf(trial, id);
    await decide(trial, first!.id, "rejected", "No.");
    await trial.clock.advance(TTL_MS);
    await trial.ended(id);
    await trial.until(async () => frames.includes("[DONE]"));
    streams.stop();
    const published = frames
      .split("\n\n")
      .filter((frame) => frame.startsWith("data: {"))
      .map((frame) => JSON.parse(frame.slice(6)));
    const lines = published.map(({ type, status, step, approval }) =>
      [type, status ?? step?.kind ?? approval?.status ?? ""].join(" ").trim(),
    );
    expect(lines).toEqual([
      ...["run.status running", "step.completed assistant"],
      ...["step.completed tool_call", "step.completed tool_call"],
      ...["step.completed approval", "approval.requested pending"],
      ...["step.completed approval", "approval.requested pending"],
      "run.status waiting_approval",
      ...["step.completed approval", "approval.decided rejected"],
      ...["step.completed approval", "approval.decided expired"],
      "run.status running",
      ...["step.completed tool_result", "step.completed tool_result"],
      ...["step.completed assistant", "run.status succeeded", "run.completed"],
    ]);
    const shown = published.filter(({ approval }) => approval).map(({ approval }) => approval.id);
    expect(shown).toEqual([first!.id, second!.id, first!.id, second!.id]);
    await verify(trial, id);
  });

  test("shows its waiting also if the whole log is read at once", async () => {
    const { receiver: _, ...payer } = openPayer();
    const trial = await open(script(call(pay(1))), payer);
    const id = await begin(trial);
    await decideAll(trial, id, "approved");
    await trial.ended(id);
    // A tail derives each status of the run from its steps alone.
    const statuses = (await trial.steps(id)).map(({ status }) => status);
    expect(statuses.filter((status, at) => status !== statuses[at - 1])).toEqual([
      "running",
      "waiting_approval",
      "running",
    ]);
  });
});

describe("when processes end while a run waits", () => {
  test("by a stop, it continues at the next start, not counted as recovered", async () => {
    const { receiver, ...payer } = openPayer();
    const first = await open(script(call(pay(1), pay(2))), payer);
    const id = await begin(first);
    await first.stop();
    const [one, two] = await pendingOf(first, id);
    await decide(first, one!.id, "approved");
    expect(await first.find(id)).toMatchObject({ status: "waiting_approval" });
    await decide(first, two!.id, "rejected");
    expect(await first.find(id)).toMatchObject({ status: "running", epoch: 0 });
    const second = await open(script(say("done")), payer);
    expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 0 });
    expect(receiver.arrivals).toMatchObject([{ arguments: { sum: 1 }, time: 1 }]);
    await verify(second, id);
  });

  test("and its approval is overdue at the next start, it expires then", async () => {
    const { receiver, ...payer } = openPayer();
    const first = await open(script(call(pay(1))), payer);
    const id = await begin(first);
    await first.stop();
    await first.clock.advance(TTL_MS * 2);
    const second = await open(script(say("done")), payer);
    expect(await second.ended(id)).toMatchObject({ status: "succeeded" });
    expect(await approvalsOf(second, id)).toMatchObject([{ status: "expired" }]);
    expect(receiver.arrivals).toEqual([]);
    await verify(second, id);
  });

  const points = (["plan", "wait"] as const).flatMap((write) =>
    (["before", "after"] as const).map((side) => ({ write, side })),
  );
  test.each(points)(
    "by a crash $side its $write, it requests one approval and is sent once",
    async (point) => {
      const { receiver, ...payer } = openPayer();
      const cut = createCutAt(point);
      const model: Model = ({ messages }) =>
        messages.some(({ role }) => role === "tool") ? say("done") : call(pay(1));
      const first = await open(model, { ...payer, ...cut.wraps });
      const id = await first.run();
      await cut.reached.promise;
      const second = await open(model, payer);
      await second.reaches(id, "waiting_approval");
      const pending = await pendingOf(second, id);
      expect(pending).toHaveLength(1);
      await decide(second, pending[0]!.id, "approved");
      expect(await second.ended(id)).toMatchObject({
        ...{ status: "succeeded", usage: { tool_calls: 1 } },
        recoveries: point.write === "wait" && point.side === "after" ? 0 : 1,
      });
      expect(receiver.times()).toEqual([1]);
      await verify(second, id);
    },
  );

  test("by a crash of the process that claimed the decided run, it is sent once", async () => {
    const { receiver, ...payer } = openPayer();
    const cut = createCut();
    const first = await open(script(call(pay(1))), { ...payer, ...cut.wraps });
    const id = await begin(first);
    cut.die();
    await decideAll(first, id, "approved");
    await first.clock.advance(0);
    const second = await open(script(say("done")), payer);
    expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 0 });
    expect(receiver.times()).toEqual([1]);
    expect((await kindsOf(second, id)).filter((kind) => kind === "approval")).toHaveLength(2);
    await verify(second, id);
  });
});
