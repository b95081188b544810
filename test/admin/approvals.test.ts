// Tests the operator's approval commands: lists, one with its details, a decision.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { AdminError, approvalOperations, nameLocalActor, perform } from "../../src/admin/index.ts";
import {
  add,
  beginAsking,
  bringTo,
  follow,
  readHistory,
  readSteps,
  startAsking,
} from "../spec/agents/approvals-front.ts";
import { type Json, type RunsFront, startRuns } from "../spec/agents/runs-front.ts";
import { createTrigger, readJson } from "../spec/agents/service.ts";
import { register } from "../spec/agents/tools-bodies.ts";
import { KEY } from "../support/app.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const ANY = { account: null, status: null, limit: 20 };
const REASON = "It is right.";

let front: RunsFront;
beforeAll(async () => {
  front = await startRuns();
});
afterAll(() => front.app.stop(0));

const verbs = () => front.app.admin.approvals;
const decide = (id: string, decision: "approved" | "rejected", reason: string | null = null) =>
  verbs().decide(id, { decision, reason, by: "ada" });

test("agents.does.approval: approvals are listed newest first without arguments, by account or status", async () => {
  await using own = await startRuns();
  const { approvals } = own.app.admin;
  const made: Json[] = [];
  for (const state of ["pending", "approved", "pending", "rejected"]) {
    made.unshift((await bringTo(own, state)).approval);
    await own.clock.advance(1_000);
  }
  const found = await approvals.list(ANY);
  expect(found.map(({ id, account, status }) => [id, account, status])).toEqual(
    made.map(({ id, status }) => [id, "dev", status]),
  );
  expect(found[0]).toMatchObject({ tool: "send_letter", risk: "write", why: ["write"] });
  expect(Object.keys(found[0]!)).not.toContain("arguments");
  expect(found[0]).toMatchObject({ agent_name: own.agent.name });
  const idsOf = async (filter: object) =>
    (await approvals.list({ ...ANY, ...filter })).map(({ id }) => id);
  expect(await idsOf({ status: "pending" })).toEqual([made[1]!.id, made[3]!.id]);
  expect(await idsOf({ limit: 3 })).toEqual(made.slice(0, 3).map(({ id }) => id));
  expect(await idsOf({ account: "dev", status: "rejected" })).toEqual([made[0]!.id]);
  expect(await idsOf({ account: "other" })).toEqual([]);
  expect(approvals.list({ ...ANY, account: "othr" })).rejects.toThrow('did you mean "other"?');
});

test("a long list is paged up to the requested limit", async () => {
  await using own = await startRuns({ limits: "active_runs = 1_000" });
  for (let i = 0; i < 120; i++) await bringTo(own, "pending");
  const { approvals } = own.app.admin;
  const all = await approvals.list({ ...ANY, limit: 10_000 });
  expect(new Set(all.map(({ id }) => id)).size).toBe(120);
  for (const limit of [100, 110]) {
    const found = await approvals.list({ ...ANY, limit });
    expect(found.map(({ id }) => id)).toEqual(all.slice(0, limit).map(({ id }) => id));
  }
});

test("an approval is shown with its owner, its agent and the run's input", async () => {
  const { approval } = await bringTo(front, "pending");
  const shown = await verbs().show(approval.id.toUpperCase());
  expect(shown.approval).toMatchObject({ id: approval.id, arguments: { to: "x" } });
  const run = await front.read(`/v1/runs/${approval.run_id}`);
  const key_id = run.started_by_key_id as string;
  const key_name = (await front.app.admin.keys.find(key_id))!.name;
  expect(shown.context).toEqual({
    ...{ account: "dev", agent_name: "Clerk", agent_version: 1, run_status: "waiting_approval" },
    ...{ run_message: "Hello", run_hook: null, cost: run.cost.total, budget: null },
    started_by: {
      ...{ kind: "manual", trigger_id: null, trigger_name: null },
      ...{ key_id, key_name, operator: null },
    },
    ...{ tool_title: null, tool_description: null, tool_endpoint: null },
    ...{ on_approval_expired: "continue", barred_keys: [{ id: key_id, name: key_name }] },
    ...{ has_earlier_messages: false, approved_calls: expect.any(Array), results: [] },
    has_all_results: true,
  });
});

test("a key that fired the trigger of a run may not decide either, and is shown with it", async () => {
  await using own = await startAsking();
  const { id, name } = await createTrigger(own, {
    ...{ name: "Sums", agent_id: own.asking.id, kind: "webhook" },
    input: { message: add("1 + 1") },
  });
  const key = `${KEY}-approver`;
  const fires = await own.post(`/v1/triggers/${id}/fires`, undefined, { key });
  const { fire } = await readJson(fires, 202);
  const run = await follow(own, fire.run_id, ({ status }) => status === "waiting_approval");
  const { context } = await own.app.admin.approvals.show(run.pending_approvals[0]);
  expect(context.started_by).toMatchObject({
    ...{ kind: "manual", trigger_id: id, trigger_name: name },
  });
  expect(context.barred_keys).toEqual([
    { id: run.started_by_key_id, name: expect.any(String) },
    { id: expect.any(String), name: expect.stringMatching(/-approver$/) },
  ]);
});

test("an approval is shown with the calls of its tool and agent that were approved before", async () => {
  await using own = await startRuns();
  const { approvals } = own.app.admin;
  const callsOf = async (id: string) => (await approvals.show(id)).context.approved_calls;
  const made: Json[] = [];
  for (const state of ["approved", "rejected", "approved", "pending"]) {
    made.push((await bringTo(own, state)).approval);
    await own.clock.advance(1_000);
  }
  const [first, , third, last] = made;
  const found = await callsOf(last!.id);
  expect(found.map(({ id }) => id)).toEqual([third!.id, first!.id]);
  expect(found[0]).toMatchObject({ arguments: third!.arguments, decided_at: third!.decided_at });
  // A decided one is compared with what was known then.
  expect((await callsOf(third!.id)).map(({ id }) => id)).toEqual([first!.id]);
  expect(await callsOf(first!.id)).toEqual([]);
});

test("an approval is shown with what its run had read before it asked", async () => {
  await using own = await startAsking();
  const { approvals: verbs } = own.app.admin;
  const lines = [
    ...['!tool web_search {"query":"rates"}', "!tool current_time {}", "!next"],
    ...[add("1+1"), "!next", "!say Done."],
  ];
  const { run, approvals } = await beginAsking(own, lines.join("\n"));
  const { context } = await verbs.show(approvals[0]!.id);
  const steps = (await readSteps(own, run.id)).filter(({ kind }) => kind === "tool_result");
  expect(context).toMatchObject({
    ...{ tool_title: "Calculator", has_earlier_messages: false, has_all_results: true },
    results: steps.map(({ seq, data }) => ({
      ...{ seq, tool: data.name, url: null, is_external: data.name === "web_search" },
      ...{ text: data.content, is_cut: false },
    })),
  });
  expect(steps).toHaveLength(2);
  await own.post(`/v1/runs/${run.id}/cancel`, undefined);
  await own.clock.advance(1_000);
  const again = { input: { message: add("2+2") }, thread_id: run.thread_id };
  const later = await own.begin(again, own.asking);
  const waits = await follow(own, later.id, ({ status }) => status === "waiting_approval");
  const shown = await verbs.show(waits.pending_approvals[0]);
  expect(shown.context).toMatchObject({ has_earlier_messages: true, results: [] });
  // The thread of a rerun has a copy of them.
  await own.post(`/v1/runs/${later.id}/cancel`, undefined);
  const repeated = await own.post(`/v1/runs/${later.id}/rerun`, { tools: "live" });
  const { id } = (await repeated.json()) as { id: string };
  const asks = await follow(own, id, ({ status }) => status === "waiting_approval");
  const { context: copied } = await verbs.show(asks.pending_approvals[0]);
  expect(copied).toMatchObject({ has_earlier_messages: true, results: [] });
});

test("an approval of a registered tool shows the tool and the destination of its arguments", async () => {
  await using own = await startRuns();
  await register(own, { name: "send_letter" });
  const { approval } = await bringTo(own, "pending");
  const { context } = await own.app.admin.approvals.show(approval.id);
  expect(context).toMatchObject({
    tool_description: "Sends a letter.",
    tool_endpoint: "https://api.example.com/letters",
  });
});

test("agents.states.p6 agents.authentication.5: an operator decides for any account, also beside the run's key, and the history names the operator", async () => {
  for (const [decision, status] of [
    ["approved", "running"],
    ["rejected", "running"],
  ] as const) {
    const { approval, run } = await bringTo(front, "pending", KEY);
    const decided = await decide(approval.id.toUpperCase(), decision, REASON);
    expect(decided).toMatchObject({
      isChanged: true,
      approval: {
        ...{ id: approval.id, status: decision, reason: REASON },
        decided_by: { kind: "operator", id: "ada" },
      },
    });
    const shown = await front.read(`/v1/approvals/${approval.id}`);
    expect(shown).toMatchObject({ decided_by: { kind: "operator", id: "ada" }, reason: REASON });
    expect(await readHistory(front, approval)).toEqual({
      ...{ events: ["requested", decision], shown: [approval, shown] },
    });
    expect((await front.read(`/v1/runs/${run.id}`)).status).toBe(status);
  }
});

test("a decision is in the audit log without its reason and arguments, which an account's deletion removes", async () => {
  const { approval } = await bringTo(front, "pending");
  const { admin } = front.app;
  const asked = { id: approval.id.toUpperCase(), reason: REASON };
  await perform(admin, approvalOperations.reject, asked, nameLocalActor());
  const [entry] = await admin.audit.list({ operation: "approvals reject", limit: 1 });
  const kept = ["id", "run_id", "agent_id", "tool", "status", "decided_by", "decided_at"];
  for (const state of [entry!.state_before, entry!.state_after]) {
    expect(Object.keys(state as object)).toEqual(kept);
  }
});

test("an answer is recorded as the reason of a rejection, which has one or the other", async () => {
  const { approval } = await bringTo(front, "pending");
  const { admin } = front.app;
  const reject = (fields: object) =>
    perform(admin, approvalOperations.reject, { id: approval.id, ...fields }, nameLocalActor());
  await expect(reject({ reason: "No.", answer: "Yes." })).rejects.toThrow("not both");
  await expect(reject({ answer: "x".repeat(959) })).rejects.toThrow("answer");
  expect(await reject({ answer: "x".repeat(958) })).toMatchObject({
    ...{ status: "rejected", is_changed: true },
    reason: `In place of the result, a person answers: ${"x".repeat(958)}`,
  });
});

test("agents.states.p7 agents.states.p8 agents.states.p9 agents.states.p10: a repeated decision changes nothing, and a forbidden one is refused with a sentence", async () => {
  const { approval } = await bringTo(front, "approved");
  expect(await decide(approval.id, "approved", "again")).toMatchObject({
    ...{ isChanged: false, approval: { reason: null, decided_by: { kind: "key" } } },
  });
  const sentences = {
    approved: "it was already decided the other way",
    overdue: "it was not decided in time and has expired",
    expired: "it was not decided in time and has expired",
    cancelled: "its run has ended, and it was closed with it",
  };
  for (const [state, sentence] of Object.entries(sentences)) {
    const { id } = (await bringTo(front, state)).approval;
    const refused = await decide(id, "rejected").catch((why: unknown) => why);
    expect(refused).toBeInstanceOf(AdminError);
    const how = `\`wadi approvals show ${id}\` tells more`;
    expect((refused as Error).message).toBe(`${sentence}: ${how}`);
  }
});

test("a malformed approval id is not quoted, an unknown one is", async () => {
  for (const verb of [verbs().show, (id: string) => decide(id, "approved")]) {
    const secret = verb("svc_sk_secret");
    await expect(secret).rejects.toThrow(
      "that is no approval's id: `wadi approvals list` shows them",
    );
    await expect(secret).rejects.toBeInstanceOf(AdminError);
    const unknown = `there is no approval "${UNKNOWN}": see \`wadi approvals list\``;
    await expect(verb(UNKNOWN)).rejects.toThrow(unknown);
  }
});

test("a list previews the first two short arguments", async () => {
  await using own = await startRuns();
  const { approvals } = own.app.admin;
  const { approval } = await bringTo(own, "pending");
  const sent = (await approvals.find(approval.id))!.arguments as Record<string, unknown>;
  const short = Object.values(sent).filter((value) => String(value).length <= 60);
  expect(short.length).toBeGreaterThan(0);
  const [listed] = await approvals.list(ANY);
  expect(listed!.preview).toEqual(short.slice(0, 2).map(String));
});
