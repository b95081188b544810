// Costs of runs: exact sums, and unknown costs that never become zero.
import { describe, expect, test } from "bun:test";
import { addCost, addPriced, priceCall, priceRound } from "../../../src/agents/runs/cost.ts";
import { formatMoney } from "../../../src/platform/money.ts";
import { createDraw } from "../../support/draw.ts";
import { verifyLog } from "./log.ts";
import { answer, type CallRequest, call, makeRun, openTrial } from "./trial.ts";

const FREE: ReturnType<typeof addCost> = { model: 0, tools: 0, total: 0 };
const usage = (prompt_tokens: number, completion_tokens: number) => ({
  ...{ prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});

describe("the cost of a run", () => {
  test("is the sum of its parts in any order, and unknown if any part is (agents.does.cost.1, agents.does.cost.2)", () => {
    const draw = createDraw(7);
    for (let n = 0; n < 2_000; n++) {
      const parts = Array.from({ length: Math.floor(draw() * 8) }, () => ({
        part: draw() < 0.5 ? ("model" as const) : ("tools" as const),
        amount: draw() < 0.08 ? null : Math.floor(draw() * 10 ** Math.floor(draw() * 13)),
      }));
      const cost: typeof FREE = parts.reduce(
        (sum, { part, amount }) => addCost(sum, part, amount),
        FREE,
      );
      const priced = parts.reduce((sum, { amount }) => addPriced(sum, amount), 0);
      const known = parts.flatMap(({ amount }) => amount ?? []);
      expect(priced).toBe(known.reduce((sum, amount) => sum + amount, 0));
      for (const name of ["model", "tools"] as const) {
        const own = parts.filter(({ part }) => part === name).map(({ amount }) => amount);
        const sum = own.reduce<number>((all, one) => all + (one ?? 0), 0);
        expect<number | null>(cost[name]).toBe(own.includes(null) ? null : sum);
      }
      const hasBoth = cost.model !== null && cost.tools !== null;
      expect<number | null>(cost.total).toBe(hasBoth ? cost.model! + cost.tools! : null);
    }
  });

  test("is unknown beyond exact numbers, and the priced parts stay", () => {
    const rich = { model: Number.MAX_SAFE_INTEGER, tools: 0, total: Number.MAX_SAFE_INTEGER };
    expect(addCost<typeof FREE>(rich, "model", 1)).toEqual({ model: null, tools: 0, total: null });
    expect(addPriced(Number.MAX_SAFE_INTEGER, 1)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test("of a round needs both prices and a reported usage (agents.does.cost.1)", () => {
    const prices = {
      currency: "SAR" as const,
      models: {
        whole: { prompt: "1.500000", completion: "6.000000" },
        surface: { prompt: "1.500000", completion: null },
        none: {},
        free: { prompt: "0.000000", completion: "0.000000" },
      },
      tools: { free: "0.000000", dear: "0.125000", unknown: null },
    };
    const used = usage(1_000_000, 500_000);
    expect(priceRound(prices, "whole", used, false)).toBe(4_500_000);
    expect(priceRound(prices, "free", used, false)).toBe(0);
    expect(priceRound(prices, "whole", used, true)).toBeNull();
    for (const model of ["half", "none", "strange"]) {
      expect(priceRound(prices, model, used, false)).toBeNull();
    }
    expect(["free", "dear", "unknown", "strange"].map((tool) => priceCall(prices, tool))).toEqual([
      ...[0, 125_000, null, null],
    ]);
  });

  test("of whole runs at random prices and tokens equals the sum of their steps", async () => {
    const draw = createDraw(11);
    const price = () => (draw() < 0.2 ? null : formatMoney(Math.floor(draw() * 50_000_000)));
    for (let n = 0; n < 60; n++) {
      const calls: CallRequest[] = [
        ...[
          ["calculator", { expression: "1" }] as CallRequest,
          ["web_search", { query: "x" }] as CallRequest,
        ],
      ];
      const rounds = Math.floor(draw() * 5);
      const trial = await openTrial((_ask, _signal, turn) => ({
        ...(turn < rounds ? call(...calls.slice(0, 1 + Math.floor(draw() * 2))) : answer()),
        usage: usage(Math.floor(draw() * 100_000), Math.floor(draw() * 8_000)),
        usage_estimated: draw() < 0.05,
      }));
      await trial.engine.start();
      const prices = {
        currency: "SAR" as const,
        models: { "stub-1": { prompt: price(), completion: price() } },
        tools: { calculator: "0.000000", web_search: price() },
      };
      const id = await trial.run("Go.", { cost: { ...makeRun("x").cost, prices } });
      const run = await trial.ended(id);
      expect(run.cost.prices).toEqual(prices);
      await verifyLog(trial, id);
      await trial.close();
    }
  });
});
