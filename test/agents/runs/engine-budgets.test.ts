// Budgets and rights that end a run early.
import { afterEach, describe, expect, test } from "bun:test";
import { kindsOf, verifyLog, within } from "./log.ts";
import {
  add,
  call,
  failing,
  KEY_ID,
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
};
afterEach(() => trial.close());

const forever: Model = () => call(add());

describe("an exceeded budget ends a run as `budget_exceeded` with its own code", () => {
  test("max_cost_sar, checked before each round, is exceeded by one round at most (agents.does.cost.3, agents.states.running_priced_cost_reaches_max_cost)", async () => {
    await open(forever, within({ max_cost_sar: "0.000130" }));
    const id = await trial.run();
    const run = await trial.ended(id);
    // 120 micro-SAR a round: the second begins below the budget.
    expect(run).toMatchObject({
      ...{ status: "budget_exceeded", error: { code: "max_cost_sar" }, priced: 240 },
      usage: { rounds: 2 },
    });
    expect((await kindsOf(trial, id)).at(-1)).toBe("budget");
    expect((await trial.outbox.list("a-1")).map(({ type }) => type)).toEqual(["run.failed"]);
    await verifyLog(trial, id);
  });

  test("max_cost_sar counts priced parts, also if the total is unknown (agents.does.cost.3)", async () => {
    await open(() => call(["web_search", { query: "x" }]), within({ max_cost_sar: "0.000130" }));
    const run = await trial.ended(await trial.run());
    expect(run).toMatchObject({
      ...{ error: { code: "max_cost_sar" }, priced: 240 },
      cost: { model: 240, tools: null, total: null },
    });
  });

  test("max_total_tokens", async () => {
    await open(forever, within({ max_total_tokens: 220 }));
    const run = await trial.ended(await trial.run());
    expect(run).toMatchObject({ status: "budget_exceeded", error: { code: "max_total_tokens" } });
    expect(run.usage).toMatchObject({ rounds: 2, total_tokens: 220 });
  });

  test("max_rounds does not run the last round's tools, and takes its text as the output", async () => {
    await open(() => ({ ...call(add()), content: "Let me see." }), within({ max_rounds: 2 }));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "budget_exceeded", error: { code: "max_rounds" } },
      ...{ output: { message: "Let me see." }, usage: { rounds: 2, tool_calls: 1 } },
    });
    expect(await kindsOf(trial, id)).toEqual([
      ...["assistant", "tool_call", "tool_result", "assistant", "budget"],
    ]);
    expect((await trial.steps(id)).map(({ round }) => round)).toEqual([1, 1, 1, 2, 2]);
    await verifyLog(trial, id);
  });

  test("the output stays the last text, though the last reply has none", async () => {
    const model: Model = (_ask, _signal, turn) =>
      turn === 0 ? { ...call(add()), content: "Let me see." } : call(add());
    await open(model, within({ max_rounds: 2 }));
    expect(await trial.ended(await trial.run())).toMatchObject({
      ...{ status: "budget_exceeded", output: { message: "Let me see." } },
    });
  });

  test("max_rounds ends `succeeded` with a plain answer in the last round", async () => {
    await open(() => say("At once."), within({ max_rounds: 1 }));
    expect(await trial.ended(await trial.run())).toMatchObject({ status: "succeeded" });
  });

  test("max_tool_calls runs no call of a reply that exceeds it", async () => {
    await open(() => call(add(), add()), within({ max_tool_calls: 3 }));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({
      ...{ error: { code: "max_tool_calls" }, usage: { rounds: 2, tool_calls: 2 } },
    });
    await verifyLog(trial, id);
  });

  test("max_run_seconds aborts the model request in flight", async () => {
    await open((_ask, signal) => untilAborted(signal), within({ max_run_seconds: 60 }));
    const id = await trial.run();
    await trial.until(async () => trial.asks.length === 1);
    await trial.clock.advance(59_999);
    expect(await trial.find(id)).toMatchObject({ status: "running" });
    await trial.clock.advance(1);
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "budget_exceeded", error: { code: "max_run_seconds" }, worked_ms: 60_000 },
    });
    expect(await kindsOf(trial, id)).toEqual(["budget"]);
  });

  test("max_run_seconds counts the pauses before retries of a model", async () => {
    await open(() => failing("model_offline"), within({ max_run_seconds: 60 }));
    const id = await trial.run();
    await trial.clock.advance(60_000);
    expect(await trial.ended(id)).toMatchObject({ error: { code: "max_run_seconds" } });
    await verifyLog(trial, id);
  });

  test.each([2_147_484, 2_147_483_647])(
    "max_run_seconds may exceed the longest timer: %d",
    async (max_run_seconds) => {
      await open((_ask, signal) => untilAborted(signal), within({ max_run_seconds }));
      const id = await trial.run();
      await trial.until(async () => trial.asks.length === 1);
      await trial.clock.advance(60_000);
      expect(await trial.find(id)).toMatchObject({ status: "running" });
    },
  );
});

describe("the key that started a run", () => {
  test("is checked for each round (agents.authentication.1)", async () => {
    await open(async (_ask, _signal, turn) => {
      if (turn === 1) await trial.endKey();
      return call(add());
    });
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "failed", error: { code: "permission_denied" }, usage: { rounds: 2 } },
    });
    await verifyLog(trial, id);
  });

  test("aborts its round at once when a commit notifies of its end", async () => {
    await open((_ask, signal) => untilAborted(signal));
    const id = await trial.run();
    await trial.until(async () => trial.asks.length === 1);
    await trial.endKey();
    expect(await trial.ended(id)).toMatchObject({ error: { code: "permission_denied" } });
  });

  test("ends the run within five seconds, also during a round (agents.authentication.1)", async () => {
    await open((_ask, signal) => untilAborted(signal));
    const id = await trial.run();
    await trial.until(async () => trial.asks.length === 1);
    trial.callers.delete(KEY_ID);
    await trial.clock.advance(5_000);
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "failed", error: { code: "permission_denied" } },
    });
  });

  test.each(["model_not_permitted", "model_not_found", "context_length_exceeded"] as const)(
    "%s ends the run with that code, without a retry (agents.states.running_run_fails)",
    async (code) => {
      await open((_ask, _signal, turn) => (turn === 0 ? call(add()) : failing(code)));
      const id = await trial.run();
      expect(await trial.ended(id)).toMatchObject({
        ...{ status: "failed", error: { code, message: `it fails with ${code}` } },
        usage: { rounds: 1 },
      });
      expect(trial.asks).toHaveLength(2);
      expect((await trial.outbox.list("a-1")).map(({ type }) => type)).toEqual(["run.failed"]);
    },
  );
});

describe("a model that fails", () => {
  test("is tried four times within half a minute, then its code ends the run", async () => {
    await open(() => failing("upstream_error"));
    const id = await trial.run();
    await trial.clock.advance(30_000);
    expect(await trial.ended(id)).toMatchObject({ error: { code: "upstream_error" } });
    expect(trial.asks).toHaveLength(4);
    expect(await kindsOf(trial, id)).toEqual(["model_retry", "model_retry", "model_retry"]);
    expect((await trial.steps(id)).every(({ round }) => round === 0)).toBe(true);
  });

  test("is tried as often after waits for a limit as without them", async () => {
    await open((_ask, _signal, turn) =>
      failing(turn < 5 ? "rate_limit_exceeded" : "upstream_error"),
    );
    const id = await trial.run();
    await trial.clock.advance(200_000);
    expect(await trial.ended(id)).toMatchObject({ error: { code: "upstream_error" } });
    expect(trial.asks).toHaveLength(5 + 4);
  });

  test.each(["model_offline", "no_model_available", "upstream_rate_limited"] as const)(
    "with %s is retried for up to ten minutes, and the run continues when it is back",
    async (code) => {
      const back_at = 550_000;
      await open(() => (trial.clock.monotonic() < back_at ? failing(code) : say("back")));
      const id = await trial.run();
      await trial.clock.advance(599_000);
      expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
      expect(trial.asks.length).toBeGreaterThan(15);
    },
  );

  test("is retried for ten minutes at most", async () => {
    await open(() => failing("model_offline"));
    const id = await trial.run();
    await trial.clock.advance(560_000);
    expect(await trial.find(id)).toMatchObject({ status: "running" });
    await trial.clock.advance(40_000);
    expect(await trial.ended(id)).toMatchObject({ error: { code: "model_offline" } });
  });

  test("is not retried before its Retry-After", async () => {
    await open((_ask, _signal, turn) =>
      turn === 0 ? failing("upstream_rate_limited", { retry_after_ms: 90_000 }) : say("now"),
    );
    const id = await trial.run();
    await trial.clock.advance(89_999);
    expect(trial.asks).toHaveLength(1);
    await trial.clock.advance(1);
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded" });
  });

  test("frees the slot of its run meanwhile", async () => {
    await open(
      (ask) => (JSON.stringify(ask).includes("later") ? failing("model_offline") : say("ok")),
      {
        concurrent_runs: 1,
      },
    );
    const parked = await trial.run("later");
    await trial.until(async () => (await trial.steps(parked)).length === 1);
    expect(await trial.ended(await trial.run("now"))).toMatchObject({ status: "succeeded" });
    expect(await trial.find(parked)).toMatchObject({ status: "running" });
  });

  test("frees the slot at once for a run that waits already", async () => {
    const asked = Promise.withResolvers<void>();
    const failed = Promise.withResolvers<void>();
    await open(
      async (_ask, _signal, turn) => {
        if (turn > 0) return say("ok");
        asked.resolve();
        await failed.promise;
        return failing("model_offline");
      },
      { concurrent_runs: 1 },
    );
    const parked = await trial.run();
    await asked.promise;
    const waiting = await trial.run();
    failed.resolve();
    // No time passes, so that no heartbeat wakes the engine.
    expect(await trial.ended(waiting)).toMatchObject({ status: "succeeded" });
    expect(await trial.find(parked)).toMatchObject({ status: "running" });
  });
});

describe("a stop during the wait for a model", () => {
  test("releases the run at once, though another run has its slot", async () => {
    await open(
      (ask, signal) =>
        JSON.stringify(ask).includes("later") ? failing("model_offline") : untilAborted(signal),
      { concurrent_runs: 1 },
    );
    const parked = await trial.run("later");
    await trial.until(async () => (await trial.steps(parked)).length === 1);
    const other = await trial.run("now");
    await trial.until(async () => trial.asks.length === 2);
    trial.engine.drain();
    await trial.until(async () => (await trial.find(parked)).epoch === 0);
    expect((await trial.find(other)).epoch).toBe(1);
  });
});

describe("an interrupted reply has an unknown cost (agents.does.cost.1)", () => {
  const usage = { prompt_tokens: 12, completion_tokens: 41, total_tokens: 53 };
  /** Waits past the pause after the first failure. */
  const askAgain = async (id: string) => {
    await trial.until(async () => (await trial.steps(id)).length > 0);
    await trial.clock.advance(5_000);
  };
  const countUnpriced = async (id: string) => {
    const steps = await trial.steps(id);
    return steps.filter(({ data }) => (data as { event?: string }).event === "price_missing")
      .length;
  };

  test("the run continues, and its cost is unknown from then on", async () => {
    const replies = [failing("upstream_error", { usage }), call(add()), say("Done.")];
    await open(() => replies.shift()!);
    const id = await trial.run();
    await askAgain(id);
    const run = await trial.ended(id);
    expect(run).toMatchObject({
      status: "succeeded",
      cost: { model: null, tools: 0, total: null },
    });
    // Priced parts still count against a budget.
    expect(run.priced).toBe(240);
    expect(await countUnpriced(id)).toBe(1);
  });

  test("a run that ends with it has an unknown cost too", async () => {
    await open(() => failing("context_length_exceeded", { usage }));
    const id = await trial.run();
    expect(await trial.ended(id)).toMatchObject({ status: "failed", cost: { total: null } });
    expect(await countUnpriced(id)).toBe(1);
  });

  test("a run that is cancelled during its reply has an unknown cost too", async () => {
    await open(async (_ask, signal) => {
      await untilAborted(signal);
      return failing("upstream_error", { usage });
    });
    const id = await trial.run();
    await trial.until(async () => trial.asks.length === 1);
    await trial.cancel(id);
    expect(await trial.ended(id)).toMatchObject({ status: "cancelled", cost: { total: null } });
    expect(await countUnpriced(id)).toBe(1);
  });

  test("a reply without any output costs nothing", async () => {
    const replies = [failing("upstream_error"), say("Done.")];
    await open(() => replies.shift()!);
    const id = await trial.run();
    await askAgain(id);
    expect(await trial.ended(id)).toMatchObject({ cost: { model: 120, total: 120 } });
    expect(await countUnpriced(id)).toBe(0);
  });
});
