// Tests the stream of POST /v1/responses: which events, in which order, with which numbers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { answerFrames, writeFrame } from "../../support/upstream.ts";
import {
  answerCalls,
  answerDeltas,
  callPiece,
  openResponses,
  type ReadEvent,
  type ResponsesFront,
  readError,
  readEvents,
  readResponse,
  WEATHER,
} from "./fixture.ts";

let front: ResponsesFront;
beforeAll(async () => {
  front = await openResponses({ upstream: 'first_token_timeout = "10m"' });
});
afterAll(() => front.stop());

const say = (content: string) => ({ content });
const TOOLS = { tools: [WEATHER] };
const CALL = { id: "call_1", name: "get_weather" };
const OTHER = { id: "call_2", name: "get_weather" };

/** The events for these deltas of the model server. */
async function stream(deltas: readonly object[], reason = "stop", fields: object = {}) {
  front.upstream.script = () => answerDeltas(deltas, reason);
  return readEvents(await front.respond({ input: "Hello", stream: true, ...fields }));
}
/** Names without `response.`, and beside each the place of its item. */
const list = (events: readonly ReadEvent[]) =>
  events.map(({ type, output_index: at }) => {
    return type.replace("response.", "") + (at === undefined ? "" : ` ${at}`);
  });

const MESSAGE = (at: number, deltas = 1) => [
  `output_item.added ${at}`,
  `content_part.added ${at}`,
  ...Array.from({ length: deltas }, () => `output_text.delta ${at}`),
  `output_text.done ${at}`,
  `content_part.done ${at}`,
  `output_item.done ${at}`,
];
const BEGIN = ["created", "in_progress"];

describe("the events of a text", () => {
  test("begin the response, its item and its part, and end them in turn", async () => {
    const events = await stream([say("Hel"), say("lo")]);
    expect(list(events)).toEqual([...BEGIN, ...MESSAGE(0, 2), "completed"]);
  });

  test("carry the pieces, then the whole text in each end", async () => {
    const events = await stream([say("Hel"), say("lo")]);
    const find = (type: string) => events.filter((one) => one.type === `response.${type}`);
    expect(find("output_text.delta").map(({ delta }) => delta)).toEqual(["Hel", "lo"]);
    expect(find("output_text.done")[0]!.text).toBe("Hello");
    const part = { type: "output_text", text: "Hello", annotations: [], logprobs: [] };
    expect(find("content_part.done")[0]!.part).toEqual(part);
    const [{ item }] = find("output_item.done") as [ReadEvent];
    expect(item).toMatchObject({ status: "completed", content: [part] });
    const { response } = events.at(-1)!;
    expect(response!.output).toEqual([item!]);
    expect(response!.usage).toMatchObject({ input_tokens: 7, output_tokens: 3, total_tokens: 10 });
  });

  test("name one item and one response throughout", async () => {
    const events = await stream([say("Hello")]);
    const items = events.flatMap(({ item, item_id }) => item?.id ?? item_id ?? []);
    expect(new Set(items).size).toBe(1);
    expect(items[0]).toMatch(/^msg_/);
    const responses = events.flatMap(({ response }) => response?.id ?? []);
    expect(new Set(responses).size).toBe(1);
    expect(responses[0]).toMatch(/^resp_/);
  });

  test("the first two show a response that has no output yet", async () => {
    for (const { response } of (await stream([say("Hello")])).slice(0, 2)) {
      expect(response).toMatchObject({ status: "in_progress", output: [], usage: null });
    }
  });

  test("a pair of surrogates that the server cut is sent whole, a lone half as U+FFFD", async () => {
    const events = await stream([say("a\ud83d"), say("\ude00"), say("\ud83d")]);
    const deltas = events.flatMap(({ delta }) => delta ?? []);
    expect(deltas).toEqual(["a", "\u{1f600}", "\ufffd"]);
    expect(events.find(({ type }) => type === "response.output_text.done")!.text).toBe(
      deltas.join(""),
    );
  });

  test("an empty reply is a message without text", async () => {
    const events = await stream([say("")]);
    expect(list(events)).toEqual([...BEGIN, ...MESSAGE(0, 0), "completed"]);
  });
});

describe("the events of calls", () => {
  test("begin each call with its name and end with its whole arguments", async () => {
    const pieces = [callPiece(0, "", CALL), callPiece(0, '{"city":'), callPiece(0, '"Sur"}')];
    const events = await stream(pieces, "tool_calls", TOOLS);
    expect(list(events)).toEqual([
      ...BEGIN,
      "output_item.added 0",
      "function_call_arguments.delta 0",
      "function_call_arguments.delta 0",
      "function_call_arguments.done 0",
      "output_item.done 0",
      "completed",
    ]);
    const begun = { type: "function_call", call_id: "call_1", name: "get_weather" };
    expect(events[2]!.item).toMatchObject({ ...begun, arguments: "", status: "in_progress" });
    const whole = { ...begun, arguments: '{"city":"Sur"}', status: "completed" };
    expect(events.at(-2)!.item).toMatchObject(whole);
    expect(events.at(-1)!.response!.output).toMatchObject([whole]);
  });

  test("a text before them ends when the first call begins", async () => {
    const pieces = [say("One moment."), callPiece(0, "{}", CALL)];
    const events = await stream(pieces, "tool_calls", TOOLS);
    expect(list(events)).toEqual([
      ...[...BEGIN, ...MESSAGE(0), "output_item.added 1", "function_call_arguments.delta 1"],
      ...["function_call_arguments.done 1", "output_item.done 1", "completed"],
    ]);
  });

  test("calls whose pieces come in turns are whole in the end, in their order", async () => {
    const pieces = [
      callPiece(0, "{", CALL),
      callPiece(1, "[", OTHER),
      callPiece(0, "}"),
      callPiece(1, "]"),
    ];
    const events = await stream(pieces, "tool_calls", TOOLS);
    const done = events.filter(({ type }) => type === "response.function_call_arguments.done");
    expect(done.map(({ output_index, arguments: text }) => [output_index, text])).toEqual([
      [0, "{}"],
      [1, "[]"],
    ]);
  });

  test("a text after a call is a message of its own behind it", async () => {
    const pieces = [callPiece(0, "{}", CALL), say("Wait.")];
    const events = await stream(pieces, "tool_calls", TOOLS);
    const { output } = events.at(-1)!.response!;
    expect(output.map(({ type, status }) => [type, status])).toEqual([
      ["function_call", "completed"],
      ["message", "completed"],
    ]);
    const ends = events.filter(({ type }) => type === "response.output_item.done");
    expect(ends.map(({ output_index }) => output_index)).toEqual([0, 1]);
  });

  test("a call without arguments gets an empty object", async () => {
    const events = await stream([callPiece(0, "", CALL)], "tool_calls", TOOLS);
    expect(events.flatMap(({ delta }) => delta ?? [])).toEqual(["{}"]);
    expect(events.at(-1)!.response!.output).toMatchObject([{ arguments: "{}" }]);
  });

  test("with `parallel_tool_calls: false` only the first is delivered, also in JSON", async () => {
    const pieces = [callPiece(0, "{}", CALL), callPiece(1, "{}", OTHER)];
    const fields = { ...TOOLS, parallel_tool_calls: false };
    const events = await stream(pieces, "tool_calls", fields);
    expect(events.at(-1)!.response!.output).toMatchObject([{ call_id: "call_1" }]);
    front.upstream.script = () => answerCalls(null, "get_weather", "get_weather");
    const { output } = await readResponse(await front.respond({ input: "Hello", ...fields }));
    expect(output).toMatchObject([{ call_id: "call_0" }]);
  });
});

describe("the last event", () => {
  test.each([
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ])("of a reply that ends by %s is `response.incomplete`", async (reason, shown) => {
    const events = await stream([say("Hel")], reason);
    expect(list(events)).toEqual([...BEGIN, ...MESSAGE(0), "incomplete"]);
    expect(events.at(-1)!.response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: shown },
      completed_at: null,
      output: [{ status: "incomplete" }],
    });
  });

  test("only the last item of it is incomplete", async () => {
    const pieces = [say("One"), callPiece(0, '{"ci', CALL)];
    const events = await stream(pieces, "length", TOOLS);
    const { output } = events.at(-1)!.response!;
    expect(output.map(({ status }) => status)).toEqual(["completed", "incomplete"]);
    expect(output[1]).toMatchObject({ arguments: '{"ci' });
  });

  test("after a failure is `response.failed`, behind the error with our code", async () => {
    front.upstream.script = () => answerFrames([writeFrame(say("Hel"))]);
    const events = await readEvents(await front.respond({ input: "Hello", stream: true }));
    expect(list(events)).toEqual([
      ...[...BEGIN, "output_item.added 0", "content_part.added 0", "output_text.delta 0"],
      ...["error", "failed"],
    ]);
    const { code, message, param, error } = events.at(-2)! as unknown as Record<string, string>;
    expect([code, param]).toEqual(["upstream_error", null as never]);
    expect(error as unknown).toEqual({ type: "server_error", code, message, param });
    expect(events.at(-1)!.response).toMatchObject({
      status: "failed",
      error: { code, message },
      output: [{ status: "incomplete", content: [{ text: "Hel" }] }],
    });
  });
});

describe("before the first event", () => {
  test("a failure is an ordinary error", async () => {
    front.upstream.script = () => new Response("", { status: 500 });
    const reply = await front.respond({ input: "Hello", stream: true });
    expect(await readError(reply)).toEqual([502, "upstream_error", null]);
  });

  test("a silence of the model begins the stream, with a comment that clients skip", async () => {
    const reached = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Response>();
    front.upstream.script = () => {
      reached.resolve();
      return answer.promise;
    };
    const asked = front.respond({ input: "Hello", stream: true });
    await reached.promise;
    await front.clock.advance(15_000);
    const reply = await asked;
    answer.resolve(answerDeltas([say("Hello")]));
    const text = await reply.text();
    expect(text.match(/^event: \S+|^: .*/gm)!.slice(0, 3)).toEqual([
      "event: response.created",
      "event: response.in_progress",
      ": keep-alive",
    ]);
  });
});
