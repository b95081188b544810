// Tests budgets of chats: what is refused, what is reserved, and what is used in the end.
import { describe, expect, test } from "bun:test";
import { answerFrames, DONE, writeFrame } from "../../support/upstream.ts";
import { answerWhole, openBudgetFront, PROMPT } from "./fixture.ts";

const DAY_S = 12 * 3_600;

describe("a limit of requests", () => {
  test("refuses the next request until the minute ends", async () => {
    await using front = await openBudgetFront();
    await front.limit({ requests_minute: 2 });
    await front.clock.advance(12_345);
    const list = () => front.outcome(front.ask(1));
    expect([await list(), await list(), await list()]).toEqual([
      ...["201", "201", "429 rate_limit_exceeded after 48"],
    ]);
    await front.clock.advance(47_654);
    expect(await list()).toBe("429 rate_limit_exceeded after 1");
    await front.clock.advance(1);
    expect(await list()).toBe("201");
    expect(await front.used()).toMatchObject({ requests: 3, tokens: 3 * (PROMPT + 1) });
  });

  test("counts neither refused requests nor those that no server was asked for", async () => {
    await using front = await openBudgetFront();
    await front.limit({ requests_day: 1 });
    front.upstream.script = () => new Response("busy", { status: 429 });
    expect(await front.outcome(front.ask(1))).toBe("429 upstream_rate_limited");
    expect(await front.outcome(front.ask(1, { temperature: 9 }))).toBe("400 invalid_request");
    front.upstream.script = answerWhole;
    expect(await front.outcome(front.ask(1))).toBe("201");
    expect(await front.outcome(front.ask(1))).toBe(`429 rate_limit_exceeded after ${DAY_S}`);
    expect(await front.used()).toMatchObject({ requests: 1 });
    expect(await front.reservations()).toBe(0);
  });

  test("of zero refuses every request for good", async () => {
    await using front = await openBudgetFront();
    await front.limit({ requests_day: 0 });
    const final = `429 rate_limit_exceeded after ${DAY_S} final`;
    expect(await front.outcome(front.ask(1))).toBe(final);
    await front.limit({ requests_day: null });
    expect(await front.outcome(front.ask(1))).toBe("201");
  });
});

describe("a limit of tokens", () => {
  test("holds the counted prompt and max_tokens, and refuses only what does not fit", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_day: 100 });
    front.upstream.script = (asked) => answerWhole(asked, 5);
    expect(await front.outcome(front.ask(90))).toBe("201");
    // 15 are used, and 85 are left.
    expect(await front.outcome(front.ask(76))).toBe(`429 rate_limit_exceeded after ${DAY_S}`);
    expect(await front.outcome(front.ask(75))).toBe("201");
    expect(await front.used()).toMatchObject({ requests: 2, tokens: 30 });
    await front.clock.advance(DAY_S * 1_000);
    expect(await front.outcome(front.ask(90))).toBe("201");
  });

  test("that is used up refuses before the server is asked, even for a count", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_day: 100 });
    expect(await front.outcome(front.ask(90))).toBe("201");
    front.upstream.asked.length = 0;
    const unknown = { messages: [{ role: "user", content: "Not counted yet" }] };
    expect(await front.outcome(front.ask(1, unknown))).toBe(
      `429 rate_limit_exceeded after ${DAY_S}`,
    );
    expect(front.upstream.asked).toEqual([]);
  });

  test("does not admit what exceeds the model's window, and holds nothing for it", async () => {
    await using front = await openBudgetFront({
      model: "context_window = 100\ndefault_max_tokens = 10",
    });
    await front.limit({ tokens_day: 1_000 });
    // With the prompt it is one token more than the window.
    expect(await front.outcome(front.ask(91))).toBe("400 context_length_exceeded");
    expect(await front.used()).toMatchObject({ requests: 0, tokens: 0 });
    expect(await front.reservations()).toBe(0);
    expect(await front.outcome(front.ask(90))).toBe("201");
    const paths = front.upstream.asked.map(({ path }) => path);
    expect(paths.filter((path) => path.endsWith("/chat/completions"))).toHaveLength(1);
  });

  test("refuses a request that is larger than the limit, and says that waiting is useless", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_minute: 100 });
    expect(await front.outcome(front.ask(91))).toBe("429 rate_limit_exceeded after 60 final");
    expect(await front.outcome(front.ask(90))).toBe("201");
  });

  test("asks for a short wait where only requests under way are in the way", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_month: 100 });
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    front.upstream.script = async (asked) => {
      if (!asked.path.endsWith("/tokenize")) begun.resolve();
      if (!asked.path.endsWith("/tokenize")) await release.promise;
      return answerWhole(asked, 1);
    };
    const first = front.outcome(front.ask(80));
    await begun.promise;
    expect(await front.reservations()).toBe(1);
    expect(await front.outcome(front.ask(20))).toBe("429 rate_limit_exceeded after 1");
    release.resolve();
    expect(await first).toBe("201");
    expect(await front.outcome(front.ask(20))).toBe("201");
  });

  test("reserves every attempt of deep thinking", async () => {
    await using front = await openBudgetFront();
    // Three attempts, and two more.
    await front.limit({ tokens_day: 5 * (PROMPT + 10) });
    expect(await front.outcome(front.ask(11, { think: true }))).toEndWith("final");
    expect(await front.outcome(front.ask(10, { think: true }))).toBe("201");
    expect(await front.used()).toMatchObject({ requests: 1, tokens: 3 * (PROMPT + 10) });
  });

  test("charges no attempt of deep thinking that was not made, also by an estimate", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_day: 1_000 });
    const message = { role: "assistant", content: "Hi" };
    const silent = { choices: [{ index: 0, message, finish_reason: "stop" }] };
    front.upstream.script = (asked) =>
      asked.path.endsWith("/tokenize") ? answerWhole(asked) : Response.json(silent);
    expect(await front.outcome(front.ask(10, { think: true }))).toBe("201");
    const { estimated, tokens } = await front.used();
    // Six for the question and one for the answer of each.
    expect([estimated, tokens]).toEqual([1, 3 * (6 + 1)]);
  });

  test("counts with the bundled tokenizer where the server cannot", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_day: 100 });
    front.upstream.script = (asked) =>
      asked.path.endsWith("/chat/completions")
        ? answerWhole(asked, 1)
        : new Response(null, { status: 404 });
    // A word, and four tokens of its message.
    expect(await front.outcome(front.ask(96))).toBe("429 rate_limit_exceeded after 43200 final");
    expect(await front.outcome(front.ask(95))).toBe("201");
  });
});

describe("a limit of money", () => {
  test("is final where the money is used up", async () => {
    await using front = await openBudgetFront();
    // 10 + 2 × 45 = 100 micro-SAR.
    await front.limit({ cost_month: 200 });
    expect(await front.outcome(front.ask(45))).toBe("201");
    expect(await front.outcome(front.ask(46))).toBe("403 permission_denied final");
    expect(await front.outcome(front.ask(45))).toBe("201");
    expect(await front.outcome(front.ask(1))).toBe("403 permission_denied final");
    expect(await front.used()).toMatchObject({ requests: 2, cost: 200 });
  });

  test("refuses a model without a price", async () => {
    await using front = await openBudgetFront({ model: "" });
    await front.limit({ cost_month: 1_000_000 });
    const reply = await front.ask(1);
    expect([reply.status, reply.headers.get("x-should-retry")]).toEqual([403, "false"]);
    expect(await reply.json()).toMatchObject({
      error: { code: "permission_denied", param: "model" },
    });
    await front.limit({ cost_month: null, tokens_day: 100 });
    expect(await front.outcome(front.ask(1))).toBe("201");
  });
});

describe("limits of a key and of its account", () => {
  test("bind together, and each counts its own", async () => {
    await using front = await openBudgetFront();
    await front.limit({ requests_day: 3 });
    await front.limitKey({ requests_day: 2 });
    expect(await front.outcome(front.ask(1))).toBe("201");
    expect(await front.outcome(front.ask(1))).toBe("201");
    const refused = await front.ask(1);
    expect(await refused.json()).toMatchObject({
      error: { message: expect.stringContaining("the limit of this key is 2 a day") },
    });
    await front.limitKey({ requests_day: 9 });
    expect(await front.outcome(front.ask(1))).toBe("201");
    expect(await front.outcome(front.ask(1))).toStartWith("429");
    expect(await front.used()).toMatchObject({ requests: 3 });
    expect(await front.used(`key ${front.key_id}`)).toMatchObject({ requests: 3 });
  });

  test("without any, nothing is stored", async () => {
    await using front = await openBudgetFront();
    expect(await front.outcome(front.ask(1))).toBe("201");
    expect(front.upstream.asked.map(({ path }) => path)).toEqual(["/v1/chat/completions"]);
    expect(await front.used()).toMatchObject({ requests: 0 });
  });
});

describe("usage that stays unknown", () => {
  const stream =
    (...frames: string[]) =>
    (asked: Parameters<typeof answerWhole>[0]) =>
      asked.path.endsWith("/tokenize") ? answerWhole(asked) : answerFrames(frames);

  test("a reply that is cut counts its prompt and what was delivered, as an estimate", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_day: 1_000 });
    front.upstream.script = stream(writeFrame({ content: "abcdefgh".repeat(4) }));
    const reply = await front.ask(100, { stream: true });
    expect(await reply.text()).toContain("upstream_error");
    expect(await front.used()).toEqual({
      ...{ requests: 1, estimated: 1, tokens: PROMPT + 8, cost: PROMPT + 16 },
    });
  });

  test("an estimate is never above the reservation", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_day: 1_000 });
    const text = writeFrame({ content: "a".repeat(4_000) });
    front.upstream.script = stream(text, writeFrame({}, "stop"), DONE);
    await (await front.ask(20, { stream: true })).text();
    expect(await front.used()).toMatchObject({ estimated: 1, tokens: PROMPT + 20 });
  });

  test("a caller that leaves before the first word pays for the prompt", async () => {
    await using front = await openBudgetFront({ listens: true });
    await front.limit({ tokens_day: 1_000 });
    const asked = Promise.withResolvers<void>();
    front.upstream.script = async (request) => {
      if (request.path.endsWith("/tokenize")) return answerWhole(request);
      asked.resolve();
      return new Promise<Response>(() => {});
    };
    const leaving = new AbortController();
    const reply = front.ask(100, {}, { signal: leaving.signal }).catch(() => null);
    await asked.promise;
    leaving.abort();
    await reply;
    await front.logged("client_closed_request");
    expect(await front.used()).toEqual({
      ...{ requests: 1, estimated: 1, tokens: PROMPT, cost: PROMPT },
    });
  });

  test("a server that refuses has used nothing", async () => {
    await using front = await openBudgetFront();
    await front.limit({ tokens_day: 1_000 });
    front.upstream.script = (asked) =>
      asked.path.endsWith("/tokenize") ? answerWhole(asked) : new Response("{}", { status: 500 });
    expect(await front.outcome(front.ask(100))).toBe("502 upstream_error");
    expect(await front.used()).toEqual({ requests: 0, estimated: 0, tokens: 0, cost: 0 });
  });
});

test("a refusal names the currency of the settings", async () => {
  await using front = await openBudgetFront({ head: '[service]\ncurrency = "EUR"' });
  await front.limitKey({ cost_day: 1 });
  const text = await (await front.ask(20)).text();
  expect(text).toContain("it may spend 0.000001 EUR a day");
});
