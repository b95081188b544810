// The messages of a round, rebuilt afterwards: the same as those that were sent.
import { afterEach, expect, test } from "bun:test";
import { measureMessages } from "../../../src/agents/runs/measures.ts";
import { askAgain } from "../../../src/agents/runs/output.ts";
import { type RebuildOptions, rebuildRound } from "../../../src/agents/runs/round-messages.ts";
import { type BuiltinsOptions, createBuiltins } from "../../../src/agents/tools/catalog.ts";
import { type BuiltinTool, success } from "../../../src/agents/tools/contract.ts";
import { add, call, failing, type Model, openTrial, say, type Trial } from "./trial.ts";

let trial: Trial;
afterEach(() => trial.close());

const TURN = "word ".repeat(300);
const isSummaryAsk = (ask: { messages: readonly { content?: unknown }[] }) =>
  String(ask.messages[0]!.content).startsWith("Summarise");
const builtins = new Map(createBuiltins({} as BuiltinsOptions).map((tool) => [tool.name, tool]));

function options(context_window: number | null): RebuildOptions {
  return {
    store: trial.store,
    findVersion: async () => trial.version,
    openTools: async () => (name) => builtins.get(name),
    findModel: () => ({ id: "stub-1", context_window, capabilities: [] }) as never,
  };
}

/** Compares each round of the runs with what was sent for it, in their order. */
async function compare(ids: readonly string[], context_window: number | null = 100_000) {
  const sent = trial.asks.filter((ask) => !isSummaryAsk(ask));
  const rebuilt = [];
  for (const id of ids) {
    const run = await trial.find(id);
    for (let round = 1; round <= run.usage.rounds; round++) {
      rebuilt.push(await rebuildRound(options(context_window), run, round));
    }
    const none = await rebuildRound(options(context_window), run, run.usage.rounds + 1);
    expect(none).toBeUndefined();
  }
  const plain = (messages: readonly { role: string; content?: unknown }[]) =>
    messages.map(({ role, content }) => ({ role, content: content ?? "" }));
  expect(rebuilt.map((one) => plain(one!.messages))).toEqual(
    sent.map((ask) => plain(ask.messages)),
  );
  expect(rebuilt.map((one) => one!.is_exact)).toEqual(sent.map(() => true));
  return rebuilt.map((one) => one!);
}

test("content from outside has the delimiters that its execution drew", async () => {
  const model: Model = (_ask, _signal, turn) =>
    [call(["web_search", { query: "x" }]), call(add("1+1"), add("2+2")), say("done")][turn] ??
    say("again");
  trial = await openTrial(model);
  await trial.engine.start();
  const first = await trial.run("Look it up.");
  const { thread_id } = await trial.ended(first);
  const second = await trial.run("And now?", {}, thread_id);
  await trial.ended(second);
  const rounds = await compare([first, second]);
  const found = rounds[1]!.messages.at(-1)!;
  expect(found).toMatchObject({ role: "tool", tool: "web_search", round: 1, external: true });
  expect(found.content).toMatch(/^<outside-\w{16}>\n/);
  expect(rounds[2]!.messages.map(({ round }) => round)).toEqual([null, null, 1, 1, 2, 2, 2]);
  expect(rounds[0]!.tools.map(({ name }) => name)).toEqual(trial.version.tools);
});

test("an answer that was asked for again is shown with its mistakes, though the thread lacks it", async () => {
  const output_schema = { type: "object", required: ["sum"] };
  const model: Model = (_ask, _signal, turn) =>
    [call(add("1+1")), say("two"), say('{"sum":2}'), say('{"sum":3}')][turn] ?? say("again");
  trial = await openTrial(model, { version: { output_schema } });
  await trial.engine.start();
  const first = await trial.run("Add.");
  const { thread_id } = await trial.ended(first);
  const second = await trial.run("Once more.", {}, thread_id);
  await trial.ended(second);
  const rounds = await compare([first, second]);
  expect(rounds[2]!.messages.slice(-2).map(({ role, content }) => [role, content])).toEqual([
    ["assistant", "two"],
    ["user", expect.stringContaining("no valid JSON")],
  ]);
  expect(rounds[2]!.tools).toEqual([]);
});

test("a summary stands where it stood, within one run and in later ones", async () => {
  let turns = 0;
  const model: Model = (ask) => {
    if (isSummaryAsk(ask)) return say(`Summary after ${++turns}.`);
    return ask.messages.length > 40 ? say("x") : { ...call(add()), content: TURN };
  };
  trial = await openTrial(model, { context_window: 4_000 });
  await trial.engine.start();
  const first = await trial.run("The one question.");
  const { thread_id } = await trial.ended(first);
  const second = await trial.run("Another question.", {}, thread_id);
  await trial.ended(second);
  expect(turns).toBeGreaterThan(3);
  const run = await trial.find(first);
  const own = trial.asks.slice(0, run.usage.rounds + turns).filter((ask) => !isSummaryAsk(ask));
  expect(own.length).toBeGreaterThan(5);
  const sent = trial.asks.filter((ask) => !isSummaryAsk(ask));
  let exact = 0;
  let made = 0;
  for (const [at, id] of [first, second].entries()) {
    const row = await trial.find(id);
    for (let round = 1; round <= row.usage.rounds; round++) {
      const rebuilt = (await rebuildRound(options(4_000), row, round))!;
      const ask = sent[at * run.usage.rounds + round - 1]!;
      // A summary that another run made may be replaced, which the answer tells.
      const isSame = Bun.deepEquals(
        rebuilt.messages.map(({ content }) => content),
        ask.messages.map(({ content }) => content ?? ""),
      );
      expect([id, round, rebuilt.is_exact]).toEqual([id, round, isSame]);
      exact += Number(isSame);
      const [reduced] = rebuilt.context.reduced;
      const summary = rebuilt.messages.findIndex(({ content }) =>
        content.includes("Summary of the conversation so far:"),
      );
      expect(reduced?.kind === "summary" ? reduced.message : -1).toBe(summary);
      made += rebuilt.summaries.length;
    }
  }
  expect(exact).toBeGreaterThan(sent.length - 4);
  expect(made).toBe(turns);
});

test("cleared results are shown as cleared", async () => {
  const look: BuiltinTool = {
    ...builtins.get("current_time")!,
    name: "look",
    run: async () => success(TURN),
  };
  builtins.set("look", look);
  const model: Model = (_ask, _signal, turn) => (turn < 12 ? call(["look", {}]) : say("done"));
  const version = { tools: ["look", "read_output"] };
  trial = await openTrial(model, { context_window: 4_000, tools: [look], version });
  await trial.engine.start();
  const id = await trial.run("Look.");
  await trial.ended(id);
  const rounds = await compare([id], 4_000);
  const { messages, context } = rounds.at(-1)!;
  const cleared = messages.flatMap(({ content }, at) =>
    content.includes("was cleared to save room") ? at : [],
  );
  expect(cleared.length).toBeGreaterThan(0);
  expect(context.reduced.map(({ message, kind }) => [message, kind])).toEqual(
    cleared.map((at) => [at, "cleared"]),
  );
  for (const { message, tokens, tokens_before } of context.reduced) {
    expect(tokens).toBe(messages[message]!.tokens);
    expect(tokens_before!).toBeGreaterThan(tokens);
  }
  expect(context.reason).toBe("window");
  expect(context.whole_tokens).toBeGreaterThan(context.room_tokens!);
  expect(context.tokens).toBeLessThanOrEqual(context.room_tokens!);
  const saved = context.reduced.reduce((sum, one) => sum + one.tokens_before! - one.tokens, 0);
  expect(context.whole_tokens - context.tokens).toBe(saved);
  expect(rounds[0]!.context).toMatchObject({ reason: null, reduced: [] });
});

test("a thread that the model found too long is told, with the attempt that failed", async () => {
  const model: Model = (_ask, _signal, turn) =>
    [call(add()), call(add()), failing("context_length_exceeded")][turn] ?? say("done");
  trial = await openTrial(model, { context_window: null });
  await trial.engine.start();
  const id = await trial.run("Add.");
  await trial.ended(id);
  const round = (await rebuildRound(options(null), await trial.find(id), 3))!;
  expect(round.retries).toMatchObject([{ code: "context_length_exceeded", wait_ms: 0 }]);
  expect(round.context.reason).toBe("rejected");
  expect(round.context.room_tokens).toBeGreaterThan(0);
});

test("a tool that was switched off is not among those that were offered", async () => {
  const model: Model = (_ask, _signal, turn) => (turn === 0 ? call(add()) : say("done"));
  trial = await openTrial(model);
  await trial.engine.start();
  const first = await trial.run("Add.");
  await trial.ended(first);
  await trial.switchTool("calculator", "disabled");
  const second = await trial.run("Again.");
  await trial.ended(second);
  const rounds = await compare([first, second]);
  const offers = rounds.map(({ tools }) => tools.some(({ name }) => name === "calculator"));
  expect(offers).toEqual([true, true, false]);
});

test("a changed window is told", async () => {
  trial = await openTrial(() => say(TURN), { context_window: 100_000 });
  await trial.engine.start();
  let thread_id: string | null = null;
  let id = "";
  for (let n = 0; n < 4; n++) {
    id = await trial.run(`Question ${n}: ${TURN}`, {}, thread_id);
    thread_id = (await trial.ended(id)).thread_id;
  }
  const run = await trial.find(id);
  expect((await rebuildRound(options(100_000), run, 1))!.is_exact).toBeTrue();
  expect((await rebuildRound(options(1_000), run, 1))!.is_exact).toBeFalse();
});

test("messages are measured with the names and arguments of their calls", () => {
  const asked = {
    id: "c-1",
    type: "function",
    function: { name: "add", arguments: "[1]" },
  } as const;
  const messages = [
    { role: "user", content: "What?" },
    { role: "assistant", content: null, tool_calls: [asked] },
  ] as const;
  expect(measureMessages(messages as never)).toEqual({ messages: 2, characters: 11 });
});

test("an answer that is asked for again is shown up to 32,768 characters", () => {
  const shown = (text: string) => askAgain({ text, faults: ["It is wrong."] })[0]?.content;
  const longest = "x".repeat(32_768);
  expect([shown(longest), shown(`${longest}x`)]).toEqual([longest, longest]);
});
