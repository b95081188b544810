// Tests that a recording replays a model server's replies exactly, without the server.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRecorder } from "../../../src/models/recording/recorder.ts";
import { openReplay } from "../../../src/models/recording/replay.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { createManualClock } from "../../support/clock.ts";
import {
  answerFrames,
  answerText,
  DONE,
  type ScriptedUpstream,
  startUpstream,
  USAGE,
  writeFrame,
  writeSettings,
} from "../../support/upstream.ts";

let directory: string;
let upstream: ScriptedUpstream;
let file: string;
let files = 0;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-round-trip-"));
  upstream = startUpstream();
});
afterAll(async () => {
  await upstream.stop();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  file = join(directory, `${files++}.jsonl`);
  upstream.asked.length = 0;
});

const settings = () => writeSettings(upstream.url);
/** A model server that can be looked for in vain. */
const GONE = writeSettings("http://127.0.0.1:1/v1");

type Work = (app: TestApp) => Promise<unknown[]>;

async function record(work: Work, text = settings()): Promise<unknown[]> {
  const recorder = await openRecorder(file, createManualClock());
  const app = await startApp({ settings: text, openBackend: (log) => recorder.open(log) });
  try {
    return await work(app);
  } finally {
    await app.stop();
    await recorder.close();
  }
}

async function replay(work: Work, text = GONE) {
  const { open } = openReplay(file);
  const app = await startApp({ settings: text, openBackend: () => open });
  try {
    return { replies: await work(app), lines: app.lines };
  } finally {
    await app.stop();
  }
}

/** Status and body, without the parts that differ at every request. */
async function read(response: Promise<Response>): Promise<[number, string]> {
  const { status, text } = await response.then(async (one) => ({
    status: one.status,
    text: await one.text(),
  }));
  return [status, text.replaceAll(/"(request_id|id)":"(?!call)[^"]*"/g, '"$1":""')];
}

const ADD = { type: "function", function: { name: "add", parameters: { type: "object" } } };
const CALL = { index: 0, id: "call_7", type: "function", function: { name: "add", arguments: "" } };
const usage = { usage: USAGE };

const CASES: [title: string, script: () => Response, fields: object][] = [
  ["a JSON reply", () => answerText("Hi"), {}],
  [
    "a stream",
    () =>
      answerFrames([
        writeFrame({ content: "H" }),
        writeFrame({ content: "i" }, "stop", usage),
        DONE,
      ]),
    { stream: true, stream_options: { include_usage: true } },
  ],
  [
    "calls of tools",
    () =>
      answerFrames([
        writeFrame({ content: "Wait." }),
        writeFrame({ tool_calls: [CALL] }),
        writeFrame({ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] }),
        writeFrame({}, "tool_calls", usage),
        DONE,
      ]),
    { stream: true, tools: [ADD] },
  ],
  ["a failure before the first word", () => new Response("no", { status: 429 }), { stream: true }],
  ["a failure of a JSON reply", () => new Response("<html>", { status: 500 }), {}],
  [
    "a failure in the middle of a stream",
    () => answerFrames([writeFrame({ content: "H" }), 'data: {"error":{"message":"CUDA"}}\n\n']),
    { stream: true },
  ],
];
for (const [title, script, fields] of CASES) {
  test(`${title} is played as it was recorded`, async () => {
    upstream.script = script;
    const work: Work = async ({ chat }) => [await read(chat("Hello", fields))];
    const recorded = await record(work);
    expect(upstream.asked).toHaveLength(1);
    expect((await replay(work)).replies).toEqual(recorded);
    expect(upstream.asked).toHaveLength(1);
  });
}

test("a repeated request gets the next reply, and the last one from then on", async () => {
  let n = 0;
  upstream.script = () => answerText(`reply ${++n}`);
  const ask =
    (times: number): Work =>
    async ({ chat }) => {
      const replies: unknown[] = [];
      for (let time = 0; time < times; time++) replies.push((await read(chat("Hello")))[1]);
      return replies;
    };
  const [one, two] = await record(ask(2));
  expect((await replay(ask(4))).replies).toEqual([one, two, two, two]);
});

test("an unrecorded request is logged, without its prompt", async () => {
  upstream.script = () => answerText("Hi");
  await record(async ({ chat }) => [await read(chat("Hello"))]);
  const work: Work = async ({ chat }) => [await read(chat("Secret", { model: "test-1" }))];
  const { replies, lines } = await replay(work);
  expect(replies).toEqual([[503, expect.stringContaining('"code":"model_unavailable"')]]);
  expect(lines).toEqual([
    expect.objectContaining({
      message: "chat: the model server failed",
      reason: "the recording holds no such request",
      code: "model_unavailable",
      model: "test-1",
    }),
  ]);
  expect(JSON.stringify(lines)).not.toContain("Secret");
});

test("the file has no reasoning, keys, accounts or request ids", async () => {
  upstream.script = () =>
    answerFrames([
      writeFrame({ reasoning_content: "Pondering" }),
      writeFrame({ content: "<think>Doubting</think>Hi" }, "stop", usage),
      DONE,
    ]);
  const fields = { stream: true, reasoning: true, user: "somebody" };
  await record(async ({ chat }) => [await read(chat("Hello", fields))]);
  const text = readFileSync(file, "utf8");
  const [, line] = text.split("\n");
  const { ask, told, ended_ms, ending, ...rest } = JSON.parse(line!);
  expect(rest).toEqual({ model: "test-1", key: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(told).toEqual([{ at_ms: 0, piece: { kind: "text", text: "Hi" } }]);
  expect({ ended_ms, ending }).toMatchObject({ ended_ms: 0, ending: { ok: true, usage: USAGE } });
  expect(ask.messages).toEqual([{ role: "user", content: "Hello" }]);
  for (const hidden of ["Pondering", "Doubting", "svc_sk", "somebody", "account", "request_id"]) {
    expect(text).not.toContain(hidden);
  }
});

test("a request whose caller left is not recorded", async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  upstream.script = ({ signal }) => {
    begun.resolve(signal);
    return new Promise<Response>(() => undefined);
  };
  const caller = new AbortController();
  await record(async ({ chat, logged }) => {
    const asked = chat("Hello", {}, { signal: caller.signal }).catch(() => undefined);
    await begun.promise;
    caller.abort();
    await logged("client_closed_request");
    await asked;
    upstream.script = () => answerText("Hi");
    return [await read(chat("Bye"))];
  });
  const { requests } = openReplay(file);
  expect(requests).toBe(1);
  const { replies } = await replay(async ({ chat }) => [await read(chat("Bye"))]);
  expect(replies).toEqual([[201, expect.stringContaining('"content":"Hi"')]]);
});

test("the stub is recorded like any model", async () => {
  const work: Work = async ({ chat }) => [
    await read(chat('!say Hi\n!tool add {"a": 1}', { stream: true })),
    await read(chat("!say Hi\n!cut", { stream: true })),
    await read(chat("!error upstream_timeout")),
  ];
  const recorded = await record(work, "");
  expect((await replay(work, "")).replies).toEqual(recorded);
});

test("a long prompt is accepted if it cannot be counted", async () => {
  upstream.script = ({ path }) =>
    path === "/tokenize" ? Response.json({ count: 30_000 }) : answerText("Hi");
  const work: Work = async ({ chat }) => [await read(chat("word ".repeat(8_000)))];
  const recorded = await record(work);
  expect((await replay(work)).replies).toEqual(recorded);
});

test.each([
  ["five attempts, two of which agree", ["It is 42.", "40", "41", "So it is 42.", "43"]],
  ["some that are not waited for", ["It is 42.", "41", "So 42.", "So it is 42.", "So: 42."]],
])("deep thinking with %s is replayed with the same outcome", async (_, texts) => {
  const think: Work = async (app) => [
    await read(app.chat("Hello", { think: true, seed: 100 })),
    await read(app.chat("Hello", { think: true, seed: 100, stream: true })),
    await read(app.chat("Hello", { think: true })),
  ];
  let asked = 0;
  upstream.script = async ({ body }) => {
    const index = body.seed === undefined ? asked++ : Number(body.seed) - 100;
    // The first one ends after others.
    if (index === 0) await new Promise((resolve) => setImmediate(resolve));
    return answerText(`${texts[index]}\nAnswer: ${texts[index]!.match(/4\d/)![0]}`);
  };
  const replies = (await record(think)) as [number, string][];
  for (const [status, text] of replies) {
    expect(status).toBe(201);
    expect(text).toContain("Answer: 42");
  }
  const answers = (all: unknown[]) =>
    (all as [number, string][]).map(([, text]) => readAnswer(text));
  const played = await replay(think);
  expect(answers(played.replies)).toEqual(answers(replies));
});

/** The answer of most attempts, as JSON or as a stream. */
const readAnswer = (text: string) => text.match(/Answer: (\d+)/)?.[1];
