// Concurrent decisions: exactly one wins, all callers see the same, and the history names it.
import { expect, test } from "bun:test";
import { createDraw } from "../../http/draw.ts";
import { createKey } from "../gateway/keys.ts";
import {
  APPROVER,
  add,
  beginAsking,
  decide,
  ended,
  FINAL,
  listEvents,
  readHistory,
  readSteps,
  startAsking,
  TTL_MS,
  type Verb,
} from "./approvals-front.ts";
import { readRefusal } from "./refusal.ts";
import type { Json, RunsFront } from "./runs-front.ts";

const SEED = 20_261_122;
/** Enough that each side wins one; another engine need not show that again. */
const ROUNDS = process.env.WADI_TEST_PLACE ? 8 : 25;
const DECIDERS = 4;

/** Reply to a decision: success, or an error of the table. */
interface Met {
  /** Id of the approval. */
  id: string;
  verb: Verb;
  code: string | null;
  approval: Json | null;
}

async function readMet(reply: Response, verb: Verb): Promise<Omit<Met, "id">> {
  if (reply.status === 200) {
    return { verb, code: null, approval: (await reply.json()) as Json };
  }
  const [status, code] = await readRefusal(reply);
  expect(status).toBe(409);
  return { verb, code: code as string, approval: null };
}

/** Expected replies by the approval's final state. */
const MET: Record<string, Record<Verb, string | null>> = {
  approved: { approve: null, reject: "approval_decided" },
  rejected: { approve: "approval_decided", reject: null },
  expired: { approve: "approval_expired", reject: "approval_expired" },
  closed: { approve: "approval_closed", reject: "approval_closed" },
};

/** Checks that every report of an approval agrees; returns its final state. */
async function checkEnd(front: RunsFront, pending: Json, met: readonly Met[]): Promise<string> {
  const approval = await front.read(`/v1/approvals/${pending.id}`);
  const history = await readHistory(front, pending);
  expect(history).toEqual({
    events: ["requested", approval.status],
    shown: [pending, approval],
  });
  const reported = (await listEvents(front)).filter(([, data]) => data.approval?.id === pending.id);
  expect(reported.toSorted()).toEqual([
    ["approval.decided", { approval }],
    ["approval.requested", { approval: pending }],
  ]);
  for (const { verb, code, approval: shown } of met) {
    expect([verb, code]).toEqual([verb, MET[approval.status]![verb]]);
    // The later decision got the earlier one's result.
    if (shown) expect(shown).toEqual(approval);
  }
  return approval.status;
}

async function checkRun(front: RunsFront, id: string, approvals: readonly Json[]): Promise<void> {
  const run = await ended(front, id);
  expect(FINAL).toContain(run.status);
  expect(run.pending_approvals).toEqual([]);
  const steps = await readSteps(front, id);
  for (const { tool_call_id, status } of approvals) {
    const results = steps.filter(
      ({ kind, data }) => kind === "tool_result" && data.tool_call_id === tool_call_id,
    );
    expect(results).toHaveLength(1);
    const allowed: Record<string, string[]> = {
      // A cancel may come between the decision and the call.
      approved: ["ok", "cancelled"],
      rejected: ["rejected", "cancelled"],
      expired: ["expired", "cancelled"],
      closed: ["cancelled"],
    };
    expect(allowed[status]).toContain(results[0]!.data.outcome);
  }
}

/** Approves and rejects, in an order that is drawn, by several keys. */
function drawDecisions(
  front: RunsFront,
  pending: readonly Json[],
  keys: readonly string[],
  draw: (below: number) => number,
): (() => Promise<Met>)[] {
  const requests = pending.flatMap(({ id }) =>
    Array.from(
      { length: DECIDERS * 2 },
      (_, i): [string, Verb, string] =>
        [...[id as string, i % 2 === 0 ? "approve" : "reject"], keys[draw(keys.length)]!] as never,
    ),
  );
  return shuffle(requests, draw).map(([id, verb, key]) => async () => {
    const reply = await decide(front, id, verb, { reason: `${verb} of ${key.slice(-6)}` }, key);
    return { id, ...(await readMet(reply, verb)) };
  });
}

function shuffle<T>(items: readonly T[], draw: (below: number) => number): T[] {
  const left = [...items];
  return items.map(() => left.splice(draw(left.length), 1)[0]!);
}

test("agents.states.p6 agents.states.p7 agents.states.p8: of concurrent approvals and rejections one wins, and all others see its decision", async () => {
  await using front = await startAsking();
  const keys = [APPROVER, await createKey(front, { scopes: ["agents.approve"] })];
  const draw = createDraw(SEED);
  const became = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const { run, approvals } = await beginAsking(front, `${add("1 + 1")}\n${add("2 + 2")}\n!next`);
    const decisions = drawDecisions(front, approvals, keys, draw);
    const met = await Promise.all(decisions.map((ask) => ask()));
    for (const pending of approvals) {
      became.add(
        await checkEnd(
          front,
          pending,
          met.filter(({ id }) => id === pending.id),
        ),
      );
    }
    const after = approvals.map(({ id }) => front.read(`/v1/approvals/${id}`));
    await checkRun(front, run.id, await Promise.all(after));
  }
  expect([...became].toSorted()).toEqual(["approved", "rejected"]);
}, 120_000);

test("agents.states.waiting_approval_cancel agents.states.p10: a decision concurrent with a cancel either wins or is closed", async () => {
  await using front = await startAsking();
  const draw = createDraw(SEED);
  const became = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const { run, approvals } = await beginAsking(front, `${add("1 + 1")}\n${DONE}`);
    const decisions = drawDecisions(front, approvals, [APPROVER], draw);
    const met = await askAll(front, run, decisions, draw);
    became.add(await checkEnd(front, approvals[0]!, met));
    await checkRun(front, run.id, [await front.read(`/v1/approvals/${approvals[0]!.id}`)]);
  }
  expectBoth(became, "closed");
}, 120_000);

test("agents.states.p9 agents.does.risk.p1: at the moment of expiry either a decision wins or the approval expires", async () => {
  await using front = await startAsking();
  const draw = createDraw(SEED);
  const became = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const { run, approvals } = await beginAsking(front, `${add("1 + 1")}\n${DONE}`);
    const decisions = drawDecisions(front, approvals, [APPROVER], draw);
    const met = await askAround(front, decisions, draw);
    await ended(front, run.id);
    became.add(await checkEnd(front, approvals[0]!, met));
    await checkRun(front, run.id, [await front.read(`/v1/approvals/${approvals[0]!.id}`)]);
  }
  expectBoth(became, "expired");
}, 120_000);

test("agents.states.p6 agents.states.p9 agents.states.p10: of a concurrent approval, rejection, cancel and expiry exactly one wins, and the history names it", async () => {
  await using front = await startAsking();
  const draw = createDraw(SEED);
  const became = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const { run, approvals } = await beginAsking(front, `${add("1 + 1")}\n${DONE}`);
    const decisions = drawDecisions(front, approvals, [APPROVER], draw);
    const cancel = createCancel(front, run);
    const met = await askAround(front, mix(decisions, cancel, draw), draw);
    became.add(await checkEnd(front, approvals[0]!, met));
    await checkRun(front, run.id, [await front.read(`/v1/approvals/${approvals[0]!.id}`)]);
  }
  expectBoth(became, "closed");
}, 120_000);

const DONE = "!next\n!say Done.";
type Asking = () => Promise<Met | null>;

function createCancel(front: RunsFront, run: Json): Asking {
  return async () => {
    const reply = await front.post(`/v1/runs/${run.id}/cancel`, undefined);
    expect(reply.status).toBe(200);
    return null;
  };
}

/** The cancel is first in half of the rounds; otherwise it would seldom win. */
function mix(decisions: readonly Asking[], cancel: Asking, draw: (below: number) => number) {
  return draw(2) === 0 ? [cancel, ...decisions] : shuffle([...decisions, cancel], draw);
}

async function askAll(
  front: RunsFront,
  run: Json,
  decisions: readonly Asking[],
  draw: (below: number) => number,
): Promise<Met[]> {
  const requests = mix(decisions, createCancel(front, run), draw);
  return (await Promise.all(requests.map((ask) => ask()))).filter((met) => met !== null);
}

/** Some decide before the expiry and some at it; in half of the rounds all do at once. */
async function askAround(
  front: RunsFront,
  requests: readonly Asking[],
  draw: (below: number) => number,
): Promise<Met[]> {
  await front.clock.advance(TTL_MS - 1);
  const isLate = draw(2) === 0;
  if (isLate) await front.clock.advance(1);
  const before = isLate ? 0 : 1 + draw(requests.length);
  const first = requests.slice(0, before).map((ask) => ask());
  for (let turns = draw(4); turns > 0; turns--) await front.clock.advance(0);
  const over = front.clock.advance(1);
  const met = await Promise.all([...first, ...requests.slice(before).map((ask) => ask())]);
  await over;
  return met.filter((one) => one !== null);
}

/** Different outcomes prove a race; another engine may always have the same winner. */
function expectBoth(became: ReadonlySet<string>, by: string): void {
  expect(["approved", "rejected", "expired", "closed"]).toEqual(
    expect.arrayContaining([...became]),
  );
  if (process.env.WADI_TEST_PLACE) return;
  expect([...became]).toContain(by);
  expect(became.size).toBeGreaterThan(1);
}
