// Calls in flight when their process is killed, at each point and for each kind of tool.
import { afterEach, describe, expect, test } from "bun:test";
import type { VersionRow } from "../../../src/agents/definitions/version.ts";
import type { Risk } from "../../../src/agents/tools/contract.ts";
import { type Cut, createCut, createCutAt, type Point } from "./cut.ts";
import { decideAll, pendingOf, verifyApprovals } from "./decisions.ts";
import { callsOf, resultsOf, verifyLog } from "./log.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, done, makeSender, pin, type Receiver, silent } from "./senders.ts";
import { add, call, type Model, say, type Trial } from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

/** The number of calls in the model's reply. */
let calls = 1;
let tool = "";
const model: Model = ({ messages }) => {
  if (messages.some(({ role }) => role === "tool")) return say("done");
  const requests = Array.from({ length: calls }, (_, n) => [tool, { n }] as const);
  return call(...requests, ...(calls > 1 ? [add()] : []));
};

type Kill = Point | "work";
const KILLS: Readonly<Record<string, Kill>> = {
  "before the intent": { write: "intend", side: "before" },
  "after the intent": { write: "intend", side: "after" },
  "while the receiver works": "work",
  "before the result is stored": { write: "settle", side: "before" },
  "after the result is stored": { write: "settle", side: "after" },
};
const TOOLS: Readonly<Record<string, { risk: Risk; isIdempotent?: boolean }>> = {
  look: { risk: "read" },
  keyed: { risk: "write", isIdempotent: true },
  write: { risk: "write" },
  // An irreversible call is never repeated by itself, even if declared idempotent.
  pay: { risk: "irreversible", isIdempotent: true },
};
type Policy = VersionRow["policy"]["on_unknown_outcome"];
const CASES = Object.keys(KILLS).flatMap((kill) =>
  Object.keys(TOOLS).flatMap((name) =>
    [1, 3].flatMap((count) =>
      (["ask", "report"] as const).map((policy) => ({ kill, name, count, policy })),
    ),
  ),
);

function createCutFor(kill: Kill, name: string): Cut {
  if (kill === "work") return createCut();
  // A read has no intent: its process dies after the plan.
  if (name === "look" && kill.write === "intend") {
    return createCutAt({ write: "plan", side: "after" });
  }
  // Results of the round's other calls are stored before a decision.
  const isSecond = name === "pay" && kill.write === "settle" && calls > 1;
  return createCutAt({ ...kill, pass: isSecond ? 2 : 1 });
}

/** Kills a process at this point; returns what it left. */
async function dieAt(kill: Kill, name: string, policy: Policy) {
  const cut = createCutFor(kill, name);
  const receiver = createReceiver(() => {
    if (kill !== "work") return done();
    if (receiver.arrivals.length === calls) cut.die();
    return silent();
  });
  const sender = makeSender(name, receiver, TOOLS[name]!);
  const options = pin([sender], { unattended_writes: true, on_unknown_outcome: policy });
  const trial = await open(model, { ...options, ...cut.wraps });
  const id = await trial.run();
  if (name === "pay") {
    await trial.reaches(id, "waiting_approval");
    await decideAll(trial, id, "approved");
  }
  await cut.reached.promise;
  receiver.answer = () => done();
  return { trial, id, receiver, options };
}

/** The steps of each call to the tool, and how often it arrived at the receiver. */
async function look(trial: Trial, id: string, receiver: Receiver) {
  const steps = (await callsOf(trial, id)).filter(({ name }) => name === tool);
  const results = await resultsOf(trial, id);
  return [...new Set(steps.map(({ tool_call_id }) => tool_call_id))].map((key) => ({
    key,
    is_intended: steps.some((one) => one.tool_call_id === key && one.attempt > 0),
    outcome: results.find(({ tool_call_id }) => tool_call_id === key)?.outcome,
    times: receiver.arrivals.filter((one) => one.key === key).length,
    attempt: steps.findLast((one) => one.tool_call_id === key)!.attempt,
  }));
}
type Looked = Awaited<ReturnType<typeof look>>[number];

/** The expected end of a call in this state; `ask` applies once its approval is granted. */
function foresee({ key, ...left }: Looked, policy: Policy): Looked {
  const again = { key, is_intended: true, outcome: "ok" as const, times: left.times + 1 };
  if (left.outcome) return { key, ...left };
  if (tool === "look") return { ...again, attempt: 1 };
  if (!left.is_intended) return { ...again, attempt: 1 };
  if (tool === "keyed" || policy === "ask") return { ...again, attempt: 2 };
  return { key, ...left, outcome: "outcome_unknown" };
}

describe("a process that is killed", () => {
  test.each(CASES)("$kill: $count × $name ($policy)", async ({ kill, name, count, policy }) => {
    [calls, tool] = [count, name];
    const { trial: first, id, receiver, options } = await dieAt(KILLS[kill]!, name, policy);
    const left = await look(first, id, receiver);
    const arrived = kill === "before the intent" || kill === "after the intent" ? 0 : 1;
    const expected = Array.from({ length: count }, () => ({
      is_intended: name === "look" || kill !== "before the intent",
      outcome: kill === "after the result is stored" ? "ok" : undefined,
      times: arrived,
    }));
    expect(left).toMatchObject(expected);

    const second = await open(model, options);
    const unsure = left.filter(({ outcome, is_intended }) => !outcome && is_intended);
    const needsPerson = policy === "ask" && (name === "write" || name === "pay");
    if (needsPerson && unsure.length > 0) {
      await second.reaches(id, "waiting_approval");
      const pending = await pendingOf(second, id);
      expect(pending.map(({ why }) => why)).toEqual(unsure.map(() => ["outcome_unknown"]));
      expect(new Set(pending.map(({ tool_call_id }) => tool_call_id))).toEqual(
        new Set(unsure.map(({ key }) => key)),
      );
      // No call is sent again before the approval.
      expect(await look(second, id, receiver)).toMatchObject(expected);
      await decideAll(second, id, "approved");
    }
    const run = await second.ended(id);
    expect(run).toMatchObject({ status: "succeeded", recoveries: 1 });
    expect(run.usage.tool_calls).toBe(count === 1 ? 1 : count + 1);
    expect(await look(second, id, receiver)).toEqual(left.map((one) => foresee(one, policy)));
    await verifyLog(second, id);
    await verifyApprovals(second, id);
  });
});
