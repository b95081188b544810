// Long threads: the model's view, the cost of summaries, and unchanged storage.
import { afterEach, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { DEFAULT_BUDGETS } from "../../../src/agents/definitions/version.ts";
import type { RunRow } from "../../../src/agents/runs/run.ts";
import { type BuiltinTool, success } from "../../../src/agents/tools/contract.ts";
import { readThreads } from "../../support/thread-reader.ts";
import { kindsOf, verifyLog } from "./log.ts";
import {
  add,
  answer,
  call,
  failing,
  type Model,
  openTrial,
  say,
  type Trial,
  untilAborted,
} from "./trial.ts";

let trial: Trial;
afterEach(() => trial.close());

const TURN = "word ".repeat(300);
const isSummaryAsk = (ask: { messages: readonly { content?: unknown }[] }) =>
  String(ask.messages[0]!.content).startsWith("Summarise");

/** A thread of this many runs, each with a long question and answer. */
async function talk(model: Model, runs: number, context_window = 4_000) {
  trial = await openTrial(model, { context_window });
  await trial.engine.start();
  let thread_id: string | null = null;
  const ids: string[] = [];
  for (let n = 0; n < runs; n++) {
    const id = await trial.run(`Question ${n}: ${TURN}`, {}, thread_id);
    thread_id = (await trial.ended(id)).thread_id;
    ids.push(id);
  }
  return { ids, thread_id: thread_id! };
}

/** Replaces the delimiter, which differs each time. */
const unfenced = (messages: unknown) => JSON.stringify(messages).replace(/outside-\w+/g, "fence");

describe("a thread that is too long for its model", () => {
  test("is summarised in a step with usage and cost, and later runs see the summary too", async () => {
    const { ids, thread_id } = await talk(
      (ask) => (isSummaryAsk(ask) ? say("They talked.") : say(TURN)),
      8,
    );
    const summaries = trial.asks.filter(isSummaryAsk);
    expect(summaries.length).toBeGreaterThan(0);
    expect(summaries.length).toBeLessThan(8);
    expect(summaries.every(({ tools, max_tokens }) => tools.length === 0 && max_tokens! > 0)).toBe(
      true,
    );
    for (const id of ids) await verifyLog(trial, id);
    const compacted = [];
    for (const id of ids) {
      const run = await trial.find(id);
      const steps = await trial.steps(id);
      const own = steps.filter(({ data }) => (data as { event?: string }).event === "compacted");
      compacted.push(...own);
      // A summary does not count as a round, but costs like one.
      expect(run).toMatchObject({
        ...{ status: "succeeded", cost: { model: 120 * (1 + own.length) } },
        usage: { rounds: 1, total_tokens: 110 * (1 + own.length) },
      });
    }
    expect(compacted.map(({ data }) => data)).toEqual(
      Array(summaries.length).fill(
        expect.objectContaining({
          detail: {
            ...{ through_seq: expect.any(Number), model: "stub-1", cost: "0.000120" },
            usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
          },
        }),
      ),
    );
    const last = trial.asks.at(-1)!.messages;
    expect(String(last[1]!.content)).toContain("They talked.");
    expect(String(last.at(-1)!.content)).toStartWith("Question 7");
    // The stored messages are unchanged.
    const stored = await trial.messages(thread_id);
    expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1));
    expect(stored).toHaveLength(16);
    expect(stored[0]!.content).toBe(`Question 0: ${TURN}`);
    expect(await readThreads(trial.database).summary(thread_id)).toMatchObject({
      content: "They talked.",
    });
  });

  describe("whose summary uses up a budget of the run", () => {
    /** Runs on one thread, of which some need a summary; one call uses up the budget. */
    async function talkWithin(budgets: Partial<RunRow["budgets"]>) {
      const model: Model = (ask) => say(isSummaryAsk(ask) ? "They talked." : TURN);
      trial = await openTrial(model, { context_window: 4_000 });
      await trial.engine.start();
      const ends: RunRow[] = [];
      for (let n = 0; n < 9; n++) {
        const fields = { budgets: { ...DEFAULT_BUDGETS, max_rounds: 1, ...budgets } };
        const thread_id = ends[0]?.thread_id ?? null;
        const id = await trial.run(`Question ${n}: ${TURN}`, fields, thread_id);
        ends.push(await trial.ended(id));
      }
      return ends;
    }

    test.each([{ max_total_tokens: 110 }, { max_cost_sar: "0.000120" }])(
      "is answered all the same, since a summary is a part of its round (agents.does.cost.3): %p",
      async (budgets) => {
        const ends = await talkWithin(budgets);
        expect(trial.asks.filter(isSummaryAsk).length).toBeGreaterThan(0);
        for (const { status, output, usage } of ends) {
          expect({ status, output, rounds: usage.rounds }).toEqual({
            ...{ status: "succeeded", output: { message: TURN }, rounds: 1 },
          });
        }
      },
    );

    test("asks for no second summary, which the budget could not pay", async () => {
      // The summary saves too little, so that another one would follow.
      const model: Model = (ask) => say(isSummaryAsk(ask) ? "z ".repeat(6_000) : TURN);
      trial = await openTrial(model, { context_window: 4_000 });
      await trial.engine.start();
      const budgets = { ...DEFAULT_BUDGETS, max_total_tokens: 110 };
      let thread_id: string | null = null;
      for (let n = 0; n < 9; n++) {
        const run = await trial.ended(await trial.run(TURN, { budgets }, thread_id));
        thread_id = run.thread_id;
        expect(run).toMatchObject({ status: "succeeded", output: { message: TURN } });
        expect(run.usage.total_tokens).toBeLessThanOrEqual(220);
      }
      expect(trial.asks.filter(isSummaryAsk).length).toBeGreaterThan(0);
    });

    test("is answered also if the process ends between summary and answer", async () => {
      const model: Model = (ask, signal) => {
        if (isSummaryAsk(ask)) return say("They talked.");
        return trial.asks.some(isSummaryAsk) ? untilAborted(signal) : say(TURN);
      };
      trial = await openTrial(model, { context_window: 4_000 });
      await trial.engine.start();
      const fields = { budgets: { ...DEFAULT_BUDGETS, max_total_tokens: 110 } };
      let id = await trial.run(TURN, fields);
      const { thread_id } = await trial.ended(id);
      while (!trial.asks.some(isSummaryAsk)) {
        id = await trial.run(TURN, fields, thread_id);
        const asked = trial.asks.length;
        await trial.until(async () => trial.asks.length > asked);
        if (!trial.asks.some(isSummaryAsk)) await trial.ended(id);
      }
      await trial.until(async () => !isSummaryAsk(trial.asks.at(-1)!));
      await trial.stop();
      const { database, clock } = trial;
      const options = { database, clock, context_window: 4_000, seed: 2 };
      const second = await openTrial(() => say("done"), options);
      await second.engine.start();
      expect(await second.ended(id)).toMatchObject({ output: { message: "done" } });
      await second.stop();
    });
  });

  test("shows a round's only results, shortened, before the model has answered them", async () => {
    const long = `begin ${"word ".repeat(12_000)} end`;
    const look: BuiltinTool = {
      ...{ name: "look", description: "Looks.", risk: "read", revision: 1 },
      ...{ external_content: false, parameters: Type.Object({}), timeout_ms: 1_000, isFree: true },
      run: async () => success(long),
    };
    const model: Model = (ask) =>
      ask.messages.at(-1)!.role === "tool" ? say("Seen.") : call(["look", {}], ["look", {}]);
    const version = { tools: ["look"] };
    trial = await openTrial(model, { context_window: 4_000, tools: [look], version });
    await trial.engine.start();
    const id = await trial.run("What is there?");
    expect(await trial.ended(id)).toMatchObject({ output: { message: "Seen." } });
    const shown = trial.asks.at(-1)!.messages.filter(({ role }) => role === "tool");
    expect(shown).toHaveLength(2);
    for (const { content } of shown) {
      expect(content).toMatch(
        /^begin word [\s\S]+About \d+ characters are left out[\s\S]+word {2}end$/,
      );
    }
  });

  test("is sent without a summary if the model writes none", async () => {
    const { ids } = await talk(
      (ask) => (isSummaryAsk(ask) ? answer({ content: "  " }) : say("ok")),
      10,
    );
    const id = ids.at(-1)!;
    expect(await trial.find(id)).toMatchObject({ status: "succeeded", output: { message: "ok" } });
    expect(await kindsOf(trial, id)).toEqual(["compacted", "assistant"]);
    expect(trial.asks.at(-1)!.tools.length).toBeGreaterThan(0);
  });

  test("keeps a summary of bounded length, whatever its server writes", async () => {
    const long = "z".repeat(16_385);
    const { thread_id } = await talk((ask) => say(isSummaryAsk(ask) ? long : TURN), 6);
    const { content } = (await readThreads(trial.database).summary(thread_id))!;
    expect(content).toBe("z".repeat(16_384));
  });

  test("ends its run with the server's code if nothing more can be left out", async () => {
    trial = await openTrial(() => failing("context_length_exceeded"), { context_window: 500 });
    await trial.engine.start();
    const id = await trial.run("word ".repeat(2_000));
    expect(await trial.ended(id)).toMatchObject({
      ...{ status: "failed", error: { code: "context_length_exceeded" } },
    });
  });

  test("is summarised within one run, which keeps its question, also after a crash", async () => {
    const model: Model = (ask) => {
      if (isSummaryAsk(ask)) return say("So far: nothing.");
      return ask.messages.length > 40 ? say("x") : { ...call(add()), content: TURN };
    };
    trial = await openTrial(model, { context_window: 4_000 });
    await trial.engine.start();
    const id = await trial.run("The one question.");
    await trial.until(async () => trial.asks.filter(isSummaryAsk).length >= 2);
    await trial.ended(id);
    expect(await trial.find(id)).toMatchObject({ error: { code: "max_rounds" } });
    for (const ask of trial.asks.filter((one) => !isSummaryAsk(one))) {
      expect(JSON.stringify(ask.messages)).toContain("The one question.");
    }
    // A later summary includes an earlier one, before the messages behind it.
    const [, ...later] = trial.asks.filter(isSummaryAsk);
    for (const { messages } of later) {
      expect(messages[1]!.content).toEndWith("\n\nSo far: nothing.");
    }
    await verifyLog(trial, id);
  });

  test("looks the same after a summary, interrupted or not", async () => {
    const model: Model = (ask, signal) => {
      if (isSummaryAsk(ask)) return say("So far: nothing.");
      if (trial.asks.some(isSummaryAsk)) return untilAborted(signal);
      return { ...call(add()), content: TURN };
    };
    trial = await openTrial(model, { context_window: 4_000 });
    await trial.engine.start();
    const id = await trial.run("The one question.");
    const isBehind = () =>
      trial.asks.some(isSummaryAsk) && !isSummaryAsk(trial.asks.at(-1)!) && trial.asks;
    await trial.until(async () => isBehind());
    const messages = trial.asks.at(-1)!.messages;
    await trial.stop();
    const { database, clock } = trial;
    const options = { database, clock, context_window: 4_000, seed: 2 };
    const second = await openTrial(() => say("done"), options);
    await second.engine.start();
    expect(await second.ended(id)).toMatchObject({ status: "succeeded" });
    expect(unfenced(second.asks[0]!.messages)).toBe(unfenced(messages));
    await verifyLog(second, id);
    await second.stop();
  });

  test("has its summary inside a fence once it is tainted", async () => {
    const search = () => ({ ...call(["web_search", { query: "x" }]), content: TURN });
    const model: Model = (ask) => {
      if (isSummaryAsk(ask)) return say("They say: obey.");
      return JSON.stringify(ask.messages).includes("They say: obey.") ? say("done") : search();
    };
    trial = await openTrial(model, { context_window: 4_000 });
    await trial.engine.start();
    const id = await trial.run("The one question.");
    expect(await trial.ended(id)).toMatchObject({ status: "succeeded", external_content: true });
    const shown = JSON.stringify(trial.asks.at(-1)!.messages);
    expect(shown).toMatch(/so far:\\n\\n<(outside-\w+)>\\nThey say: obey\.\\n<\/\1>/);
  });

  describe("a thread too long because of one message", () => {
    /** A server that counts a token for every two characters, unlike Wadi. */
    const strict =
      (windowTokens: number): Model =>
      (ask) => {
        const texts = ask.messages.map(({ content }) => String(content ?? ""));
        const tokens = texts.join("").length / 2;
        return tokens > windowTokens ? failing("context_length_exceeded") : say("Fine.");
      };
    const LONG = "m ".repeat(49_900);

    test("fails only that run: later runs see it shortened, and it stays stored as it was", async () => {
      trial = await openTrial(strict(32_768), { context_window: 32_768 });
      await trial.engine.start();
      const first = await trial.ended(await trial.run(LONG));
      expect(first).toMatchObject({ error: { code: "context_length_exceeded" } });
      expect(trial.asks).toHaveLength(1);
      const { thread_id } = first;
      for (const message of ["hi", "And now?"]) {
        const run = await trial.ended(await trial.run(message, {}, thread_id));
        expect(run).toMatchObject({ status: "succeeded", output: { message: "Fine." } });
        const [old, ...others] = trial.asks.at(-1)!.messages.slice(1);
        expect(old!.content).toMatch(/^(m )+m?\s+\[… About \d+ characters are left out/);
        expect(old!.content).toEndWith("m m ");
        expect(others.at(-1)!.content).toBe(message);
        await verifyLog(trial, run.id);
        expect(await kindsOf(trial, run.id)).toEqual(["model_retry", "assistant"]);
      }
      expect((await trial.messages(thread_id))[0]!.content).toBe(LONG);
    });

    test("leads to the same request after a crash as before", async () => {
      const strictly = strict(32_768);
      const model: Model = async (ask, signal) => {
        const reply = await strictly(ask, signal, 0);
        return reply.ok ? untilAborted(signal) : reply;
      };
      trial = await openTrial(model, { context_window: 32_768 });
      await trial.engine.start();
      const { thread_id } = await trial.ended(await trial.run(LONG));
      const id = await trial.run("hi", {}, thread_id);
      await trial.until(async () => trial.asks.length === 3);
      await trial.stop();
      const { database, clock } = trial;
      const options = { database, clock, context_window: 32_768, seed: 2 };
      const second = await openTrial(strictly, options);
      await second.engine.start();
      expect(await second.ended(id)).toMatchObject({ status: "succeeded" });
      expect(unfenced(second.asks.map(({ messages }) => messages))).toBe(
        unfenced([trial.asks[2]!.messages]),
      );
      await second.stop();
    });

    test("is shortened at most three times, then ends with the server's code", async () => {
      const model: Model = (ask) => (isSummaryAsk(ask) ? say("They talked.") : say(TURN));
      const { thread_id } = await talk(model, 3, 32_768);
      await trial.stop();
      const refusing = () => failing("context_length_exceeded");
      const { database, clock } = trial;
      const second = await openTrial(refusing, { database, clock, context_window: null, seed: 2 });
      await second.engine.start();
      const id = await second.run("hi", {}, thread_id);
      expect(await second.ended(id)).toMatchObject({ error: { code: "context_length_exceeded" } });
      expect(second.asks).toHaveLength(4);
      expect(await kindsOf(second, id)).toEqual(Array(3).fill("model_retry"));
      await second.stop();
    });
  });
});
