// Invariants of the view of a long thread, on chosen and random threads.
import { describe, expect, test } from "bun:test";
import {
  countMessageTokens,
  type ThreadMessage,
} from "../../../src/agents/threads/context-blocks.ts";
import {
  buildContextView as buildView,
  type ContextInput,
} from "../../../src/agents/threads/context-view.ts";
import type { ModelMessage } from "../../../src/models/index.ts";

type Draft = Omit<ThreadMessage, "tokens">;

const weigh = (draft: Draft): ThreadMessage => ({ ...draft, tokens: countMessageTokens(draft) });
const user = (content: string) => weigh({ role: "user", content });
const call = (id: string) => ({
  id,
  type: "function" as const,
  function: { name: "web_search", arguments: '{"query":"camels"}' },
});
const asks = (...ids: string[]) =>
  weigh({ role: "assistant", content: null, tool_calls: ids.map(call) });
const says = (content: string) => weigh({ role: "assistant", content });
const result = (tool_call_id: string, content: string) =>
  weigh({ role: "tool", content, tool_call_id });
const words = (tokens: number) => "abcd".repeat(tokens);

const deps: Omit<ContextInput, "messages"> = {
  runFrom: 0,
  windowTokens: 10_000,
  reserveTokens: 0,
  roomTokens: null,
  summary: null,
  mayReadOutput: true,
  maySummarise: true,
};

function buildContextView(input: ContextInput) {
  const view = buildView(input);
  const isCleared = ({ role, content }: ModelMessage) =>
    role === "tool" && /^The result of \S+ was cleared/.test(content as string);
  const cleared = view.messages.filter(isCleared).length;
  return { ...view, cleared, fits: view.tokens <= view.roomTokens };
}

/** Each call has exactly one result, right after it. */
function expectPaired(messages: readonly ModelMessage[]) {
  let waiting: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      expect(waiting).toContain(message.tool_call_id!);
      waiting = waiting.filter((id) => id !== message.tool_call_id);
      continue;
    }
    expect(waiting).toEqual([]);
    waiting = (message.tool_calls ?? []).map((one) => one.id);
  }
  expect(waiting).toEqual([]);
}

function writeRounds(count: number, tokens: number): ThreadMessage[] {
  return Array.from({ length: count }, (_, n) => [
    asks(`call_${n}`),
    result(`call_${n}`, `${n} ${words(tokens)}`),
  ]).flat();
}

const contentsOf = (messages: readonly ModelMessage[]) =>
  messages.map((one) => one.content as string);

describe("a thread below 80 % of the window", () => {
  test("is shown as stored, without internal fields", () => {
    const messages = [user("How much?"), asks("a"), result("a", "3"), says("Three.")];
    const view = buildContextView({ ...deps, messages });
    expect(view).toMatchObject({ cleared: 0, needsSummary: null, fits: true });
    expect(view.messages as unknown[]).toEqual(messages.map(({ tokens: _, ...rest }) => rest));
    expect(view.tokens).toBe(messages.reduce((sum, one) => sum + one.tokens, 0));
  });

  test("may fill the room to its last token", () => {
    const messages = [user("Go"), ...writeRounds(8, 900)];
    const tokens = messages.reduce((sum, one) => sum + one.tokens, 0);
    expect(buildContextView({ ...deps, messages, roomTokens: tokens }).cleared).toBe(0);
    expect(buildContextView({ ...deps, messages, roomTokens: tokens - 1 }).cleared).toBe(4);
  });

  test("crosses it when the reserve grows", () => {
    const messages = [user("Go"), ...writeRounds(8, 900)];
    expect(buildContextView({ ...deps, messages }).cleared).toBe(0);
    expect(buildContextView({ ...deps, messages, reserveTokens: 1_000 }).cleared).toBeGreaterThan(
      0,
    );
  });
});

describe("the results of a long thread", () => {
  const messages = [user("Go"), ...writeRounds(12, 900)];

  test("are cleared from the oldest, four at a time, until the thread fits", () => {
    const { cleared, fits, needsSummary, messages: seen } = buildContextView({ ...deps, messages });
    expect({ cleared, fits, needsSummary }).toEqual({
      cleared: 4,
      fits: true,
      needsSummary: null,
    });
    const results = seen.filter((one) => one.role === "tool");
    expect(results.map((one) => /was cleared/.test(one.content as string))).toEqual(
      results.map((_, n) => n < 4),
    );
  });

  test("stay cleared through later rounds, so that a prompt cache stays valid", () => {
    const longer = [...messages, asks("more"), result("more", "little")];
    const before = buildContextView({ ...deps, messages }).messages;
    const after = buildContextView({ ...deps, messages: longer }).messages;
    expect(after.slice(0, before.length)).toEqual(before);
  });

  test("are kept if among the newest three", () => {
    const view = buildContextView({ ...deps, messages, windowTokens: 4_500 });
    const results = view.messages.filter((one) => one.role === "tool");
    expect(view.fits).toBe(true);
    expect(contentsOf(results.slice(-3)).every((text) => text.includes("abcd"))).toBe(true);
    expect(view.cleared).toBe(9);
  });

  test("are kept if short", () => {
    const short = [user("Go"), ...writeRounds(4, 1), says(words(9_000)), ...writeRounds(4, 1)];
    expect(buildContextView({ ...deps, messages: short }).cleared).toBe(0);
  });

  test("can be reread by `read_output` if the agent has it, within the same run", () => {
    const thread = [...messages, user("And now?"), ...writeRounds(12, 900)];
    const presentFrom = messages.length;
    const first = (mayReadOutput: boolean, from: number) =>
      contentsOf(
        buildContextView({ ...deps, messages: thread, runFrom: from, mayReadOutput }).messages,
      )[2]!;
    expect(first(true, 0)).toContain("read_output");
    expect(first(true, presentFrom)).not.toContain("read_output");
    expect(first(false, 0)).not.toContain("read_output");
  });

  test("of the newest round are shortened, and never cleared before the model has read them", () => {
    const newest = [user("Go"), asks("a", "b"), result("a", words(9_000)), result("b", "small")];
    const view = buildContextView({ ...deps, messages: newest });
    expect(view).toMatchObject({ cleared: 0, fits: true, needsSummary: null });
    const [, , long, short] = contentsOf(view.messages);
    expect(long).toMatch(/^abcd[\s\S]+About \d+ characters are left out[\s\S]+abcd$/);
    expect(short).toBe("small");
    expect(view.tokens).toBeGreaterThan(7_500);
  });

  test("of one round with many calls share the room, so that none is lost", () => {
    const ids = ["a", "b", "c", "d", "e", "f"];
    const results = ids.map((id) => result(id, `${id} ${words(2_000)}`));
    const view = buildContextView({ ...deps, messages: [user("Go"), asks(...ids), ...results] });
    expect(view).toMatchObject({ cleared: 0, fits: true, needsSummary: null });
    const shown = contentsOf(view.messages).slice(2);
    expect(shown.map((text) => text[0]!)).toEqual(ids);
    // Nearly as much of each.
    const lengths = shown.map(({ length }) => length);
    expect(Math.min(...lengths)).toBeGreaterThan(0.9 * Math.max(...lengths));
  });

  test("of earlier rounds are cleared before those of the newest are shortened", () => {
    const rounds = [...writeRounds(2, 2_000), asks("new"), result("new", `new ${words(5_000)}`)];
    const messages = [user("Go"), ...rounds];
    const view = buildContextView({ ...deps, messages, maySummarise: false });
    expect(view).toMatchObject({ cleared: 1, fits: true });
    expect(contentsOf(view.messages).at(-1)!).toHaveLength(4 + 4 * 5_000);
  });

  test("are reduced at once where no summary may be asked for", () => {
    const talk = [user("Go"), says(words(3_000)), user("On"), says(words(3_000))];
    const messages = [...talk, user("More"), asks("new"), result("new", words(9_000))];
    expect(buildContextView({ ...deps, messages }).needsSummary).not.toBeNull();
    const view = buildContextView({ ...deps, messages, maySummarise: false });
    expect(view).toMatchObject({ cleared: 0, fits: true, needsSummary: null });
    expect(contentsOf(view.messages).at(-1)).toContain("are left out");
  });
});

describe("older turns", () => {
  const turns = Array.from({ length: 10 }, (_, n) => [
    user(`question ${n}`),
    says(`answer ${n} ${words(900)}`),
  ]).flat();
  const messages = [...turns, user("the last question")];
  const sight = { ...deps, messages, presentFrom: messages.length - 1 };

  test("are summarised whole, until half of the room is free", () => {
    const view = buildContextView(sight);
    expect(view.fits).toBe(false);
    expect(view.needsSummary).toMatchObject({ from: 0, to: 14, tokensMax: 1_000 });
    expect(view.needsSummary!.messages).toHaveLength(14);
    expect(messages[view.needsSummary!.to]!.role).toBe("user");
  });

  test("end before a user's message, not inside a turn", () => {
    const rounds = (n: number) => [1, 2, 3, 4].map((part) => says(`${n}.${part} ${words(300)}`));
    const long = Array.from({ length: 8 }, (_, n) => [user(`question ${n}`), ...rounds(n)]).flat();
    const thread = [...long, user("the last question")];
    const view = buildContextView({ ...deps, messages: thread, runFrom: long.length });
    expect(view.needsSummary!.to).toBe(30);
    expect(thread[30]!.role).toBe("user");
  });

  test("become one user's message in front, once the summary exists", () => {
    const view = buildContextView({ ...sight, summary: { text: "They talked.", until: 14 } });
    expect(view.messages[0]).toEqual({
      role: "user",
      content: "Summary of the conversation so far:\n\nThey talked.",
    });
    expect(contentsOf(view.messages).slice(1)).toEqual(
      messages.slice(14).map((one) => one.content!),
    );
    expect(view).toMatchObject({ fits: true, needsSummary: null });
  });

  test("are summarised again from the end of the last summary", () => {
    const more = [...messages, ...turns];
    const view = buildContextView({
      ...sight,
      messages: [...more, user("once more")],
      runFrom: more.length,
      summary: { text: "They talked.", until: 14 },
    });
    expect(view.needsSummary!.from).toBe(14);
    expect(view.needsSummary!.to).toBeGreaterThan(14);
  });

  test("are split between rounds if the first alone exceeds half of the room", () => {
    const rounds = Array.from({ length: 20 }, (_, n) => says(`${n} ${words(500)}`));
    const thread = [user("first"), ...rounds, user("last")];
    const view = buildContextView({ ...deps, messages: thread, runFrom: thread.length - 1 });
    expect(view.needsSummary).toMatchObject({ from: 0 });
    expect(view.needsSummary!.to).toBeLessThan(thread.length - 1);
  });
});

describe("a message longer than half of the room", () => {
  const long = `head ${words(9_000)} tail`;
  const seen = (messages: ThreadMessage[], fields: Partial<ContextInput> = {}) =>
    buildContextView({ ...deps, messages, runFrom: messages.length - 1, ...fields });

  test("is reduced to head and tail once the thread is long, which leaves half of the room", () => {
    const view = seen([user(long), says("Yes."), user("And now?")]);
    const [first, ...rest] = contentsOf(view.messages);
    expect(first).toStartWith("head abcd");
    expect(first).toMatch(/abcd tail$/);
    expect(first).toMatch(/\n\n\[… About \d+ characters are left out here\. …\]\n\n/);
    expect(rest).toEqual(["Yes.", "And now?"]);
    const [head, tail] = first!.split(/\n\n\[.*\]\n\n/);
    expect(head!.length / tail!.length).toBeCloseTo(3, 2);
    expect(view).toMatchObject({ fits: true, needsSummary: null, roomTokens: 8_000 });
    expect(view.tokens).toBeGreaterThan(3_000);
    expect(view.tokens).toBeLessThanOrEqual(4_050);
  });

  test("is shown whole while it fits, and if it is the run's own input", () => {
    const short = [user(words(7_000)), says("Yes."), user("And now?")];
    expect(contentsOf(seen(short).messages)).toEqual(short.map(({ content }) => content!));
    const own = [user("hello"), says("Yes."), user(long)];
    expect(seen(own).fits).toBe(false);
    expect(contentsOf(seen(own).messages).at(-1)).toBe(long);
  });

  test("is shown whole where old results that are cleared make room enough", () => {
    const thread = [user(words(4_500)), ...writeRounds(5, 1_000), says("Done."), user("And now?")];
    const view = seen(thread);
    expect(view).toMatchObject({ fits: true, needsSummary: null });
    expect(view.cleared).toBeGreaterThan(0);
    expect(contentsOf(view.messages)[0]).toBe(words(4_500));
  });

  test("is shown whole as the newest block, whoever wrote it", () => {
    const view = seen([user("Go"), says(long)], { runFrom: 0 });
    expect(contentsOf(view.messages)).toEqual(["Go", long]);
  });

  test("is shortened before newer ones", () => {
    const thread = [user(`1 ${words(4_500)}`), says("a"), user(`2 ${words(4_500)}`), says("b")];
    const [first, , third] = contentsOf(seen([...thread, user("Go")]).messages);
    expect(first).toContain("left out");
    expect(third).not.toContain("left out");
  });

  test("shares that half with others like it, so that many take no more than one", () => {
    const many = Array.from({ length: 20 }, (_, n) => [user(`${n} ${words(9_000)}`), says("Yes.")]);
    const view = seen([...many.flat(), user("And now?")]);
    expect(view).toMatchObject({ fits: true, needsSummary: null });
    expect(contentsOf(view.messages).filter((text) => text.includes("left out"))).toHaveLength(20);
  });

  test("loses later results and its calls' arguments before its text", () => {
    const asking = weigh({
      ...{ role: "assistant", content: `I search. ${words(6_000)} Now.` },
      tool_calls: [{ ...call("a"), function: { name: "x", arguments: `"${words(3_000)}"` } }],
    });
    const thread = [user("hi"), asking, result("a", words(3_000)), user("And now?")];
    const view = seen(thread);
    expectPaired(view.messages);
    const [, shown, cleared] = view.messages;
    expect(shown!.tool_calls![0]!.function.arguments).toBe("{}");
    expect(shown!.content).toStartWith("I search. abcd");
    expect(shown!.content).toEndWith("abcd Now.");
    expect(cleared!.content).toContain("was cleared");
    expect(view.fits).toBe(true);
  });

  test("is shortened further after the model refused the request", () => {
    const view = seen([user(long), user("And now?")], { roomTokens: 1_000 });
    expect(view).toMatchObject({ fits: true, roomTokens: 1_000 });
    expect(view.tokens).toBeLessThan(550);
  });

  test("keeps its characters whole, in any script", () => {
    const view = seen([user(`${"😀".repeat(9_000)}${"語".repeat(9_000)}`), user("And now?")]);
    expect(view.fits).toBe(true);
    expect(contentsOf(view.messages)[0]!.isWellFormed()).toBe(true);
  });
});

test("summarises rounds of the current run, and keeps its input as sent", () => {
  const rounds = Array.from({ length: 20 }, (_, n) => [
    weigh({ role: "assistant", content: words(500), tool_calls: [call(`call_${n}`)] }),
    result(`call_${n}`, "done"),
  ]).flat();
  const messages = [user("hello"), says("hi"), user("the task"), ...rounds];
  const sight = { ...deps, messages, presentFrom: 2 };
  const { needsSummary } = buildContextView(sight);
  expect(needsSummary!.to).toBeGreaterThan(3);
  const view = buildContextView({
    ...sight,
    summary: { text: "So far.", until: needsSummary!.to },
  });
  expect(view).toMatchObject({ fits: true, needsSummary: null });
  expect(view.messages[1]).toEqual({ role: "user", content: "the task" });
  expectPaired(view.messages);
});

test("does not count a long user's message as space that a summary would free", () => {
  const rounds = Array.from({ length: 12 }, (_, n) => says(`${n} ${words(500)}`));
  const messages = [user(words(3_000)), ...rounds];
  expect(buildContextView({ ...deps, messages }).needsSummary).toMatchObject({ from: 0, to: 12 });
});

describe("a message with images", () => {
  const picture = (n: number) => ({ type: "image" as const, key: `r-1 ${n}`, detail: undefined });
  const message = (tokens: number, images: number) =>
    weigh({
      ...{ role: "user", content: words(tokens) },
      parts: [
        { type: "text", text: words(tokens) },
        ...Array.from({ length: images }, (_, n) => picture(n)),
      ],
    });

  test("counts a thousand tokens for each", () => {
    expect(message(10, 3).tokens).toBe(10 + 4 + 3_000);
  });

  test("keeps them where its text is shortened", () => {
    const view = buildContextView({
      ...deps,
      messages: [message(9_000, 1), says("ok"), user("And?")],
    });
    const [shown] = view.messages;
    expect(shown!.parts!.map(({ type }) => type)).toEqual(["text", "image"]);
    expect(shown!.content).toContain("are left out here");
    expect(shown!.parts![0]).toEqual({ type: "text", text: shown!.content! });
    expect(view.fits).toBe(true);
  });

  test("loses them where they alone take too much", () => {
    const view = buildContextView({
      ...deps,
      messages: [message(10, 9), says("ok"), user("And?")],
    });
    expect(view.messages[0]).toEqual({
      ...{
        role: "user",
        content: `${words(10)}\n\n[Images stood here, which are left out to save room.]`,
      },
    });
    expect(view.fits).toBe(true);
  });
});

test("gives a call that never ran a result that says so", () => {
  const messages = [user("Go"), asks("a", "b"), result("a", "1"), user("Again")];
  const view = buildContextView({ ...deps, messages, runFrom: 3 });
  expectPaired(view.messages);
  expect(view.messages[3]).toMatchObject({ role: "tool", tool_call_id: "b" });
  expect(contentsOf(view.messages)[3]).toContain("no result");
});

describe("any thread at all", () => {
  /** A small random generator (mulberry32), so that failures are reproducible. */
  function createDraw(seed: number) {
    let state = seed;
    return (below: number) => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
    };
  }

  function drawThread(draw: (below: number) => number): Omit<ContextInput, "summary"> {
    const messages: ThreadMessage[] = [];
    let presentFrom = 0;
    let calls = 0;
    for (let turn = 0; turn <= draw(6); turn++) {
      presentFrom = messages.length;
      messages.push(user(`u${turn} ${words(draw(400))}`));
      for (let round = 0; round < draw(8); round++) {
        const ids = Array.from({ length: draw(4) }, () => `call_${calls++}`);
        const content = `a${messages.length} ${words(draw(300))}`;
        messages.push(weigh({ role: "assistant", content, tool_calls: ids.map(call) }));
        for (const id of ids) {
          if (draw(12) > 0) messages.push(result(id, `r${id} ${words(draw(2_000))}`));
        }
      }
    }
    return {
      messages,
      runFrom: presentFrom,
      windowTokens: 1_000 + draw(8_000),
      reserveTokens: draw(1_500),
      roomTokens: null,
      mayReadOutput: draw(2) === 1,
      maySummarise: true,
    };
  }

  test.each(Array.from({ length: 300 }, (_, seed) => seed))(
    "keeps the invariants, seed %d",
    (seed) => {
      const sight = drawThread(createDraw(seed));
      const stored = JSON.stringify(sight.messages);
      let summary: ContextInput["summary"] = null;
      for (let made = 0; ; made++) {
        const view = buildContextView({ ...sight, summary });
        expect(JSON.stringify(sight.messages)).toBe(stored);
        expectPaired(view.messages);
        expectOrder(sight, view.messages);
        const limit = Math.floor(sight.windowTokens * 0.8) - sight.reserveTokens;
        expect(view.fits).toBe(view.tokens <= limit);
        const last = sight.messages.findLast((one) => one.role === "user")!;
        expect(contentsOf(view.messages)).toContain(last.content!);
        if (!view.needsSummary) {
          expectUnreadShown(sight, view.messages);
          if (!view.fits) expectNothingLeft(sight, summary?.until ?? 0);
          break;
        }
        const { from, to, tokensMax } = view.needsSummary;
        expect(from).toBe(summary?.until ?? 0);
        expect(to).toBeGreaterThan(from);
        expect(sight.messages[to]!.role).not.toBe("tool");
        expectPaired(view.needsSummary.messages);
        const read = view.needsSummary.messages.map(countMessageTokens);
        // With any room, the messages to summarise fit into it.
        if (limit > 2_000) expect(read.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(limit);
        expect(made).toBeLessThan(50);
        summary = { text: words(Math.max(0, tokensMax - 20)), until: to };
      }
    },
  );

  /** The view keeps the thread's order, except for the pinned message. */
  function expectOrder(
    { messages }: Pick<ContextInput, "messages">,
    seen: readonly ModelMessage[],
  ) {
    const places = seen
      .map((one) =>
        one.role === "tool"
          ? messages.findIndex((stored) => stored.tool_call_id === one.tool_call_id)
          : messages.findIndex((stored) => stored.content === one.content),
      )
      .filter((place) => place !== -1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(new Set(places).size).toBe(places.length);
  }

  /** Results that the model has not read yet may be shortened, but are not cleared. */
  function expectUnreadShown(
    { messages }: Pick<ContextInput, "messages">,
    seen: readonly ModelMessage[],
  ) {
    const read = messages.findLastIndex(({ role }) => role !== "tool");
    for (const { tool_call_id } of messages.slice(read + 1)) {
      const shown = seen.find((one) => one.tool_call_id === tool_call_id);
      expect(shown!.content).toStartWith(`r${tool_call_id}`);
    }
  }

  /** The view may exceed the room only if the rest is no longer than a summary. */
  function expectNothingLeft(
    { messages, runFrom: presentFrom, ...sight }: Omit<ContextInput, "summary">,
    until: number,
  ) {
    const limit = Math.floor(sight.windowTokens * 0.8) - sight.reserveTokens;
    const lastUser = messages.findLastIndex((one) => one.role === "user");
    const lastBlock = messages.findLastIndex((one) => one.role !== "tool");
    const rest = messages
      .slice(until, lastBlock)
      .filter((one, n) => one.role !== "tool" && until + n !== lastUser);
    const tokens = rest.reduce((sum, one) => sum + one.tokens, 0);
    expect(presentFrom).toBeLessThanOrEqual(lastUser);
    expect(tokens).toBeLessThanOrEqual(Math.max(0, Math.min(1_024, limit / 8)) + 1);
  }
});

test("the room after a rejection never exceeds the window", () => {
  const messages = [user("Go")];
  expect(buildContextView({ ...deps, messages, roomTokens: 9_000 }).roomTokens).toBe(8_000);
});
