// Helpers of the approval tests: approvals in every state, keys with and without permission, and
// runs of the stub that wait.
import { expect } from "bun:test";
import { outboxStore } from "../../../src/outbox/store.ts";
import { KEY, type TestAppOptions } from "../../support/app.ts";
import { makeApproval } from "./runs-approval.ts";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";

export const APPROVER = `${KEY}-approver`;
export const VERBS = ["approve", "reject"] as const;
export type Verb = (typeof VERBS)[number];
/** The shortest that a policy may set. */
export const TTL_MS = 60_000;

/** An engine executes here; the calculator needs approval unless `policy` differs. */
export async function startAsking(
  policy: object = {},
  options: TestAppOptions = {},
): Promise<RunsFront & { asking: Json }> {
  const front = await startRuns({}, { listens: true, ...options });
  const asking = await front.createAgent({
    tools: ["calculator", "current_time", "web_search"],
    policy: { require_approval: ["calculator"], approval_ttl_seconds: TTL_MS / 1000, ...policy },
  });
  return { ...front, asking };
}

/** A line that lets the stub call the calculator. */
export const add = (expression: string) => `!tool calculator ${JSON.stringify({ expression })}`;

export const FINAL = ["succeeded", "failed", "budget_exceeded", "cancelled"];

/** The run, as soon as it is so. */
export async function follow(
  front: RunsFront,
  id: string,
  isThere: (run: Json) => boolean,
): Promise<Json> {
  for (;;) {
    const run = await front.read(`/v1/runs/${id}`);
    if (isThere(run)) return run;
    await front.clock.advance(0);
  }
}
export const ended = (front: RunsFront, id: string) =>
  follow(front, id, ({ status }) => FINAL.includes(status));

/** A run of this message that waits, and what it waits for in the order of its calls. */
export async function beginAsking(
  front: RunsFront & { asking: Json },
  message: string,
): Promise<{ run: Json; approvals: Json[] }> {
  const { id } = await front.begin({ input: { message } }, front.asking);
  const run = await follow(front, id, ({ status }) => status === "waiting_approval");
  return { run, approvals: await readPending(front, run) };
}

export const readPending = (front: RunsFront, run: Json): Promise<Json[]> =>
  Promise.all(run.pending_approvals.map((id: string) => front.read(`/v1/approvals/${id}`)));

/** Posts a decision, by the approver by default. */
export const decide = (
  front: RunsFront,
  id: string,
  verb: Verb,
  body: unknown = {},
  key: string | null = APPROVER,
): Promise<Response> => front.post(`/v1/approvals/${id}/${verb}`, body, { key });

/** The approval as a decision answers that must be taken. */
export async function decided(
  front: RunsFront,
  id: string,
  verb: Verb,
  body: unknown = {},
): Promise<Json> {
  const reply = await decide(front, id, verb, body);
  const approval = (await reply.json()) as Json;
  expect([reply.status, approval]).toEqual([200, expect.anything()]);
  expect(await front.read(`/v1/approvals/${id}`)).toEqual(approval);
  return approval;
}

export async function readSteps(front: RunsFront, run_id: string): Promise<Json[]> {
  const { data } = await front.read(`/v1/runs/${run_id}/steps`);
  expect(data.map(({ seq }: Json) => seq)).toEqual(data.map((_: Json, i: number) => i + 1));
  return data;
}

/** The approval's history in a run: its step events and their approvals. */
export async function readHistory(front: RunsFront, { id, run_id }: Json) {
  const steps = (await readSteps(front, run_id)).filter(
    ({ kind, data }) => kind === "approval" && data.approval.id === id,
  );
  return {
    events: steps.map(({ data }) => data.event as string),
    shown: steps.map(({ data }) => data.approval as Json),
  };
}

/** Events for webhooks in their order: type and data. */
export async function listEvents({ app, account_id }: RunsFront): Promise<[string, Json][]> {
  const rows = await app.database.bind(outboxStore).list(account_id);
  return rows.map(({ type, data }) => [type, JSON.parse(data)]);
}

/** An approval whose run is not executed, in any state. */
export const STATES: Readonly<
  Record<string, (front: RunsFront, approval: Json, epoch: number) => Promise<unknown>>
> = {
  pending: async () => {},
  approved: (front, { id }) => decided(front, id, "approve"),
  rejected: (front, { id }) => decided(front, id, "reject"),
  // No service checks the time here.
  overdue: ({ clock }) => clock.advance(TTL_MS),
  expired: async (front, { id }) => {
    await front.clock.advance(TTL_MS);
    const fresh = { step_id: crypto.randomUUID(), event_id: crypto.randomUUID() };
    const entries = [{ approval_id: id, ...fresh }];
    expect(await front.store.expire(entries, front.clock.now())).toBe(1);
  },
  cancelled: (front, { run_id }) => front.post(`/v1/runs/${run_id}/cancel`, undefined),
  "closed with its run": async (front, { run_id }, epoch) => {
    const run = await front.read(`/v1/runs/${run_id}`);
    const fresh = Array.from({ length: 3 }, () => crypto.randomUUID());
    const error = { code: "crash_loop", message: "It broke." };
    const ending = { status: "failed", error, event_id: crypto.randomUUID(), fresh } as const;
    expect(await front.store.finish(front.record(run, epoch), ending)).toBeTrue();
  },
};

/** A run with one approval in that state; by default the run waits for it. */
export async function bringTo(
  front: RunsFront,
  state: string,
  key: string = KEY,
): Promise<{ run: Json; approval: Json }> {
  const started = await front.askStart({}, { key });
  const run = (await started.json()) as Json;
  const epoch = await front.claim();
  const { request, step } = makeApproval(front, run);
  await front.store.plan(front.record(run, epoch, { steps: [step] }), [request]);
  if (state !== "closed with its run") await front.store.wait(run.id, epoch, 0);
  const path = `/v1/approvals/${request.approval.id}`;
  await STATES[state]!(front, await front.read(path), epoch);
  return { run: await front.read(`/v1/runs/${run.id}`), approval: await front.read(path) };
}
