// Cases of decisions on approvals, and of intents.
import { expect } from "bun:test";
import type { ApprovalRow } from "../../src/agents/approvals/approval.ts";
import type { DecisionInput } from "../../src/agents/runs/store/decision.ts";
import { BEGIN, makeApproval, makeRecord, makeStep } from "../support/runs.ts";
import type { Case, Stores } from "./cases.ts";
import { claimRuns, codeOf, start } from "./run-acts.ts";

const EXPIRES_AT = makeApproval("p-0", "r-1").expires_at;

/** Starts a run that waits for these approvals. */
const ask = async (
  stores: Stores,
  run_id: string,
  ids: readonly string[],
  fields: Partial<ApprovalRow> = {},
) => {
  await start(stores, run_id);
  await claimRuns(stores);
  const requests = ids.map((id) => ({
    approval: { ...makeApproval(id, run_id), ...fields },
    event_id: `requested ${id}`,
  }));
  await stores.runs.plan(makeRecord(run_id), requests);
  expect(await stores.runs.wait(run_id, 1, 9)).toBe("waiting");
};
const askTwo = (stores: Stores) => ask(stores, "r-1", ["p-1", "p-2"]);
const askOne = (stores: Stores) => ask(stores, "r-1", ["p-1"]);
/** The second request expires first. */
const askInTurn = async (stores: Stores) => {
  await askOne(stores);
  await ask(stores, "r-2", ["p-2"], { expires_at: EXPIRES_AT - 1 });
};

const deciding = (approval_id: string, fields: Partial<DecisionInput> = {}): DecisionInput => ({
  ...{ approval_id, account_id: "a-1", decision: "approved", reason: null },
  decided_by: { kind: "key", id: "k-2" },
  ...{ step_id: `step ${approval_id}`, event_id: `event ${approval_id}`, now: BEGIN + 50 },
  ...fields,
});
const overdue = (approval_id: string) => ({
  ...{ approval_id, step_id: `step ${approval_id}`, event_id: `event ${approval_id}` },
});
const FILTER = {
  ...{ account_id: "a-1", agent_id: null, run_id: null, status: null, before: null, limit: 10 },
};
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

const decisionCases: Case[] = [
  {
    method: "runs.settle",
    title: "lists pending approvals in the order of their requests",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
    },
    async act({ runs }) {
      const request = (id: string) => ({ approval: makeApproval(id, "r-1"), event_id: `of ${id}` });
      await runs.plan(makeRecord("r-1"), [request("p-2"), request("p-3")]);
      await runs.settle(makeRecord("r-1"), [request("p-1")]);
      return runs.find("r-1", null);
    },
    check: (answer) => expect(answer).toMatchObject({ pending_approvals: ["p-2", "p-3", "p-1"] }),
  },
  {
    method: "runs.decide",
    title: "leaves an executing run to its process",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
      const requests = [{ approval: makeApproval("p-1", "r-1"), event_id: "requested" }];
      await stores.runs.plan(makeRecord("r-1", { steps: [makeStep("s-1")] }), requests);
    },
    act: ({ runs }) => runs.decide(deciding("p-1")),
    async check(_, { runs, ran }) {
      const run = { status: "running", epoch: 1, pending_approvals: [], last_seq: 2 };
      expect(await runs.find("r-1", null)).toMatchObject(run);
      expect(await ran.counts()).toMatchObject([{ active: 1 }]);
      expect(await runs.wait("r-1", 1, 9)).toBe("decided");
      // Later writes of its process keep the decision.
      expect(await runs.settle(makeRecord("r-1", { steps: [makeStep("s-2")] }))).toMatchObject({
        last_seq: 3,
      });
      expect(await runs.find("r-1", null)).toMatchObject({ pending_approvals: [] });
    },
  },
  {
    method: "runs.decide",
    title: "resumes the run after its last approval is decided",
    setup: askTwo,
    async act({ runs }) {
      const first = await runs.decide(deciding("p-1", { reason: "It is fine." }));
      const between = await runs.find("r-1", null);
      await runs.decide(deciding("p-2", { decision: "rejected" }));
      return { first, between };
    },
    async check(answer, { runs, ran, outbox, approvals }) {
      const decided = { reason: "It is fine.", decided_by: { kind: "key", id: "k-2" } };
      expect(answer).toMatchObject({
        first: {
          approval: { id: "p-1", status: "approved", decided_at: BEGIN + 50, ...decided },
          isLate: false,
        },
        between: { status: "waiting_approval", pending_approvals: ["p-2"], last_seq: 1 },
      });
      const run = { status: "running", epoch: 0, pending_approvals: [], last_seq: 2 };
      expect(await runs.find("r-1", null)).toMatchObject(run);
      expect(await ran.counts()).toMatchObject([{ active: 1 }]);
      expect(await runs.listWaiting()).toEqual(["a-1"]);
      expect(await runs.listSteps("r-1", 0, null)).toMatchObject([
        { seq: 1, status: "waiting_approval", data: { event: "approved" } },
        { seq: 2, status: "waiting_approval", data: { event: "rejected" } },
      ]);
      expect((await outbox.list("a-1")).map(({ type }) => type)).toEqual([
        ...(["approval.requested", "approval.requested"] as const),
        ...(["approval.decided", "approval.decided"] as const),
      ]);
      expect(await approvals.find("p-2")).toMatchObject({ status: "rejected" });
    },
  },
  {
    method: "runs.decide",
    title: "takes effect once among concurrent decisions",
    setup: askOne,
    act: ({ runs, outbox }) =>
      Promise.all([
        codeOf(runs.decide(deciding("p-1", { step_id: "s-1", event_id: "e-1" }))),
        codeOf(
          runs.decide(deciding("p-1", { decision: "rejected", step_id: "s-2", event_id: "e-2" })),
        ),
        runs.expire([overdue("p-1")], EXPIRES_AT - 1),
        outbox.list("a-1"),
      ]),
    async check(answer, { runs, approvals }) {
      const [approved, rejected, expired] = answer as [string, string, number];
      expect([approved, rejected].toSorted()).toEqual(["accepted", "approval_decided"]);
      expect(expired).toBe(0);
      expect(await runs.listSteps("r-1", 0, null)).toHaveLength(1);
      const { status } = (await approvals.find("p-1"))!;
      expect(status).toBe(approved === "accepted" ? "approved" : "rejected");
    },
  },
  {
    method: "runs.decide",
    title: "refuses by the approval's status, and does not find another account's approval",
    setup: askTwo,
    async act({ runs }) {
      const late = await runs.decide(deciding("p-2", { now: EXPIRES_AT }));
      return [
        await codeOf(runs.decide(deciding("p-1", { account_id: "a-2" }))),
        await codeOf(runs.decide(deciding("p-3"))),
        await codeOf(runs.decide(deciding("p-1", { account_id: null }))),
        await codeOf(runs.decide(deciding("p-1", { reason: "again", now: EXPIRES_AT + 1 }))),
        await codeOf(runs.decide(deciding("p-1", { decision: "rejected" }))),
        [late.isLate, late.approval.status],
        // A decision by a clock behind is also too late.
        await codeOf(runs.decide(deciding("p-2"))),
        // Another account learns nothing of a status either.
        await codeOf(runs.decide(deciding("p-1", { account_id: "a-2", decision: "rejected" }))),
        await codeOf(runs.decide(deciding("p-2", { account_id: "a-2" }))),
      ];
    },
    async check(answer, { runs, approvals }) {
      expect(answer).toEqual([
        ...["approval_not_found", "approval_not_found", "accepted", "accepted"],
        ...["approval_decided", [true, "expired"], "approval_expired"],
        ...["approval_not_found", "approval_not_found"],
      ]);
      expect(await approvals.find("p-1")).toMatchObject({ status: "approved", reason: null });
      expect(await runs.find("r-1", null)).toMatchObject({ status: "running", last_seq: 2 });
    },
  },
  {
    method: "runs.decide",
    title: "reports whether the approval of a cancelled run had expired before",
    async setup(stores) {
      await ask(stores, "r-1", ["p-1"]);
      await ask(stores, "r-2", ["p-2"]);
      await stores.runs.cancel("r-1", null, ["1", "2", "3", "4", "5"], EXPIRES_AT - 1);
      await stores.runs.cancel("r-2", null, ["6", "7", "8", "9", "10"], EXPIRES_AT);
    },
    act: ({ runs }) => Promise.all(["p-1", "p-2"].map((id) => codeOf(runs.decide(deciding(id))))),
    async check(answer, { runs }) {
      expect(answer).toEqual(["approval_closed", "approval_expired"]);
      expect(await runs.listSteps("r-2", 0, null)).toMatchObject([
        { data: { event: "expired", approval: { status: "expired" } } },
      ]);
    },
  },
  {
    method: "runs.expire",
    title: "resumes a run whose approval expired",
    setup: askOne,
    act: ({ runs }) => runs.expire([overdue("p-1")], EXPIRES_AT),
    async check(answer, { runs, approvals }) {
      expect(answer).toBe(1);
      expect(await approvals.find("p-1")).toMatchObject({ status: "expired", reason: null });
      const run = { status: "running", epoch: 0, pending_approvals: [], last_seq: 1 };
      expect(await runs.find("r-1", null)).toMatchObject(run);
    },
  },
  {
    method: "runs.expire",
    title: "expires overdue approvals, and resumes their run",
    setup: askTwo,
    async act({ runs }) {
      await runs.decide(deciding("p-1"));
      const overdueRows = [overdue("p-1"), overdue("p-2")];
      return [
        await runs.expire(overdueRows, EXPIRES_AT - 1),
        await runs.expire(overdueRows, EXPIRES_AT),
      ];
    },
    async check(answer, { runs, approvals, ran }) {
      expect(answer).toEqual([0, 1]);
      expect(await approvals.find("p-1")).toMatchObject({ status: "approved" });
      const expired = { status: "expired", decided_at: EXPIRES_AT, decided_by: null };
      expect(await approvals.find("p-2")).toMatchObject(expired);
      expect(await runs.find("r-1", null)).toMatchObject({ status: "running", epoch: 0 });
      expect(await ran.counts()).toMatchObject([{ active: 1 }]);
      expect((await runs.listSteps("r-1", 1, null))[0]).toMatchObject({
        data: { event: "expired", approval: { status: "expired" } },
      });
    },
  },
  {
    method: "runs.listDecisions",
    title: "lists the steps of a round's approvals",
    async setup(stores) {
      await askOne(stores);
      await stores.runs.decide(deciding("p-1"));
    },
    act: ({ runs }) => Promise.all([runs.listDecisions("r-1", 1), runs.listDecisions("r-1", 2)]),
    check: (answer) =>
      expect(answer).toMatchObject([[{ kind: "approval", data: { event: "approved" } }], []]),
  },
];

const readCases: Case[] = [
  {
    method: "approvals.find",
    title: "finds an approval with the key that started its run",
    setup: askOne,
    act: ({ approvals }) => Promise.all([approvals.find("p-1"), approvals.find("p-2")]),
    check: (answer) =>
      expect(answer).toMatchObject([
        { id: "p-1", status: "pending", account_id: "a-1", started_by_key_id: "k-1" },
        undefined as never,
      ]),
  },
  {
    method: "approvals.list",
    title: "lists pages, newest first, filtered by account, run, agent and status",
    async setup(stores) {
      await ask(stores, "r-1", ["p-1", "p-2"]);
      await ask(stores, "r-2", ["p-3"]);
      await stores.runs.decide(deciding("p-2"));
    },
    act: ({ approvals }) =>
      Promise.all([
        approvals.list(FILTER),
        approvals.list({ ...FILTER, limit: 1 }),
        approvals.list({ ...FILTER, run_id: "r-1" }),
        approvals.list({ ...FILTER, status: "pending" }),
        approvals.list({ ...FILTER, status: "approved", agent_id: "g-1" }),
        approvals.list({ ...FILTER, account_id: "a-2" }),
        approvals.list({ ...FILTER, account_id: null, agent_id: "g-9" }),
      ]),
    async check(answer, { approvals }) {
      const [all, ...others] = answer as { id: string; requested_at: number }[][];
      expect(others.map(idsOf)).toEqual([["p-3"], ["p-2", "p-1"], ["p-3", "p-1"], ["p-2"], [], []]);
      expect(idsOf(all!)).toEqual(["p-3", "p-2", "p-1"]);
      const before = { at: all![0]!.requested_at, id: "p-3" };
      expect(idsOf(await approvals.list({ ...FILTER, before }))).toEqual(["p-2", "p-1"]);
    },
  },
  {
    method: "approvals.listApproved",
    title: "lists approved calls of a tool and agent, newest first, up to a time, rows and bytes",
    async setup(stores) {
      await ask(stores, "r-1", ["p-1", "p-2", "p-3", "p-4"]);
      await ask(stores, "r-2", ["p-5"], { tool: "other" });
      for (const [at, id] of ["p-1", "p-2", "p-3", "p-5"].entries()) {
        await stores.runs.decide(deciding(id, { now: BEGIN + 50 + at }));
      }
      await stores.runs.decide(deciding("p-4", { decision: "rejected" }));
    },
    async act({ approvals }) {
      const { tool, arguments: sent } = makeApproval("p-1", "r-1");
      const bytes = JSON.stringify(sent).length;
      const filter = { agent_id: "g-1", tool, until: BEGIN + 99, limit: 9, bytesMax: 9 * bytes };
      return Promise.all([
        approvals.listApproved(filter),
        approvals.listApproved({ ...filter, until: BEGIN + 52 }),
        approvals.listApproved({ ...filter, limit: 1 }),
        approvals.listApproved({ ...filter, bytesMax: 2 * bytes }),
        approvals.listApproved({ ...filter, agent_id: "g-2" }),
      ]);
    },
    check(answer) {
      const [all, ...others] = answer as { id: string }[][];
      expect(others.map(idsOf)).toEqual([["p-2", "p-1"], ["p-3"], ["p-3", "p-2"], []]);
      expect(idsOf(all!)).toEqual(["p-3", "p-2", "p-1"]);
      expect(all![0]).toEqual({
        ...{ id: "p-3", arguments: makeApproval("p-3", "r-1").arguments },
        ...{ decided_by: { kind: "key", id: "k-2" }, decided_at: BEGIN + 52 },
      } as never);
    },
  },
  {
    method: "approvals.listOverdue",
    title: "lists overdue pending approvals",
    setup: askTwo,
    async act({ runs, approvals }) {
      await runs.decide(deciding("p-1"));
      return Promise.all([EXPIRES_AT - 1, EXPIRES_AT].map((now) => approvals.listOverdue(now, 5)));
    },
    check: (answer) => expect(answer).toEqual([[], ["p-2"]]),
  },
  {
    method: "approvals.listOverdue",
    title: "lists first what expired first",
    setup: askInTurn,
    act: ({ approvals }) =>
      Promise.all([5, 1].map((limit) => approvals.listOverdue(EXPIRES_AT, limit))),
    check: (answer) => expect(answer).toEqual([["p-2", "p-1"], ["p-2"]]),
  },
  {
    method: "approvals.countPending",
    title: "counts pending approvals up to a maximum, with the oldest request",
    setup: askTwo,
    async act({ runs, approvals }) {
      const both = await approvals.countPending(9);
      const bounded = await approvals.countPending(1);
      await runs.decide(deciding("p-1"));
      const one = await approvals.countPending(9);
      await runs.decide(deciding("p-2"));
      return [both, bounded, one, await approvals.countPending(9)];
    },
    check(answer) {
      const oldest = makeApproval("p-1", "r-1").requested_at;
      expect(answer).toEqual([
        { count: 2, oldest },
        { count: 1, oldest },
        { count: 1, oldest },
        { count: 0, oldest: null },
      ]);
    },
  },
  {
    method: "approvals.findNextExpiry",
    title: "returns the next expiry, or nothing without a pending approval",
    setup: askOne,
    async act({ runs, approvals }) {
      const next = await approvals.findNextExpiry();
      await runs.decide(deciding("p-1"));
      return [next, await approvals.findNextExpiry()];
    },
    check: (answer) => expect(answer).toEqual([EXPIRES_AT, undefined]),
  },
  {
    method: "approvals.findNextExpiry",
    title: "returns the earliest expiry of several",
    setup: askInTurn,
    act: ({ approvals }) => approvals.findNextExpiry(),
    check: (answer) => expect(answer).toBe(EXPIRES_AT - 1),
  },
];

const intentCases: Case[] = [
  {
    method: "runs.intend",
    title: "stores the intent to send calls",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
    },
    act: ({ runs }) =>
      runs.intend(makeRecord("r-1", { steps: [makeStep("s-1")] }), "a-1", ["send_letter"]),
    async check(answer, { runs }) {
      expect(answer).toMatchObject({ kind: "written", recorded: { last_seq: 1 } });
      expect(await runs.listSteps("r-1", 0, null)).toHaveLength(1);
    },
  },
  {
    method: "runs.intend",
    title: "writes nothing for a cancelled run or one that another process holds",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
    },
    async act({ runs }) {
      const steps = [makeStep("s-1")];
      const lost = await runs.intend(makeRecord("r-1", { epoch: 2, steps }), "a-1", []);
      await runs.cancel("r-1", "a-1", ["i-1"], BEGIN + 8);
      return [lost, await runs.intend(makeRecord("r-1", { steps }), "a-1", [])];
    },
    async check(answer, { runs }) {
      expect(answer).toEqual([{ kind: "lost" }, { kind: "cancelled" }]);
      expect(await runs.listSteps("r-1", 0, null)).toMatchObject([
        { data: { event: "cancel_requested" } },
      ]);
    },
  },
];

const RESULT = {
  ...{ name: "read_page", truncated: false, http_status: null, duration_ms: 1 },
  ...{ external: true, cost: null },
  outcome: "ok" as const,
};
const makeResult = (id: string) => ({
  ...{ id, round: 1 },
  kind: "tool_result" as const,
  data: { ...RESULT, tool_call_id: id, content: `content of ${id}` },
});

const resultCases: Case[] = [
  {
    method: "runs.listResults",
    title: "lists a run's newest results up to a time and rows, and their data up to so many bytes",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
      const steps = [makeResult("c-1"), makeStep("s-1"), makeResult("c-2"), makeResult("c-3")];
      await stores.runs.settle(makeRecord("r-1", { steps }), []);
      await stores.runs.settle(
        makeRecord("r-1", { steps: [makeResult("c-4")], at: BEGIN + 20 }),
        [],
      );
    },
    async act({ runs }) {
      const bytes = JSON.stringify(makeResult("c-1").data).length;
      const filter = { run_id: "r-1", until: BEGIN + 10, limit: 9, bytesMax: 9 * bytes };
      return Promise.all([
        runs.listResults(filter),
        runs.listResults({ ...filter, until: BEGIN + 20 }),
        runs.listResults({ ...filter, limit: 2 }),
        runs.listResults({ ...filter, bytesMax: 2 * bytes }),
        runs.listResults({ ...filter, run_id: "r-2" }),
      ]);
    },
    check(answer) {
      const [all, later, newest, short, none] = answer as { seq: number; data: unknown }[][];
      const seqsOf = (rows: { seq: number }[]) => rows.map(({ seq }) => seq);
      expect(all![0]).toEqual({ seq: 1, data: makeResult("c-1").data });
      expect([all, later, newest, none].map((rows) => seqsOf(rows!))).toEqual([
        [1, 3, 4],
        [1, 3, 4, 5],
        [3, 4],
        [],
      ]);
      expect(short!.map(({ data }) => data === null)).toEqual([true, false, false]);
    },
  },
];

export const approvalCases: readonly Case[] = [
  ...[...decisionCases, ...readCases, ...resultCases, ...intentCases],
];
