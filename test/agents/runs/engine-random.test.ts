// Random scripts of calls, receivers and decisions, with a crash after each write and one later.
// No call runs without permission, and none is repeated by itself.
import { afterEach, expect, test } from "bun:test";
import type { ApprovalRow } from "../../../src/agents/approvals/approval.ts";
import { FINAL } from "../../../src/agents/runs/transitions.ts";
import { createDraw } from "../../support/draw.ts";
import { countRounds } from "../../support/rounds.ts";
import { type Cut, createCut } from "./cut.ts";
import { approvalsOf, decide, pendingOf, verifyApprovals } from "./decisions.ts";
import { callsOf, resultsOf, verifyLog } from "./log.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, done, makeSender, pin, type Receiver, unknown } from "./senders.ts";
import { add, type CallRequest, call, type Model, say, type Trial } from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

const TOOLS = [
  ["look", { risk: "read" }],
  ["keyed", { risk: "write", isIdempotent: true }],
  ["write", { risk: "write" }],
  ["pay", { risk: "irreversible" }],
] as const;
const TTL_MS = 60_000;

/** A number from 0 up to 1, determined by the words. */
const drawFor = (...words: readonly unknown[]): number =>
  createDraw(Number(Bun.hash.crc32(words.join(" "))))();

/** A world determined by its seed, whatever happens. */
function makeWorld(seed: number) {
  const draw = createDraw(seed);
  const pick = <T>(some: readonly T[]): T => some[Math.floor(draw() * some.length)]!;
  const rounds = Array.from({ length: 1 + Math.floor(draw() * 3) }, (_, round) =>
    Array.from({ length: 1 + Math.floor(draw() * 4) }, (__, n): CallRequest => {
      if (draw() < 0.1) return add();
      // Sometimes an identical call.
      return [pick(TOOLS)[0], { n: draw() < 0.2 ? 0 : 10 * round + n }];
    }),
  );
  const policy = {
    approval_ttl_seconds: TTL_MS / 1000,
    unattended_writes: draw() < 0.6,
    on_unknown_outcome: draw() < 0.7 ? ("ask" as const) : ("report" as const),
    require_approval: draw() < 0.2 ? ["look"] : [],
  };
  const model: Model = ({ messages }) => {
    const round = messages.filter(({ role }) => role === "assistant").length;
    const calls = rounds[round];
    return calls ? call(...calls) : say("done");
  };
  const receiver = createReceiver(({ tool, arguments: input, time }) => {
    const drawn = drawFor(seed, tool, JSON.stringify(input), time);
    if (drawn < 0.25) return unknown();
    if (drawn < 0.35) return { ...done("Nothing was sent."), outcome: "error" };
    return done();
  });
  const tools = TOOLS.map(([name, fields]) => makeSender(name, receiver, fields));
  return { model, receiver, ...pin(tools, policy) };
}

/** The decision on an approval: at once, when idle, or never. */
const drawDecision = (seed: number, { tool, arguments: input, why }: ApprovalRow) => {
  const drawn = drawFor(seed, "person", tool, JSON.stringify(input), why);
  if (drawn < 0.6) return { decision: "approved" as const, isEarly: drawn < 0.2 };
  if (drawn < 0.85) return { decision: "rejected" as const, isEarly: drawn < 0.7 };
  return null;
};

/** Drives the run until it ends, or its process dies. */
async function drive(trial: Trial, id: string, seed: number, cut?: Cut): Promise<boolean> {
  let isDead = false;
  void cut?.reached.promise.then(() => {
    isDead = true;
  });
  for (let turn = 0; turn < 10_000; turn++) {
    await trial.clock.advance(0);
    if (isDead) return false;
    const { status } = await trial.find(id);
    if (FINAL.has(status)) return true;
    const pending = await pendingOf(trial, id);
    const isWaiting = status === "waiting_approval";
    let decided = 0;
    for (const approval of pending) {
      const drawnDecision = drawDecision(seed, approval);
      if (!drawnDecision || !(isWaiting || drawnDecision.isEarly)) continue;
      await decide(trial, approval.id, drawnDecision.decision);
      decided++;
    }
    if (isWaiting && decided === 0) await trial.clock.advance(TTL_MS);
  }
  throw new Error("a run goes on for ever");
}

const seen = { deaths: 0, requested: 0, expired: 0, repeated: 0, unsure: 0, denied: 0 };

/** Checks how often each call may have arrived, by its steps and decisions. */
async function verifyArrivals(trial: Trial, id: string, receiver: Receiver): Promise<void> {
  const calls = await callsOf(trial, id);
  const approvals = await approvalsOf(trial, id);
  const results = await resultsOf(trial, id);
  const planned = new Map(calls.toReversed().map((one) => [one.tool_call_id, one]));
  for (const key of receiver.keys()) expect([...planned.keys()]).toContain(key);
  for (const [key, { name, risk, decision }] of planned) {
    const arrivals = receiver.arrivals.filter((one) => one.key === key);
    const sendings = calls.filter((one) => one.tool_call_id === key && one.attempt > 0);
    const requested = approvals.filter(({ tool_call_id }) => tool_call_id === key);
    const allowed = requested.filter(({ status }) => status === "approved").length;
    const { outcome } = results.find(({ tool_call_id }) => tool_call_id === key)!;
    if (risk === null || name === "calculator") continue;
    // Each arrival was stored before, with the same arguments.
    if (risk !== "read") {
      const intents = sendings.filter((one) => one.decision !== "needs_approval");
      expect(arrivals.length).toBeLessThanOrEqual(intents.length);
    }
    for (const arrival of arrivals) expect(arrival.arguments).toEqual(planned.get(key)!.arguments);
    if (decision === "needs_approval" && allowed === 0) expect(arrivals).toEqual([]);
    if (name === "write" || name === "pay") {
      expect(arrivals.length).toBeLessThanOrEqual(allowed + (decision === "auto" ? 1 : 0));
    }
    if (outcome === "ok") expect(arrivals.length).toBeGreaterThan(0);
    if (outcome === "rejected" || outcome === "expired") expect(arrivals).toEqual([]);
    seen.repeated += arrivals.length > 1 ? 1 : 0;
    seen.unsure += outcome === "outcome_unknown" ? 1 : 0;
    seen.denied += outcome === "rejected" ? 1 : 0;
  }
  seen.requested += approvals.filter(({ why }) => why[0] === "outcome_unknown").length;
  seen.expired += approvals.filter(({ status }) => status === "expired").length;
}

/** Dies after `writes` writes, and then once more; false if the run ended before. */
async function liveAndDie(seed: number, writes: number): Promise<boolean> {
  const { receiver, model, ...options } = makeWorld(seed);
  const cuts = [createCut(writes), createCut(1 + Math.floor(drawFor(seed, writes) * 10))];
  let trial = await open(model, { ...options, ...cuts[0]!.wraps });
  const id = await trial.run();
  const isFirst = await drive(trial, id, seed, cuts[0]);
  let isOver = isFirst;
  if (!isOver) {
    trial = await open(model, { ...options, ...cuts[1]!.wraps });
    isOver = await drive(trial, id, seed, cuts[1]);
  }
  if (!isOver) {
    trial = await open(model, options);
    await drive(trial, id, seed);
  }
  const run = await trial.find(id);
  expect({ seed, writes, ...run }).toMatchObject({ seed, writes, status: "succeeded" });
  await verifyLog(trial, id);
  await verifyApprovals(trial, id);
  await verifyArrivals(trial, id, receiver);
  await closeAll();
  return !isFirst;
}

test("a run of a random script repeats no call by itself, and sends none without permission", async () => {
  for (let seed = 1; seed <= countRounds(24); seed++) {
    for (let writes = 1; await liveAndDie(seed, writes); writes++) seen.deaths++;
  }
  // Each event must occur, or the test proves little.
  for (const [what, times] of Object.entries(seen))
    expect([what, times >= countRounds(10)]).toEqual([what, true]);
}, 120_000);
