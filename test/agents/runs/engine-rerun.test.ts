// Reruns: calls answered from the record of another run, and rounds taken from it.
import { afterEach, describe, expect, test } from "bun:test";
import { DEFAULT_POLICY } from "../../../src/agents/definitions/version.ts";
import { noteStore } from "../../../src/agents/notes/store.ts";
import { RecordedRun } from "../../../src/agents/runs/recorded-run.ts";
import type { RunRow } from "../../../src/agents/runs/run.ts";
import type { RunStore } from "../../../src/agents/runs/store/index.ts";
import type { Risk } from "../../../src/agents/tools/contract.ts";
import { DatabaseUnavailable } from "../../../src/database/index.ts";
import { decideAll } from "./decisions.ts";
import { callsOf, kindsOf, resultsOf, verifyLog } from "./log.ts";
import { createReceiver, done, makeSender, pin, type Receiver } from "./senders.ts";
import { call, makeRun, openTrial, type Reply, say, type Trial } from "./trial.ts";

let trial: Trial;
let receiver: Receiver;
let replies: Reply[];
let wrap: ((store: RunStore) => RunStore) | undefined;
afterEach(() => {
  wrap = undefined;
  return trial.close();
});

/** Opens a trial whose model gives these replies in turn; each call has another result. */
async function open(...first: Reply[]) {
  replies = first;
  receiver = createReceiver(() => done(`result ${receiver.arrivals.length}`));
  const tools = [
    makeSender("look", receiver, { risk: "read" }),
    makeSender("write", receiver, { risk: "write" }),
    makeSender("pay", receiver, { risk: "irreversible" }),
  ];
  const pinned = pin(tools, { ...DEFAULT_POLICY, unattended_writes: true });
  const options = { ...pinned, ...(wrap && { wrap }) };
  trial = await openTrial((_ask, _signal, turn) => replies[turn] ?? say("done"), options);
  await trial.engine.start();
}

function pinBuiltin(name: string, risk: Risk): void {
  trial.version.tools.push(name);
  trial.version.tool_revisions.push({ name, kind: "builtin", risk, revision: 1 });
}

/** A run that has ended, after which the model gives these replies. */
async function record(...later: Reply[]) {
  const id = await trial.run();
  await trial.ended(id);
  reply(...later);
  return id;
}

/** Sets the model's next replies. */
function reply(...later: Reply[]): void {
  for (const [at, one] of later.entries()) replies[trial.asks.length + at] = one;
}

const rerun = async (of: string, fields: Partial<RunRow> = {}) => {
  const id = await trial.run("Go on.", { rerun_of: of, rerun_tools: "recorded", ...fields });
  await trial.ended(id);
  return id;
};

/** Results by the arguments of their calls. */
async function answersOf(id: string) {
  const results = new Map((await resultsOf(trial, id)).map((one) => [one.tool_call_id, one]));
  const calls = await callsOf(trial, id);
  const named = new Map(calls.map((one) => [one.tool_call_id, one]));
  return [...named.values()].map(({ tool_call_id, name, arguments: values }) => {
    return [name, JSON.stringify(values), results.get(tool_call_id)!.content];
  });
}

const byArguments = (answers: string[][], values: string) =>
  answers.filter(([, text]) => text === values).map(([, , content]) => content!);

describe("with recorded tools", () => {
  test("calls take the recorded results of the same tool and arguments in order, and no tool is called", async () => {
    await open(
      call(["write", { a: 1 }], ["look", {}]),
      call(["write", { a: 2 }], ["write", { a: 1 }]),
    );
    const first = await record(
      call(["write", '{ "a": 1 }'], ["write", { a: 2 }], ["write", { a: 1 }]),
    );
    expect(receiver.arrivals).toHaveLength(4);
    const id = await rerun(first);
    expect(await trial.find(id)).toMatchObject({
      ...{ status: "succeeded", rerun_of: first, output: { message: "done" } },
      ...{ usage: { rounds: 2, tool_calls: 3 }, cost: { tools: 0 } },
    });
    expect(receiver.arrivals).toHaveLength(4);
    const [before, after] = [await answersOf(first), await answersOf(id)];
    for (const values of ['{"a":1}', '{"a":2}']) {
      expect(byArguments(after, values)).toEqual(byArguments(before, values));
    }
    expect(byArguments(after, '{"a":1}')).toHaveLength(2);
    await verifyLog(trial, id);
  });

  test("nobody is asked for an approval, and what was approved or rejected is so again", async () => {
    await open(call(["pay", { sum: 5 }]), call(["pay", { sum: 6 }]));
    const first = await trial.run();
    for (const decision of ["rejected", "approved"] as const) {
      await trial.reaches(first, "waiting_approval");
      await decideAll(trial, first, decision);
      await trial.until(async () => (await trial.find(first)).status !== "running");
    }
    await trial.ended(first);
    reply(call(["pay", { sum: 5 }], ["pay", { sum: 6 }]));
    const id = await rerun(first);
    expect(await trial.find(id)).toMatchObject({ status: "succeeded", usage: { tool_calls: 1 } });
    expect(await kindsOf(trial, id)).not.toContain("approval");
    expect(await resultsOf(trial, id)).toMatchObject([
      { outcome: "rejected", duration_ms: null },
      { outcome: "ok", content: "result 1" },
    ]);
    expect(receiver.arrivals).toHaveLength(1);
    await verifyLog(trial, id);
  });

  test("no note is written", async () => {
    const note = (content: string) => call(["memory_set", { key: "color", content }]);
    await open(note("blue"), say("first"), note("green"));
    pinBuiltin("memory_set", "write");
    const first = await trial.run();
    await trial.ended(first);
    await record(note("blue"));
    const id = await rerun(first);
    expect(await resultsOf(trial, id)).toMatchObject([{ name: "memory_set", outcome: "ok" }]);
    const notes = trial.database.bind(noteStore);
    expect(await notes.find("g-1", "color")).toMatchObject({ content: "green" });
  });

  test("a call without a record ends the run with not_recorded, and calls nothing", async () => {
    await open(call(["write", { a: 1 }]));
    const first = await record(call(["write", { a: 1 }], ["look", {}]));
    const id = await rerun(first);
    expect(await trial.find(id)).toMatchObject({
      ...{ status: "failed", error: { code: "not_recorded" } },
    });
    expect((await resultsOf(trial, id)).map(({ outcome }) => outcome)).toEqual(["ok", "cancelled"]);
    expect(receiver.arrivals).toHaveLength(1);
    await verifyLog(trial, id);
  });

  test("the record of a deleted run answers nothing", async () => {
    await open(call(["look", {}]));
    const id = await rerun("r-deleted");
    expect(await trial.find(id)).toMatchObject({ error: { code: "not_recorded" } });
    expect(receiver.arrivals).toEqual([]);
  });

  test("content from outside taints the rerun, too", async () => {
    const search = call(["web_search", { query: "camels" }]);
    await open(search);
    pinBuiltin("web_search", "read");
    const first = await record(search);
    const id = await rerun(first);
    expect(await trial.find(id)).toMatchObject({ external_content: true, status: "succeeded" });
    expect(await kindsOf(trial, id)).toContain("external_content");
  });

  test("its end sends no webhook, which that of a live one does, with rerun_of", async () => {
    await open();
    const first = await record();
    await rerun(first);
    const live = await rerun(first, { rerun_tools: "live" });
    const ends = (await trial.outbox.list("a-1")).map(({ data }) => JSON.parse(data).run);
    expect(ends).toMatchObject([
      { id: first, rerun_of: null },
      { id: live, rerun_of: first },
    ]);
  });

  test("an interrupted rerun goes on behind the results that it took, and keeps those it could not store", async () => {
    let settled = 0;
    wrap = (store) => ({
      ...store,
      async settle(record, requests) {
        if (record.run_id === "r-again" && ++settled === 2) throw new Error("it is interrupted");
        return store.settle(record, requests);
      },
    });
    const look = call(["look", {}]);
    await open(look, look, look);
    const first = await record(look, look, look);
    const again = { id: "r-again", rerun_of: first, rerun_tools: "recorded" } as const;
    const id = await trial.run("Go on.", again);
    await trial.until(async () => trial.lines.length > 0);
    await trial.clock.advance(60_000);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", recoveries: 1 });
    const contents = (await resultsOf(trial, id)).map(({ content }) => content);
    expect(contents).toEqual(["result 1", "result 2", "result 3"]);
    expect(receiver.arrivals).toHaveLength(3);
  });

  test("a database that is away while a whole result is read loses no result", async () => {
    let hasFailed = false;
    wrap = (store) => ({
      ...store,
      async findOutput(...asked) {
        if (hasFailed) return store.findOutput(...asked);
        hasFailed = true;
        throw new DatabaseUnavailable("the database is away");
      },
    });
    const look = call(["look", {}]);
    await open(look, look);
    receiver.answer = () => done(`result ${receiver.arrivals.length} ${"-".repeat(100_000)}`);
    const first = await record(look, look);
    const id = await trial.run("Go on.", { rerun_of: first, rerun_tools: "recorded" });
    await trial.until(async () => hasFailed);
    await trial.clock.advance(10_000);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
    const begins = (await resultsOf(trial, id)).map(({ content }) => content.slice(0, 8));
    expect(begins).toEqual(["result 1", "result 2"]);
    await verifyLog(trial, id);
  });

  test("a thread that begins with a summary alone shows it to the model", async () => {
    await open();
    const run = makeRun("r-summary", { rerun_of: "r-deleted", rerun_tools: "recorded" });
    await trial.store.start({
      ...{ run, thread_id: null, message_id: "m", hook_message_id: null, idempotency: null },
      history: { messages: [], summary: "Ada asked about camels.", external: false },
      limits: { active_runs: 10, daily_runs: 10, stored_bytes: 1e12 },
    });
    await trial.ended(run.id);
    expect(JSON.stringify(trial.asks)).toContain("Ada asked about camels.");
  });
});

describe("with live tools", () => {
  test("calls are made again", async () => {
    const write = call(["write", { a: 1 }]);
    await open(write);
    const first = await record(write);
    const id = await rerun(first, { rerun_tools: "live" });
    expect(receiver.arrivals).toHaveLength(2);
    expect(await resultsOf(trial, id)).toMatchObject([{ content: "result 2" }]);
  });

  test("from a round on: earlier rounds and their calls are taken from the record, at no cost", async () => {
    await open(call(["write", { a: 1 }]), call(["write", { a: 1 }], ["pay", {}]));
    const first = await trial.run();
    await trial.reaches(first, "waiting_approval");
    await decideAll(trial, first, "approved");
    await trial.ended(first);
    const asked = trial.asks.length;
    reply(call(["write", { a: 1 }]));
    const id = await rerun(first, { rerun_tools: "live", rerun_from_round: 3 });
    // Two replayed rounds, and two in which the model was asked.
    expect(trial.asks).toHaveLength(asked + 2);
    const roles = trial.asks[asked]!.messages.map(({ role }) => role).join();
    expect(roles).toBe("system,user,assistant,tool,assistant,tool,tool");
    expect(await trial.find(id)).toMatchObject({
      ...{ status: "succeeded", usage: { rounds: 4, tool_calls: 4, total_tokens: 220 } },
      cost: { tools: 10_000 },
    });
    expect(await kindsOf(trial, id)).not.toContain("approval");
    expect((await answersOf(id)).map(([, , content]) => content)).toEqual([
      ...["result 1", expect.any(String), expect.any(String), "result 4"],
    ]);
    await verifyLog(trial, id);
  });

  test("a round without a record ends the run with not_recorded, before the model is asked", async () => {
    await open();
    const id = await rerun("r-deleted", { rerun_from_round: 2 });
    expect(await trial.find(id)).toMatchObject({
      ...{ status: "failed", error: { code: "not_recorded" }, usage: { rounds: 0 } },
    });
    expect(trial.asks).toEqual([]);
  });
});

test("a call that ended with its run before it was done is not in the record", () => {
  const call = { tool_call_id: "c-1", name: "look", arguments: {} };
  const take = (outcome: string) => {
    const steps = [
      { kind: "tool_call", round: 1, data: call },
      { kind: "tool_result", round: 1, data: { ...call, outcome } },
    ];
    const row = { rerun_of: "r-1", rerun_tools: "recorded", rerun_from_round: null } as const;
    return new RecordedRun(row, steps as never, async () => undefined).take(call as never);
  };
  expect([take("ok")?.outcome, take("cancelled")]).toEqual(["ok", undefined]);
});
