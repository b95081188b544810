// Tests the one row of a request with several attempts: its usage and its cost.
import { afterEach, expect, test } from "bun:test";
import { startApp, type TestApp } from "../../support/app.ts";
import { readRequestLog } from "../../support/request-log.ts";
import {
  type AskedRequest,
  answerFrames,
  answerText,
  DONE,
  type Script,
  startUpstream,
  USAGE,
  writeFrame,
  writeSettings,
} from "../../support/upstream.ts";

const PRICE = `price = { prompt = "2.00", completion = "4.00" }`;
const SEED = 100;

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** `reply` returns the response to the attempt with this index. */
async function open(reply: (index: number, asked: AskedRequest) => ReturnType<Script>) {
  const upstream = startUpstream((asked) => reply((asked.body.seed as number) - SEED, asked));
  const app = await startApp({ settings: writeSettings(upstream.url, PRICE) });
  endings.push(upstream.stop, app.stop);
  return { app, upstream };
}

const think = ({ chat }: TestApp, fields: object = {}, options = {}) =>
  chat("Hello", { think: true, seed: SEED, ...fields }, options);

async function readRow({ app, clock }: TestApp) {
  await clock.advance(25);
  const rows = await readRequestLog(app.database).entries();
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

/** 7 at 2.00 SAR a million and 3 at 4.00. */
const COST = 26;

test("a row includes all attempts, with their tokens and price", async () => {
  const { app } = await open((index) => answerText(String(index)));
  expect((await think(app)).status).toBe(201);
  expect(await readRow(app)).toMatchObject({
    ...{ status: 201, code: null, prompt_tokens: 35, completion_tokens: 15 },
    ...{ usage_estimated: false, cost: 5 * COST, attempts: 5 },
  });
});

test("reported and estimated usage are priced", async () => {
  const { app } = await open((index) => {
    if (index === 0) return answerText("42");
    const end = index === 1 ? [] : [writeFrame({}, "stop"), DONE];
    // The second breaks midway, and the third reports no usage.
    return answerFrames([writeFrame({ content: "42" }), ...end]);
  });
  const reply = await think(app, { stream: true });
  expect(await reply.text()).toContain('"content":"42"');
  const row = await readRow(app);
  expect(row).toMatchObject({ status: 201, usage_estimated: true, attempts: 3 });
  expect(row.cost).toBeGreaterThan(COST);
  expect(row.prompt_tokens).toBeGreaterThan(USAGE.prompt_tokens);
  expect(row.completion_tokens).toBeGreaterThan(USAGE.completion_tokens);
});

test("an attempt aborted before its first token is an estimate, and not zero", async () => {
  for (const stream of [false, true]) {
    const late = Promise.withResolvers<void>();
    const { app } = await open(async (index) => {
      if (index === 4) late.resolve();
      // The fourth answers after the fifth has started, which never answers.
      if (index >= 3) await late.promise;
      return index === 4 ? new Promise(() => undefined) : answerText(index === 0 ? "41" : "42");
    });
    const reply = await think(app, { stream });
    expect(await reply.text()).toContain('"content":"42"');
    expect(await readRow(app)).toMatchObject({
      ...{ status: 201, prompt_tokens: 5 * 7, completion_tokens: 4 * 3 },
      // The prompt of the aborted attempt costs 14.
      ...{ usage_estimated: true, cost: 4 * COST + 14, attempts: 5 },
    });
  }
});

test("an estimate alone has a cost", async () => {
  const { app } = await open(() =>
    answerFrames([writeFrame({ content: "42" }), writeFrame({}, "stop"), DONE]),
  );
  await (await think(app, { stream: true })).text();
  expect(await readRow(app)).toMatchObject({
    ...{ status: 201, usage_estimated: true, prompt_tokens: 18, completion_tokens: 3 },
    cost: 18 * 2 + 3 * 4,
  });
});

test("a row of failed attempts has their output and its cost", async () => {
  const { app } = await open((index) =>
    index === 0
      ? new Response("no", { status: 500 })
      : answerFrames([writeFrame({ content: "Hello there" })]),
  );
  expect((await think(app, { stream: true })).status).toBe(502);
  const row = await readRow(app);
  expect(row).toMatchObject({
    ...{ status: 502, code: "upstream_error", usage_estimated: true, attempts: 3 },
    ...{ prompt_tokens: 12, completion_tokens: 6, cost: 12 * 2 + 6 * 4 },
  });
});

test("an aborted superfluous attempt counts with its output", async () => {
  const late = Promise.withResolvers<void>();
  const { app } = await open(async (index) => {
    if (index < 3) return answerText(index === 0 ? "41" : "42");
    if (index === 3) {
      await late.promise;
      return answerText("42");
    }
    const encoder = new TextEncoder();
    const body = async function* () {
      yield encoder.encode(writeFrame({ content: "Let me think about that" }));
      late.resolve();
      await new Promise(() => undefined);
    };
    return new Response(body(), { headers: { "content-type": "text/event-stream" } });
  });
  await (await think(app, { stream: true })).text();
  const row = await readRow(app);
  expect(row).toMatchObject({ status: 201, attempts: 5, usage_estimated: true });
  expect(row.cost).toBeGreaterThan(4 * COST);
  expect(row.prompt_tokens).toBeGreaterThanOrEqual(28);
});

test("a caller who leaves has a row with the partial output", async () => {
  const asked = Promise.withResolvers<void>();
  let count = 0;
  const { app } = await open((index) => {
    if (++count === 3) asked.resolve();
    return index === 0 ? answerText("42") : new Promise<Response>(() => undefined);
  });
  const caller = new AbortController();
  const answered = think(app, {}, { signal: caller.signal }).catch(() => undefined);
  await asked.promise;
  caller.abort();
  await answered;
  await app.logged("client_closed_request");
  expect(await readRow(app)).toMatchObject({
    ...{ status: 499, attempts: 3, usage_estimated: true },
    ...{ prompt_tokens: 6, completion_tokens: 0, cost: 12 },
  });
});
