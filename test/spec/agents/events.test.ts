// The event stream of a run: its content, order and end.

import { expect, test } from "bun:test";
import { ApprovalRow } from "../../../src/agents/approvals/approval.ts";
import type { DecisionInput } from "../../../src/agents/runs/store/decision.ts";
import { storeKey } from "../../support/access.ts";
import { createKey } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { makeApproval } from "./runs-approval.ts";
import { type Json, makeSteps, type RunsFront, startRuns } from "./runs-front.ts";

interface Stream {
  response: Response;
  /** Waits for this many more frames: JSON, `[DONE]` or a comment. */
  take(count: number): Promise<(Json | string)[]>;
  /** All frames up to its end. */
  rest(): Promise<(Json | string)[]>;
  leave(): Promise<void>;
}

async function follow(front: RunsFront, run: Json, key?: string): Promise<Stream> {
  const headers = { "x-request-id": "mine" };
  const response = await front.get(`/v1/runs/${run.id}/events`, { headers, ...(key && { key }) });
  expect(response.headers.get("x-request-id")).toBe("mine");
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
  ]);
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const frames: (Json | string)[] = [];
  const read = async (): Promise<boolean> => {
    const { value, done } = await reader.read();
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      frames.push(parse(text.slice(0, end)));
      text = text.slice(end + 2);
    }
    return !done;
  };
  return {
    response,
    async take(count) {
      while (frames.length < count) expect(await read()).toBeTrue();
      return frames.splice(0, count);
    },
    async rest() {
      while (await read());
      expect(text).toBe("");
      return frames.splice(0);
    },
    leave: () => reader.cancel(),
  };
}

function parse(frame: string): Json | string {
  if (!frame.startsWith("data: ")) return frame;
  const data = frame.slice("data: ".length);
  return data === "[DONE]" ? data : (JSON.parse(data) as Json);
}

/** A frame in a word: its type and its distinguishing field. */
const sum = (frame: Json | string): string => {
  if (typeof frame === "string") return frame;
  return [frame.type, frame.status ?? frame.step?.seq ?? frame.approval?.status ?? ""]
    .filter((word) => word !== "")
    .join(" ");
};
const sumAll = (frames: (Json | string)[]) => frames.map(sum);

test("agents.endpoints.runs.get_runs_id_events, agents.events.stream.p1, agents.events.stream.type_run_status_status, agents.events.stream.type_step_completed_step, agents.events.stream.type_run_completed_run, agents.states.queued_platform_start: a stream contains the status, each step in order, each change of status and the end", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const stream = await follow(front, run);
  expect(await stream.take(1)).toEqual([{ type: "run.status", status: "queued" }]);
  const epoch = await front.claim();
  expect(await stream.take(1)).toEqual([{ type: "run.status", status: "running" }]);
  const steps = makeSteps(3);
  await front.store.note(front.record(run, epoch, { steps: steps.slice(0, 2) }));
  const received = (await stream.take(2)) as Json[];
  const { data } = await front.read(`/v1/runs/${run.id}/steps`);
  expect(received).toEqual(data.map((step: Json) => ({ type: "step.completed", step })));
  const ending = { status: "succeeded", error: null, event_id: crypto.randomUUID(), fresh: [] };
  await front.store.finish(front.record(run, epoch, { steps: steps.slice(2) }), ending as never);
  const end = await stream.rest();
  expect(sumAll(end)).toEqual([
    ...["step.completed 3", "run.status succeeded", "run.completed", "[DONE]"],
  ]);
  expect((end[2] as Json).run).toEqual(await front.read(`/v1/runs/${run.id}`));
});

test("agents.events.stream.type_run_failed_run, agents.events.stream.p4: each connection replays every step from the first, also of a final run", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  await front.finish(run, "failed", { steps: makeSteps(230) });
  const expected = [
    "run.status failed",
    ...Array.from({ length: 230 }, (_, i) => `step.completed ${i + 1}`),
    ...["run.failed", "[DONE]"],
  ];
  for (let times = 0; times < 2; times++) {
    expect(sumAll(await (await follow(front, run)).rest())).toEqual(expected);
  }
});

test("agents.events.stream.type_run_status_status: no change of status is omitted when several commits are read at once", async () => {
  await using front = await startRuns();
  const [run, other] = [await front.begin(), await front.begin()];
  const streams = [await follow(front, run), await follow(front, other)];
  for (const stream of streams) await stream.take(1);
  await front.register();
  // No read is possible in between: the writes share one turn of the event loop.
  const claim = () =>
    front.store.claim(1, [{ account_id: front.account_id, runsMax: 9 }], front.clock.now());
  const writes = [run, other].map(
    (one) => () =>
      front.store.finish(front.record(one, 1, { steps: one === run ? makeSteps(1) : [] }), {
        ...{ status: "succeeded", error: null, event_id: crypto.randomUUID(), fresh: [] },
      } as never),
  );
  if (front.app.database.engine === "postgres") {
    // There each write has a connection of its own, so that none waits for the one before it.
    await claim();
    for (const write of writes) await write();
  } else {
    await Promise.all([claim, ...writes].map((write) => write()));
  }
  const end = ["run.status succeeded", "run.completed", "[DONE]"];
  expect(sumAll(await streams[0]!.rest())).toEqual([
    ...["run.status running", "step.completed 1"],
    ...end,
  ]);
  expect(sumAll(await streams[1]!.rest())).toEqual(["run.status running", ...end]);
  const [queued, cancelled] = [await front.begin(), await front.begin()];
  expect(queued.status).toBe("queued");
  const last = await follow(front, cancelled);
  await last.take(1);
  await front.post(`/v1/runs/${cancelled.id}/cancel`, undefined);
  expect(sumAll(await last.rest())).toEqual(["run.status cancelled", "run.failed", "[DONE]"]);
});

test("agents.events.stream.type_approval_requested_approval, agents.events.stream.type_approval_decided_approval: an approval follows its steps in its state at that time", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const epoch = await front.claim();
  const { request, step } = makeApproval(front, run);
  const stream = await follow(front, run);
  await stream.take(1);
  const record = front.record(run, epoch, { steps: [step] });
  await front.store.plan(record, [request]);
  await front.store.wait(run.id, epoch, 0);
  const requested = (await stream.take(3)) as Json[];
  expect(sumAll(requested)).toEqual([
    ...["step.completed 1", "approval.requested pending", "run.status waiting_approval"],
  ]);
  expect(Object.keys(requested[1]!.approval)).toEqual(
    Object.keys(ApprovalRow.properties).filter((field) => field !== "account_id"),
  );
  await front.post(`/v1/runs/${run.id}/cancel`, undefined);
  const closing = ["step.completed 2", "approval.decided closed"];
  const end = ["run.status cancelled", "run.failed", "[DONE]"];
  expect(sumAll(await stream.rest())).toEqual([...closing, ...end]);
  expect(sumAll(await (await follow(front, run)).rest())).toEqual([
    ...["run.status cancelled", "step.completed 1", "approval.requested pending"],
    ...[...closing, "run.failed", "[DONE]"],
  ]);
});

test("agents.events.stream.type_run_status_status: a run decided on as soon as it waits still shows that it waited", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const epoch = await front.claim();
  const { request, step } = makeApproval(front, run);
  const stream = await follow(front, run);
  await stream.take(1);
  const now = front.clock.now();
  const deciding: DecisionInput = {
    ...{ approval_id: request.approval.id, account_id: null },
    ...{ decision: "approved", reason: null, decided_by: { kind: "operator", id: "ada" } },
    ...{ step_id: crypto.randomUUID(), event_id: crypto.randomUUID(), now },
  };
  const writes = [
    () => front.store.plan(front.record(run, epoch, { steps: [step] }), [request]),
    () => front.store.wait(run.id, epoch, 0),
    () => front.store.decide(deciding),
  ];
  // As above: on engines that allow it, no read happens in between.
  if (front.app.database.engine === "postgres") for (const write of writes) await write();
  else await Promise.all(writes.map((write) => write()));
  expect(sumAll(await stream.take(6))).toEqual([
    ...["step.completed 1", "approval.requested pending", "run.status waiting_approval"],
    ...["step.completed 2", "approval.decided approved", "run.status running"],
  ]);
});

test("concurrent streams of one run, early and late, get the same events", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const epoch = await front.claim();
  const streams: Stream[] = [];
  for (let i = 0; i < 10; i++) {
    streams.push(await follow(front, run));
    await front.store.note(front.record(run, epoch, { steps: makeSteps(3) }));
  }
  const ending = { status: "succeeded", error: null, event_id: crypto.randomUUID(), fresh: [] };
  await front.store.finish(front.record(run, epoch), ending as never);
  const expected = [
    "run.status running",
    ...Array.from({ length: 30 }, (_, i) => `step.completed ${i + 1}`),
    ...["run.status succeeded", "run.completed", "[DONE]"],
  ];
  for (const stream of streams) expect(sumAll(await stream.rest())).toEqual(expected);
});

test("agents.events.stream.p2, agents.limits.stream_idle_comment: a comment follows every 15 seconds without events", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const stream = await follow(front, run);
  await stream.take(1);
  await front.clock.advance(10_000);
  const epoch = await front.claim();
  expect(sumAll(await stream.take(1))).toEqual(["run.status running"]);
  await front.clock.advance(14_999);
  await front.store.note(front.record(run, epoch, { steps: makeSteps(1) }));
  expect(sumAll(await stream.take(1))).toEqual(["step.completed 1"]);
  await front.clock.advance(30_000);
  expect(await stream.take(2)).toEqual([": keep-alive", ": keep-alive"]);
});

test("agents.events.stream.p3, agents.limits.stream_lifetime: after an hour a stream ends without [DONE]", async () => {
  await using front = await startRuns();
  const stream = await follow(front, await front.begin());
  await stream.take(1);
  await front.clock.advance(3_599_999);
  await front.clock.advance(1);
  const frames = await stream.rest();
  expect(new Set(sumAll(frames))).toEqual(new Set([": keep-alive"]));
  expect(frames).toHaveLength(239);
});

test("agents.events.stream.p3: a stop of the server ends every stream at once, without [DONE]", async () => {
  await using front = await startRuns({}, { listens: true });
  // The engine takes it and waits for a model that never answers.
  const run = await front.begin({ input: { message: "!stall" } });
  const streams = [await follow(front, run), await follow(front, run)];
  for (const stream of streams) await stream.take(1);
  const stopped = front.app.stop(1_000);
  for (const stream of streams) expect(sumAll(await stream.rest())).not.toContain("[DONE]");
  await front.clock.advance(60_000);
  await stopped;
});

test("agents.events.stream.p5, agents.limits.open_event_streams, agents.errors.too_many_streams: a key has at most 20 open streams", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const streams: Stream[] = [];
  for (let i = 0; i < 20; i++) streams.push(await follow(front, run));
  await expectRefusal(await front.get(`/v1/runs/${run.id}/events`), 429, "too_many_streams");
  const other = await createKey(front, { scopes: ["agents"] });
  await (await follow(front, run, other)).leave();
  await streams[0]!.take(1);
  await streams[0]!.leave();
  await (await follow(front, run)).leave();
  await front.post(`/v1/runs/${run.id}/cancel`, undefined);
  for (const stream of streams.slice(1)) await stream.rest();
  expect((await follow(front, run)).response.status).toBe(200);
});

test("a revoked key loses its streams at once, an expired one within 5 seconds", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const { account_id, app, clock } = front;
  const make = (expires_at: number | null) =>
    storeKey(app.access, { account_id, scopes: ["agents"], expires_at });
  const [revoked, expiring] = [await make(null), await make(clock.now() + 2_000)];
  const streams = [
    await follow(front, run, revoked.secret),
    await follow(front, run, expiring.secret),
    await follow(front, run),
  ];
  for (const stream of streams) await stream.take(1);
  await app.admin.keys.revoke(revoked.key.id);
  expect(await streams[0]!.rest()).toEqual([]);
  await clock.advance(5_000);
  expect(await streams[1]!.rest()).toEqual([]);
  await front.post(`/v1/runs/${run.id}/cancel`, undefined);
  expect(sumAll(await streams[2]!.rest())).toContain("[DONE]");
});
