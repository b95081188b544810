// The app with /v1/responses open, before a scripted model server.
import { expect } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { ResponseObject } from "../../../src/gateway/responses/resource.ts";
import { type Front, type FrontLines, startFront } from "../../spec/gateway/front.ts";
import type { AskOptions } from "../../support/app.ts";
import { answerFrames, DONE, USAGE, writeFrame } from "../../support/upstream.ts";
import { PUBLISHED_EVENTS, PublishedResponse } from "./published.ts";

export const PATH = "/v1/responses";
export const OPEN = { WADI_GATEWAY__RESPONSES: "true" };
export const EVERY = '["tools", "streaming", "reasoning", "vision", "structured_outputs"]';

export interface ResponsesFront extends Front {
  respond(body: object, options?: AskOptions): Promise<Response>;
}

export async function openResponses(lines: FrontLines = {}): Promise<ResponsesFront> {
  const front = await startFront(lines, { env: OPEN });
  return { ...front, respond: (body, options) => front.post(PATH, body, options) };
}

export async function readResponse(reply: Response): Promise<ResponseObject> {
  expect(reply.status).toBe(200);
  const response = (await reply.json()) as ResponseObject;
  expect([...Value.Errors(PublishedResponse, response)]).toEqual([]);
  return response;
}

/** Status, code and field of an error, which must have the envelope of this format. */
export async function readError(reply: Response) {
  const body = (await reply.json()) as { error: Record<string, unknown> };
  const { message, type, param, code } = body.error;
  expect(body as object).toEqual({ error: { message, type, param, code } });
  expect(reply.headers.get("x-request-id")).toBeString();
  expect(message).toMatch(/^\S[^\n]{8,298}[.)]$/);
  return [reply.status, code, param];
}

export interface ReadEvent extends Record<string, unknown> {
  type: string;
  response?: ResponseObject;
  item?: ResponseObject["output"][number];
}

/** The events of a stream: each of its published schema, numbered, and [DONE] after the last. */
export async function readEvents(reply: Response): Promise<ReadEvent[]> {
  expect([reply.status, reply.headers.get("content-type")]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
  ]);
  const frames = (await reply.text()).split("\n\n").filter((frame) => !frame.startsWith(":"));
  expect(frames.splice(-2)).toEqual(["data: [DONE]", ""]);
  return frames.map((frame, at) => {
    const [, named, json] = /^event: (\S+)\ndata: (\{.*\})$/.exec(frame)!;
    const event = JSON.parse(json!) as ReadEvent;
    expect([event.type, event.sequence_number]).toEqual([named!, at]);
    const schema = PUBLISHED_EVENTS[event.type]!;
    expect([event.type, ...Value.Errors(schema, event)]).toEqual([event.type]);
    return event;
  });
}

/** A stream of the model server with these deltas, which ends with that reason. */
export function answerDeltas(deltas: readonly object[], reason = "stop"): Response {
  const frames = deltas.map((delta) => writeFrame(delta));
  return answerFrames([...frames, writeFrame({}, reason, { usage: USAGE }), DONE]);
}

/** A reply of the model server with these calls. */
export function answerCalls(content: string | null, ...names: string[]): Response {
  const tool_calls = names.map((name, at) => {
    return { id: `call_${at}`, type: "function", function: { name, arguments: '{"city":"Sur"}' } };
  });
  const message = { role: "assistant", content, tool_calls };
  return Response.json({
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: USAGE,
  });
}

export const callPiece = (index: number, text: string, begun?: { id: string; name: string }) => {
  const called = { arguments: text, ...(begun && { name: begun.name }) };
  const own = begun && { id: begun.id, type: "function" };
  return { tool_calls: [{ index, ...own, function: called }] };
};

export const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "The weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: true,
} as const;
