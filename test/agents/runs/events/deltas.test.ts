// Live text over sockets, from a model server that sends pieces when the test says so.
import { afterEach, expect, test } from "bun:test";
import { ended } from "../../../spec/agents/approvals-front.ts";
import { type Json, type RunsFront, startRuns } from "../../../spec/agents/runs-front.ts";
import { readEvents } from "../../../support/event-reader.ts";
import { countRounds } from "../../../support/rounds.ts";
import { answerText, startUpstream, USAGE, writeFrame } from "../../../support/upstream.ts";

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

interface Round {
  body: Record<string, unknown>;
  send(delta: object): void;
  end(reason?: string): void;
  break(): void;
}

/** A model server that streams what the test sends, or answers whole where no stream is asked for. */
async function open(capabilities = ["tools", "streaming"]) {
  const rounds: Round[] = [];
  const waiting: ((round: Round) => void)[] = [];
  const upstream = startUpstream(({ body }) => {
    if (!body.stream) return answerText("whole");
    let sink: ReadableStreamDefaultController<string>;
    const stream = new ReadableStream<string>({
      start(controller) {
        sink = controller;
      },
    });
    const round: Round = {
      body,
      send: (delta) => sink.enqueue(writeFrame(delta)),
      end(reason = "stop") {
        sink.enqueue(writeFrame({}, reason));
        sink.enqueue(`data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`);
        sink.close();
      },
      break: () => sink.close(),
    };
    rounds.push(round);
    waiting.shift()?.(round);
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  });
  cleanUp.push(upstream.stop);
  const more = `[[models]]
id = "own"
self_hosted = true
capabilities = ${JSON.stringify(capabilities)}
upstream = { kind = "openai", urls = ["${upstream.url}"], model = "m" }
`;
  const front = await startRuns({ more }, { listens: true });
  cleanUp.push(front.stop);
  let taken = 0;
  const nextRound = async () => {
    taken += 1;
    return rounds[taken - 1] ?? (await new Promise<Round>((resolve) => void waiting.push(resolve)));
  };
  return { front, upstream, nextRound };
}

async function follow(front: RunsFront, run: Json, query = "?deltas=true") {
  const response = await front.get(`/v1/runs/${run.id}/events${query}`);
  expect(response.status).toBe(200);
  return readEvents(response);
}

/** A frame in a word: its type, and its text or what distinguishes it. */
const sum = (frame: Json | string) =>
  typeof frame === "string"
    ? frame
    : [frame.type, frame.text ?? frame.tool_call?.name ?? frame.step?.kind ?? frame.status ?? ""]
        .join(" ")
        .trimEnd();
const isLive = (frame: Json | string) =>
  typeof frame !== "string" && frame.type.startsWith("message.");

test("events?deltas=true sends text and calls as they come, before the step of their round, without reasoning", async () => {
  const { front, nextRound } = await open();
  const agent = await front.createAgent({ tools: ["calculator"] });
  const run = await front.begin({ input: { message: "What is 1+1?" } }, agent);
  const first = await nextRound();
  expect(first.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  const stream = await follow(front, run);
  const plain = await follow(front, run, "?deltas=false");
  await stream.until((frame) => sum(frame) === "message.snapshot");
  first.send({ reasoning_content: "secret thoughts" });
  first.send({ content: "Let me " });
  await stream.until((frame) => sum(frame) === "message.delta Let me");
  first.send({ content: "see." });
  const named = { name: "calculator", arguments: '{"expression":' };
  first.send({ tool_calls: [{ index: 0, id: "c1", type: "function", function: named }] });
  first.send({ tool_calls: [{ index: 0, function: { arguments: '"1+1"}' } }] });
  first.end("tool_calls");
  const second = await nextRound();
  second.send({ content: "2" });
  second.end();
  const frames = await stream.rest();
  expect(JSON.stringify(frames)).not.toContain("secret thoughts");
  const shown = frames.map(sum);
  const at = (word: string) => shown.indexOf(word);
  expect(at("message.delta calculator")).toBeGreaterThan(at("message.delta see."));
  expect(at("step.completed assistant")).toBeGreaterThan(at("message.delta calculator"));
  // Nothing of the second round comes before the last step of the first.
  const results = at("step.completed tool_result");
  const later = frames.findIndex((frame) => isLive(frame) && (frame as Json).round === 2);
  expect(later).toBeGreaterThan(results);
  expect(shown.lastIndexOf("step.completed assistant")).toBeGreaterThan(later);
  const others = frames.filter((frame) => !isLive(frame));
  expect((await plain.rest()).map(sum).slice(1)).toEqual(others.map(sum));
});

test("streams that break at random points rebuild exactly the final text", async () => {
  const { front, nextRound } = await open();
  const run = await front.begin({ input: { message: "Tell." } });
  const round = await nextRound();
  const words = Array.from({ length: 60 }, (_, n) => `wörd${n} 😀${n % 7 === 0 ? "\n" : " "}`);
  let text = "";
  let stream = await follow(front, run);
  const known: string[] = [];
  const apply = (frame: Json | string) => {
    if (!isLive(frame)) return;
    const { type, text: piece } = frame as Json;
    text = type === "message.snapshot" ? piece : text + piece;
  };
  for (const [n, word] of words.entries()) {
    round.send({ content: word });
    known.push(word);
    if (n % 3 !== 1) continue;
    // What has been read by now is all that this client ever had.
    const length = known.join("").length - (n % 4) * 6;
    const isReached = (frame: Json | string) => {
      apply(frame);
      return text.length >= length;
    };
    if (text.length < length) await stream.until(isReached);
    if (n % 2 === 0) continue;
    await stream.leave();
    stream = await follow(front, run);
  }
  round.end();
  for (const frame of await stream.rest()) apply(frame);
  const { output } = await front.read(`/v1/runs/${run.id}`);
  expect(text).toBe(output.message);
  expect(text).toBe(words.join(""));
});

test("a round that is tried again begins with an empty snapshot", async () => {
  const { front, nextRound } = await open();
  const run = await front.begin({ input: { message: "Try." } });
  const first = await nextRound();
  const stream = await follow(front, run);
  first.send({ content: "Hal" });
  await stream.until((frame) => sum(frame).endsWith("Hal"));
  first.break();
  await stream.until((frame) => sum(frame) === "step.completed system");
  await front.clock.advance(2_000);
  const again = await nextRound();
  again.send({ content: "Whole" });
  again.end();
  const frames = await stream.rest();
  expect(frames.filter(isLive).map(sum)).toEqual(["message.snapshot", "message.delta Whole"]);
});

test("models are asked for whole replies where a key followed none of its last three runs", async () => {
  const { front, upstream, nextRound } = await open();
  for (let n = 0; n < 3; n++) {
    const run = await front.begin();
    const round = await nextRound();
    round.send({ content: "x" });
    round.end();
    await ended(front, run.id);
  }
  const run = await ended(front, (await front.begin()).id);
  expect(run.output.message).toBe("whole");
  expect(upstream.asked.map(({ body }) => body.stream ?? false)).toEqual([true, true, true, false]);
});

test("a model without streaming sends its whole text as one piece", async () => {
  const { front, upstream } = await open(["tools"]);
  const run = await front.begin();
  const stream = await follow(front, run);
  const frames = await stream.rest();
  expect(upstream.asked[0]!.body.stream).toBeUndefined();
  const live = frames.filter(isLive).map(sum);
  // Where the reply came before the stream, its step has the text.
  expect([
    [],
    ["message.snapshot", "message.delta whole"],
    ["message.snapshot whole"],
  ]).toContainEqual(live);
});

test("each round's pieces stand between the steps before it and its own, whenever a client comes", async () => {
  const more = `[[models]]
id = "paced"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub", tokens_per_second = 1_000 }
`;
  const front = await startRuns({ more }, { listens: true });
  cleanUp.push(front.stop);
  const agent = await front.createAgent({ tools: ["calculator"] });
  const line = (n: number) => `!say Round ${n} 😀.\n!tool calculator {"expression":"${n}+1"}`;
  const message = `${[1, 2, 3, 4].map(line).join("\n!next\n")}\n!next\n!say The end.`;
  let rebuilt = 0;
  const judge = async (begin_ms: number) => {
    const run = await front.begin({ input: { message } }, agent);
    while (front.clock.monotonic() < begin_ms) await new Promise(setImmediate);
    const frames = await (await follow(front, run)).rest();
    const texts = new Map<number, string>();
    let steps = 0;
    let replies = 0;
    for (const frame of frames) {
      if (isLive(frame)) {
        // The results of the rounds before have come, and no reply of this one.
        expect([frame.round, steps]).toEqual([replies + 1, replies * 3]);
        const before = frame.type === "message.snapshot" ? "" : (texts.get(frame.round) ?? "");
        texts.set(frame.round, before + (frame.text ?? ""));
      } else if (frame.step && frame.step.kind !== "system") {
        steps += 1;
        if (frame.step.kind !== "assistant") continue;
        replies += 1;
        const text = texts.get(replies);
        if (text !== undefined) expect(text).toBe(frame.step.data.content);
        rebuilt += text === undefined ? 0 : 1;
      }
    }
    expect(replies).toBe(5);
  };
  for (let times = 0; times < countRounds(5); times++) {
    const now = front.clock.monotonic();
    let isOver = false;
    const judged = Array.from({ length: 20 }, (_, n) => judge(now + n * 3));
    const all = Promise.all(judged).finally(() => {
      isOver = true;
    });
    while (!isOver) await front.clock.advance(1);
    await all;
  }
  expect(rebuilt).toBeGreaterThan(0);
});

test("deltas is true or false", async () => {
  const { front } = await open();
  const response = await front.get(`/v1/runs/${crypto.randomUUID()}/events?deltas=1`);
  expect(response.status).toBe(400);
});
