// Approvals of runs of the stub model, from the call that asks to its result.

import { describe, expect, test } from "bun:test";
import { ApprovalRow } from "../../../src/agents/approvals/approval.ts";
import { storeKey } from "../../support/access.ts";
import { KEY } from "../../support/app.ts";
import { createKey } from "../gateway/keys.ts";
import {
  add,
  beginAsking,
  decide,
  decided,
  ended,
  follow,
  listEvents,
  readHistory,
  readSteps,
  startAsking,
  TTL_MS,
} from "./approvals-front.ts";
import { expectRefusal } from "./refusal.ts";
import type { Json, RunsFront } from "./runs-front.ts";

const DONE = "!next\n!say Done.";

/** The results of the run's calls that the model received, in order. */
async function readResults(front: RunsFront, run_id: string): Promise<[string, string][]> {
  const steps = await readSteps(front, run_id);
  return steps
    .filter(({ kind }) => kind === "tool_result")
    .map(({ data }) => [data.outcome, data.content]);
}

/** The steps of a run in words. */
const sum = (steps: Json[]) =>
  steps.map(({ kind, data }) =>
    [kind, data.event ?? data.outcome ?? data.decision ?? ""].join(" "),
  );

describe("a call that needs approval", () => {
  test("agents.does.approval agents.resources.approval agents.does.risk.p1 agents.does.risk.read agents.states.running_tool_call_needs_approval: pauses its run, and is shown with all its effects", async () => {
    await using front = await startAsking();
    const { run, approvals } = await beginAsking(front, `${add("6 * 7")}\n${DONE}`);
    expect(run).toMatchObject({
      ...{ status: "waiting_approval", finished_at: null, usage: { tool_calls: 0 } },
      pending_approvals: [approvals[0]!.id],
    });
    const [assistant, call] = await readSteps(front, run.id);
    const canonical = '{"expression":"6 * 7"}';
    const now = front.clock.now();
    expect(approvals).toEqual([
      {
        id: expect.any(String),
        ...{ run_id: run.id, agent_id: front.asking.id, thread_id: run.thread_id },
        tool_call_id: assistant!.data.tool_calls[0].id,
        ...{ tool: "calculator", revision: 1, risk: "read" },
        arguments: { expression: "6 * 7" },
        arguments_sha256: new Bun.CryptoHasher("sha256").update(canonical).digest("hex"),
        ...{ why: ["listed"], external_sources: [], status: "pending", reason: null },
        ...{ decided_by: null, decided_at: null },
        requested_at: new Date(now).toISOString(),
        expires_at: new Date(now + TTL_MS).toISOString(),
      },
    ]);
    // agents.resources.p1
    const fields = Object.keys(ApprovalRow.properties).filter((name) => name !== "account_id");
    expect(Object.keys(approvals[0]!)).toEqual(fields);
    expect(call!.data).toMatchObject({
      ...{ decision: "needs_approval", why: ["listed"], approval_id: approvals[0]!.id },
    });
    expect(await readHistory(front, approvals[0]!)).toEqual({
      events: ["requested"],
      shown: approvals,
    });
  });

  test("agents.does.risk.read: a tool that the policy does not list runs without approval", async () => {
    await using front = await startAsking({ require_approval: ["current_time"] });
    const { id } = await front.begin(
      { input: { message: `${add("1 + 1")}\n${DONE}` } },
      front.asking,
    );
    expect(await ended(front, id)).toMatchObject({ status: "succeeded", pending_approvals: [] });
    expect((await front.read(`/v1/approvals?run_id=${id}`)).data).toEqual([]);
  });

  test("content that the run read from outside is shown with its later approvals", async () => {
    await using front = await startAsking();
    const script = `!tool web_search {"query":"wadi"}\n!next\n${add("1 + 1")}\n${DONE}`;
    const { run, approvals } = await beginAsking(front, script);
    const steps = await readSteps(front, run.id);
    const { seq } = steps.find(({ data }) => data.external)!;
    expect(approvals[0]!.external_sources).toEqual([{ seq, tool: "web_search", url: null }]);
    expect(run.external_content).toBe(true);
  });
});

describe("approved", () => {
  test("agents.does.p2 agents.states.waiting_approval_approve agents.endpoints.approvals.post_v1_approvals_id: the run continues, and the tool is called once with the arguments shown", async () => {
    await using front = await startAsking();
    const { run, approvals } = await beginAsking(front, `${add("6 * 7")}\n${DONE}`);
    const approval = await decided(front, approvals[0]!.id, "approve", { reason: "Fine." });
    const after = await ended(front, run.id);
    expect(after).toMatchObject({
      ...{ status: "succeeded", output: { message: "Done." }, pending_approvals: [] },
      usage: { tool_calls: 1, rounds: 2 },
    });
    const steps = await readSteps(front, run.id);
    expect(sum(steps)).toEqual([
      ...["assistant ", "tool_call needs_approval", "approval requested", "approval approved"],
      ...["tool_result ok", "assistant "],
    ]);
    expect(steps[4]!.data).toMatchObject({ content: "42", tool_call_id: approval.tool_call_id });
    expect(await readHistory(front, approval)).toEqual({
      ...{ events: ["requested", "approved"], shown: [approvals[0]!, approval] },
    });
    // agents.states.p6: the decision stays.
    expect(await front.read(`/v1/approvals/${approval.id}`)).toEqual(approval);
  });

  test("agents.authentication.1: a run whose key has ended makes no further call", async () => {
    await using front = await startAsking();
    const request = { account_id: front.account_id, scopes: ["agents" as const] };
    const { key, secret } = await storeKey(front.app.access, request);
    const input = { input: { message: `${add("6 * 7")}\n${DONE}` } };
    const path = `/v1/agents/${front.asking.id}/runs`;
    const { id } = (await (await front.post(path, input, { key: secret })).json()) as Json;
    const run = await follow(front, id, ({ status }) => status === "waiting_approval");
    await front.app.admin.keys.revoke(key.id);
    await decided(front, run.pending_approvals[0], "approve");
    expect(await ended(front, id)).toMatchObject({
      ...{ status: "failed", error: { code: "permission_denied" }, usage: { tool_calls: 0 } },
    });
  });
});

describe("rejected", () => {
  test("agents.states.waiting_approval_reject agents.endpoints.approvals.post_v1_approvals_id_2: the run continues without the call, and its model gets the reason", async () => {
    await using front = await startAsking();
    const { run, approvals } = await beginAsking(front, `${add("6 * 7")}\n${DONE}`);
    const approval = await decided(front, approvals[0]!.id, "reject", { reason: "Not today." });
    expect(await ended(front, run.id)).toMatchObject({
      ...{ status: "succeeded", output: { message: "Done." }, usage: { tool_calls: 0 } },
    });
    const [[outcome, content]] = (await readResults(front, run.id)) as [[string, string]];
    expect([outcome, content]).toEqual(["rejected", expect.stringContaining("Not today.")]);
    expect((await readHistory(front, approval)).events).toEqual(["requested", "rejected"]);
  });

  test("a repeat of the call is denied without asking, and a different call asks", async () => {
    await using front = await startAsking();
    const script = [add("6 * 7"), "!next", add("6 * 7"), "!next", add("6 * 8"), DONE].join("\n");
    const { run, approvals } = await beginAsking(front, script);
    await decided(front, approvals[0]!.id, "reject");
    const isAnother = ({ pending_approvals: [id] }: Json) => id && id !== approvals[0]!.id;
    const { pending_approvals } = await follow(front, run.id, isAnother as never);
    const other = await front.read(`/v1/approvals/${pending_approvals[0]}`);
    expect(other.arguments).toEqual({ expression: "6 * 8" });
    await decided(front, other.id, "approve");
    await ended(front, run.id);
    const outcomes = (await readResults(front, run.id)).map(([outcome]) => outcome);
    expect(outcomes).toEqual(["rejected", "rejected", "ok"]);
  });
});

describe("expired", () => {
  test("agents.does.risk.p1 agents.states.p9: after `approval_ttl_seconds` the approval expires, and the run continues", async () => {
    await using front = await startAsking();
    const { run, approvals } = await beginAsking(front, `${add("6 * 7")}\n${DONE}`);
    await front.clock.advance(TTL_MS - 1);
    expect((await front.read(`/v1/runs/${run.id}`)).status).toBe("waiting_approval");
    await front.clock.advance(1);
    expect(await ended(front, run.id)).toMatchObject({
      status: "succeeded",
      pending_approvals: [],
    });
    const approval = await front.read(`/v1/approvals/${approvals[0]!.id}`);
    expect(approval).toEqual({
      ...approvals[0],
      ...{ status: "expired", decided_at: approvals[0]!.expires_at },
    });
    expect((await readResults(front, run.id))[0]).toEqual(["expired", expect.any(String)]);
    expect(await readHistory(front, approval)).toEqual({
      ...{ events: ["requested", "expired"], shown: [approvals[0]!, approval] },
    });
    await expectRefusal(await decide(front, approval.id, "approve"), 409, "approval_expired");
  });

  test("with `on_approval_expired` = `fail` the run fails", async () => {
    await using front = await startAsking({ on_approval_expired: "fail" });
    const { run } = await beginAsking(front, `${add("6 * 7")}\n${DONE}`);
    await front.clock.advance(TTL_MS);
    expect(await ended(front, run.id)).toMatchObject({
      ...{ status: "failed", error: { code: "approval_expired" } },
    });
  });

  test("each approval expires at its own time, and the run waits for the last", async () => {
    await using front = await startAsking();
    const first = await beginAsking(front, `${add("1 + 1")}\n${DONE}`);
    await front.clock.advance(20_000);
    const second = await beginAsking(front, `${add("2 + 2")}\n${DONE}`);
    await front.clock.advance(TTL_MS - 20_000);
    await ended(front, first.run.id);
    expect((await front.read(`/v1/runs/${second.run.id}`)).status).toBe("waiting_approval");
    await front.clock.advance(20_000);
    expect(await ended(front, second.run.id)).toMatchObject({ status: "succeeded" });
  });
});

describe("closed", () => {
  test("agents.states.waiting_approval_cancel agents.states.p10: cancelling its run closes pending approvals and keeps decided ones", async () => {
    await using front = await startAsking();
    const script = `${add("1 + 1")}\n${add("2 + 2")}\n${add("3 + 3")}\n${DONE}`;
    const { run, approvals } = await beginAsking(front, script);
    const first = await decided(front, approvals[0]!.id, "approve");
    const cancelled = (await (
      await front.post(`/v1/runs/${run.id}/cancel`, undefined)
    ).json()) as Json;
    expect(cancelled).toMatchObject({ status: "cancelled", pending_approvals: [] });
    expect(await front.read(`/v1/approvals/${first.id}`)).toEqual(first);
    for (const { id } of approvals.slice(1)) {
      const closed = await front.read(`/v1/approvals/${id}`);
      expect(closed).toMatchObject({ status: "closed", decided_at: cancelled.finished_at });
      expect((await readHistory(front, closed)).events).toEqual(["requested", "closed"]);
      await expectRefusal(await decide(front, id, "approve"), 409, "approval_closed");
    }
    // The approved one was still waiting for the others: it is not done.
    const outcomes = (await readResults(front, run.id)).map(([outcome]) => outcome);
    expect(outcomes).toEqual(["cancelled", "cancelled", "cancelled"]);
  });
});

describe("several in one round", () => {
  test("agents.states.waiting_approval_approve: the run continues after the last decision, each call as decided", async () => {
    await using front = await startAsking();
    const script = `${add("1 + 1")}\n${add("2 + 2")}\n${add("3 + 3")}\n!tool current_time {}\n${DONE}`;
    const { run, approvals } = await beginAsking(front, script);
    expect(approvals.map((one) => one.arguments.expression)).toEqual(["1 + 1", "2 + 2", "3 + 3"]);
    // Calls without approval were not delayed.
    expect((await readResults(front, run.id)).map(([outcome]) => outcome)).toEqual(["ok"]);
    await decided(front, approvals[2]!.id, "reject");
    await decided(front, approvals[0]!.id, "approve");
    const waiting = await front.read(`/v1/runs/${run.id}`);
    expect(waiting).toMatchObject({
      ...{ status: "waiting_approval", pending_approvals: [approvals[1]!.id] },
    });
    await front.clock.advance(TTL_MS);
    expect(await ended(front, run.id)).toMatchObject({
      ...{ status: "succeeded", usage: { tool_calls: 2 } },
    });
    const steps = await readSteps(front, run.id);
    const outcomes = steps.flatMap(({ kind, data }) =>
      kind === "tool_result" ? [[data.tool_call_id, data.outcome]] : [],
    );
    expect(Object.fromEntries(outcomes)).toMatchObject({
      [approvals[0]!.tool_call_id]: "ok",
      [approvals[1]!.tool_call_id]: "expired",
      [approvals[2]!.tool_call_id]: "rejected",
    });
  });

  test("a run that asks in several rounds waits for each, and its thread shows the results", async () => {
    await using front = await startAsking();
    const { run } = await beginAsking(front, `${add("1 + 1")}\n!next\n${add("2 + 2")}\n${DONE}`);
    const decidedIds = new Set<string>();
    for (const verb of ["approve", "reject"] as const) {
      const isNew = ({ pending_approvals: [id] }: Json) => id && !decidedIds.has(id);
      const { pending_approvals } = await follow(front, run.id, isNew as never);
      decidedIds.add(pending_approvals[0]);
      await decided(front, pending_approvals[0], verb);
    }
    await ended(front, run.id);
    const { data } = await front.read(`/v1/threads/${run.thread_id}/messages`);
    expect(data.map(({ role }: Json) => role)).toEqual([
      ...["user", "assistant", "tool", "assistant", "tool", "assistant"],
    ]);
  });
});

describe("events and streams", () => {
  test("agents.events.webhook.4 agents.events.webhook.1 agents.states.running_tool_call_needs_approval agents.states.waiting_approval_approve agents.states.waiting_approval_reject: each request and each end is one event, with the approval in its state at that time", async () => {
    await using front = await startAsking();
    const reported: [string, Json][] = [];
    const ends = {
      approved: ({ id }: Json) => decided(front, id, "approve"),
      rejected: ({ id }: Json) => decided(front, id, "reject"),
      expired: () => front.clock.advance(TTL_MS),
      closed: ({ run_id }: Json) => front.post(`/v1/runs/${run_id}/cancel`, undefined),
    };
    for (const [status, end] of Object.entries(ends)) {
      const { run, approvals } = await beginAsking(front, `${add("6 * 7")}\n${DONE}`);
      reported.push(["approval.requested", { approval: approvals[0]! }]);
      await end(approvals[0]!);
      const after = await ended(front, run.id);
      const approval = await front.read(`/v1/approvals/${approvals[0]!.id}`);
      expect(approval.status).toBe(status);
      reported.push(["approval.decided", { approval }]);
      reported.push([status === "closed" ? "run.failed" : "run.completed", { run: after }]);
    }
    const listed = await listEvents(front);
    expect(listed).toHaveLength(reported.length);
    for (const one of reported) expect(listed).toContainEqual(one);
  });

  test("agents.events.stream.type_approval_requested_approval agents.events.stream.type_approval_decided_approval: a stream shows the approval after its steps, first pending, then decided, live and replayed", async () => {
    await using front = await startAsking();
    const { run, approvals } = await beginAsking(front, `${add("6 * 7")}\n${DONE}`);
    const live = await front.get(`/v1/runs/${run.id}/events`);
    const approval = await decided(front, approvals[0]!.id, "approve");
    for (const reply of [live, await front.get(`/v1/runs/${run.id}/events`)]) {
      const frames = [...(await reply.text()).matchAll(/^data: (\{.*)$/gm)].map(
        ([, json]) => JSON.parse(json!) as Json,
      );
      const about = frames.filter(({ type }) => !["run.status"].includes(type));
      expect(about.map(({ type }) => type)).toEqual([
        ...["step.completed", "step.completed", "step.completed", "approval.requested"],
        ...["step.completed", "approval.decided"],
        ...["step.completed", "step.completed", "run.completed"],
      ]);
      expect([about[3]!.approval, about[5]!.approval]).toEqual([approvals[0], approval]);
      expect(about[2]!.step.data).toEqual({ event: "requested", approval: approvals[0] });
      expect(about[4]!.step.data).toEqual({ event: "approved", approval });
    }
  });

  test("agents.does.p2: a run that waits for approval does not count as active, and other runs start", async () => {
    await using front = await startAsking({}, { env: { WADI_LIMITS__ACTIVE_RUNS: "1" } });
    for (let waiting = 0; waiting < 3; waiting++) await beginAsking(front, add("6 * 7"));
    const { id } = await front.begin({ input: { message: "!say ok" } });
    expect(await ended(front, id)).toMatchObject({ status: "succeeded" });
    const key = await createKey(front, { scopes: ["agents"] });
    const { data } = await front.read("/v1/approvals?status=pending", { key });
    expect(data).toHaveLength(3);
    expect((await front.read("/v1/approvals", { key: `${KEY}-other` })).data).toEqual([]);
  });
});
