// Statuses of a run in its engine: ends, and cancels in every status.
import { afterEach, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { DEFAULT_POLICY } from "../../../src/agents/definitions/version.ts";
import type { BuiltinTool } from "../../../src/agents/tools/contract.ts";
import { readThreads } from "../../support/thread-reader.ts";
import { kindsOf, outcomesOf, verifyLog, within } from "./log.ts";
import {
  add,
  call,
  failing,
  type Model,
  openTrial,
  say,
  type Trial,
  type TrialOptions,
  untilAborted,
} from "./trial.ts";

let trial: Trial;
const open = async (model: Model, options: TrialOptions = {}) => {
  trial = await openTrial(model, options);
  await trial.engine.start();
  return trial;
};
afterEach(async () => {
  await trial.close();
});

const events = async () => (await trial.outbox.list("a-1")).map(({ type }) => type);
describe("a run", () => {
  test("ends `succeeded` with the model's last text (agents.states.running_model_and_tools_finish)", async () => {
    await open((_ask, _signal, turn) => (turn === 0 ? call(add("0.1+0.2")) : say("It is 0.3.")));
    const id = await trial.run("What is 0.1+0.2?");
    const run = await trial.ended(id);
    expect(run).toMatchObject({
      ...{ status: "succeeded", error: null, output: { message: "It is 0.3." }, epoch: 0 },
      usage: { rounds: 2, tool_calls: 1, prompt_tokens: 200, completion_tokens: 20 },
    });
    expect(await kindsOf(trial, id)).toEqual([
      "assistant",
      "tool_call",
      "tool_result",
      "assistant",
    ]);
    expect(trial.asks[1]!.messages.map(({ role, content }) => [role, content])).toEqual([
      ["system", expect.stringContaining("You help.")],
      ["user", "What is 0.1+0.2?"],
      ["assistant", null],
      ["tool", "0.3"],
    ]);
    expect(await events()).toEqual(["run.completed"]);
    await verifyLog(trial, id);
  });

  test("leaves no timer behind, whether its calls succeed or fail", async () => {
    const fails: BuiltinTool = {
      ...{ name: "fails", title: "", description: "", risk: "read", revision: 1 },
      ...{ external_content: false, timeout_ms: 9_000, isFree: true },
      parameters: Type.Object({}),
      run: () => Promise.reject(new Error("a bug of the tool")),
    };
    const tools = ["calculator", "fails"];
    await open((_ask, _signal, turn) => (turn === 0 ? call(add(), ["fails", {}]) : say("done")), {
      ...{ tools: [fails], version: { ...within({ max_run_seconds: 60 }).version, tools } },
    });
    const before = trial.clock.pending();
    const id = await trial.run();
    await trial.ended(id);
    await trial.until(async () => trial.engine.executing === 0);
    expect((await outcomesOf(trial, id)).toSorted()).toEqual(["error", "ok"]);
    expect(trial.clock.pending()).toBe(before);
  });

  test("with an empty reply ends `succeeded` without output", async () => {
    await open(() => say("", { content: null }));
    const run = await trial.ended(await trial.run());
    expect(run).toMatchObject({ status: "succeeded", output: null });
    expect(await trial.messages(run.thread_id)).toHaveLength(1);
  });

  test("with a reply cut at its length limit keeps its text", async () => {
    await open(() => say("half a sen", { finish_reason: "length" }));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "succeeded", output: { message: "half a sen" } },
    });
    expect((await trial.steps(id))[0]!.data).toMatchObject({ finish_reason: "length" });
  });

  test("under an operator's hold stays queued until its release (agents.errors.agent_held)", async () => {
    await open(() => say("done"));
    const hold = {
      kind: "account",
      id: "a-1",
      account_id: "a-1",
      reason: "why",
      since: 1,
    } as const;
    await trial.holds.hold(hold);
    const id = await trial.run();
    await trial.clock.advance(60_000);
    expect(await trial.find(id)).toMatchObject({ status: "queued", started_at: null });
    await trial.holds.release("account", "a-1");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
  });
});

describe("a cancel", () => {
  test("ends a queued run at once (agents.states.queued_post_v1_runs_id_cancel)", async () => {
    await open(() => say("never"));
    await trial.holds.hold({
      ...{ kind: "account", id: "a-1", account_id: "a-1", reason: "why", since: 1 },
    });
    const id = await trial.run();
    expect(await trial.cancel(id)).toMatchObject({ status: "cancelled" });
    await trial.holds.release("account", "a-1");
    await trial.clock.advance(10_000);
    expect(trial.asks).toHaveLength(0);
    expect(await events()).toEqual(["run.failed"]);
  });

  test("aborts the model request at once (agents.states.running_cancel)", async () => {
    const requested = Promise.withResolvers<void>();
    await open((_ask, signal) => {
      requested.resolve();
      return untilAborted(signal);
    });
    const id = await trial.run();
    await requested.promise;
    expect(await trial.cancel(id)).toMatchObject({ status: "running", cancel_requested: true });
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "cancelled", error: { code: "cancelled" }, cancel_requested: true },
    });
    expect(await kindsOf(trial, id)).toEqual(["cancel_requested"]);
    await verifyLog(trial, id);
  });

  test("aborts tools, whose calls end `cancelled`; earlier results are kept", async () => {
    const begun = Promise.withResolvers<void>();
    const slow = {
      ...trialTool("web_search"),
      async run({ signal }: { signal: AbortSignal }) {
        begun.resolve();
        await untilAborted(signal);
        return { outcome: "timeout" as const, content: "late", external: false };
      },
    };
    await open(() => call(add(), ["web_search", { query: "x" }]), { tools: [slow] });
    const id = await trial.run();
    await begun.promise;
    await trial.until(async () => (await trial.find(id)).usage.tool_calls === 1);
    await trial.cancel(id);
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
    const results = (await trial.steps(id)).filter(({ kind }) => kind === "tool_result");
    expect(results.map(({ data }) => (data as { outcome: string }).outcome)).toEqual([
      "ok",
      "cancelled",
    ]);
    await verifyLog(trial, id);
  });

  test("ends a run at once whose model request a stop has ended too", async () => {
    await open(async (_ask, signal) => {
      await untilAborted(signal);
      return failing("service_unavailable", { isStopped: true });
    });
    const id = await trial.run();
    await trial.until(async () => trial.asks.length === 1);
    trial.engine.drain();
    await trial.cancel(id);
    await trial.until(async () => trial.engine.executing === 0);
    expect(await trial.find(id)).toMatchObject({ status: "cancelled" });
  });

  test("ends a run that pauses before a retry of its model", async () => {
    await open(() => failing("model_offline"));
    const id = await trial.run();
    await trial.until(async () => (await trial.steps(id)).length === 1);
    await trial.cancel(id);
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
    expect(trial.asks).toHaveLength(1);
  });

  test("that arrives during the run's claim takes effect", async () => {
    const claimed = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await open((_ask, signal) => untilAborted(signal), {
      wrap: (store) => ({
        ...store,
        async claim(...args) {
          const rows = await store.claim(...args);
          claimed.resolve();
          await goOn.promise;
          return rows;
        },
      }),
    });
    const id = await trial.run();
    await claimed.promise;
    expect(await trial.cancel(id)).toMatchObject({ status: "running", cancel_requested: true });
    goOn.resolve();
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
    expect(trial.asks).toHaveLength(0);
  });

  test("that arrives during a suspect's claim takes effect, whatever else is claimed then", async () => {
    const claimed = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    trial = await openTrial((_ask, signal) => untilAborted(signal), {
      wrap: (store) => ({
        ...store,
        async claimSuspect(...args) {
          const row = await store.claimSuspect(...args);
          claimed.resolve();
          await goOn.promise;
          return row;
        },
      }),
    });
    const id = await trial.run("Go on.", { status: "running", crashes: 2 });
    await trial.engine.start();
    await claimed.promise;
    await trial.cancel(id);
    await trial.run();
    await trial.until(async () => trial.asks.length === 1);
    goOn.resolve();
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled" });
    expect(trial.asks).toHaveLength(1);
  });

  test("that arrives while a reply is written ends the run before its tools", async () => {
    let id = "";
    await open(() => call(add()), {
      wrap: (store) => ({
        ...store,
        async plan(...args) {
          await trial.cancel(id);
          return store.plan(...args);
        },
      }),
    });
    id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled", usage: { tool_calls: 0 } });
    expect(await kindsOf(trial, id)).toEqual([
      "cancel_requested",
      "assistant",
      "tool_call",
      "tool_result",
    ]);
    await verifyLog(trial, id);
  });

  test("changes nothing of a run that has ended (agents.states.any_final_cancel)", async () => {
    await open(() => say("done"));
    const id = await trial.run();
    const run = await trial.ended(id);
    expect(await trial.cancel(id)).toEqual(run);
    expect(await events()).toEqual(["run.completed"]);
  });
});

describe("a call that needs approval", () => {
  test("delays no other call, then the run waits (agents.states.running_tool_call_needs_approval, agents.does.risk.p1)", async () => {
    const policy = { ...DEFAULT_POLICY, require_approval: ["calculator"] };
    await open(() => call(["web_search", { query: "x" }], add()), { version: { policy } });
    const id = await trial.run();
    await trial.reaches(id, "waiting_approval");
    const run = await trial.find(id);
    expect(run).toMatchObject({ epoch: 0, usage: { tool_calls: 1 }, external_content: true });
    expect(await readThreads(trial.database).counts()).toEqual([{ account_id: "a-1", active: 0 }]);
    const [approval, ...others] = await readThreads(trial.database).approvals();
    expect(others).toEqual([]);
    expect(run.pending_approvals).toEqual([approval!.id]);
    expect(approval).toMatchObject({
      ...{ tool: "calculator", why: ["listed"], status: "pending", external_sources: [] },
      ...{ arguments: { expression: "1+1" }, run_id: id },
      expires_at: approval!.requested_at + 86_400_000,
    });
    expect(await kindsOf(trial, id)).toEqual([
      ...["assistant", "tool_call", "tool_call", "approval", "tool_result"],
      ...["price_missing", "external_content"],
    ]);
    expect(await events()).toEqual(["approval.requested"]);

    // agents.states.waiting_approval_cancel
    expect(await trial.cancel(id)).toMatchObject({ status: "cancelled", pending_approvals: [] });
    expect((await readThreads(trial.database).approvals())[0]).toMatchObject({ status: "closed" });
    expect((await events()).sort()).toEqual([
      ...(["approval.decided", "approval.requested", "run.failed"] as const),
    ]);
    expect(await readThreads(trial.database).counts()).toEqual([{ account_id: "a-1", active: 0 }]);
    await verifyLog(trial, id);
  });

  test("is closed before the event of a run that is cancelled beside another call, which names it no more", async () => {
    const begun = Promise.withResolvers<void>();
    const slow = {
      ...trialTool("web_search"),
      async run({ signal }: { signal: AbortSignal }) {
        begun.resolve();
        await untilAborted(signal);
        return { outcome: "timeout" as const, content: "late", external: false };
      },
    };
    const policy = { ...DEFAULT_POLICY, require_approval: ["calculator"] };
    const options = { version: { policy }, tools: [slow] };
    await open(() => call(["web_search", { query: "x" }], add()), options);
    const id = await trial.run();
    await begun.promise;
    await trial.until(async () => (await trial.find(id)).pending_approvals.length === 1);
    expect(await trial.cancel(id)).toMatchObject({ status: "running", cancel_requested: true });
    const run = await trial.ended(id);
    expect(run).toMatchObject({ status: "cancelled", pending_approvals: [] });
    expect((await readThreads(trial.database).approvals())[0]).toMatchObject({ status: "closed" });
    const ended = (await trial.outbox.list("a-1")).find(({ type }) => type === "run.failed");
    expect(JSON.parse(ended!.data).run).toMatchObject({ id, pending_approvals: [] });
    await verifyLog(trial, id);
  });
});

function trialTool(name: string) {
  return {
    ...{ name, title: name, description: name, risk: "read" as const, revision: 1 },
    ...{ external_content: true, timeout_ms: 60_000, isFree: false },
    parameters: Type.Object({}),
  };
}
