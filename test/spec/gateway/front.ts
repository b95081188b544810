// The app before a scripted model server, and the form of its replies.
import { expect } from "bun:test";
import { type AskOptions, startApp, type TestApp, type TestAppOptions } from "../../support/app.ts";
import { type AskedRequest, type ScriptedUpstream, startUpstream } from "../../support/upstream.ts";
import { readRefusal } from "./refusal.ts";

/** `await using` stops it at the end of the block. */
export interface Front extends TestApp, AsyncDisposable {
  upstream: ScriptedUpstream;
  /** POST /v1/chat/completions with exactly this body. */
  send(body: unknown, options?: AskOptions): Promise<Response>;
  /** The last request to the model server. */
  last(): AskedRequest;
}

/** The caller of a table of cases is not to meet the rate limit. */
const UNLIMITED = "[limits]\nrequests_per_minute = 1_000_000\n";

/** Lines of its `[[models]]` table, of its upstream's, and whole further tables. */
export interface FrontLines {
  model?: string;
  upstream?: string;
  more?: string;
}

/** Starts an app whose default model, `test-1`, has a window of 32,768 and every capability. */
export async function startFront(
  { model = "", upstream: lines = "", more = "" }: FrontLines = {},
  options: TestAppOptions = {},
): Promise<Front> {
  const upstream = startUpstream();
  const settings = `${UNLIMITED}
[[models]]
id = "test-1"
provider = "wadi"
self_hosted = true
context_window = 32_768
${model.includes("capabilities") ? "" : 'capabilities = ["tools", "streaming", "reasoning", "vision"]'}
${model}
[models.upstream]
kind = "openai"
urls = ["${upstream.url}"]
model = "upstream-model"
${lines}
${more}
`;
  const app = await startApp({ settings, ...options });
  const stop = async () => {
    await app.stop();
    await upstream.stop();
  };
  return {
    ...app,
    upstream,
    send: (body, askOptions) => app.post("/v1/chat/completions", body, askOptions),
    last: () => upstream.asked.at(-1)!,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Checks the status, code and `param` of a refusal, and its whole envelope. */
export async function expectRefusal(
  response: Response,
  status: number,
  code: string,
  param: string | null = null,
): Promise<void> {
  expect(await readRefusal(response)).toEqual([status, code, param]);
}

export interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: {
    index: number;
    delta: { role?: string; content?: string; tool_calls?: CallPiece[] };
    finish_reason: string | null;
  }[];
  usage?: object;
  /** Only in a frame with an error. */
  error?: { code: string };
}
export interface CallPiece {
  index: number;
  id?: string;
  type?: string;
  function: { name?: string; arguments: string };
}

/** The frames of a complete stream, in order: chunks as JSON, comments and [DONE] unchanged. */
export async function readFrames(response: Response): Promise<(Chunk | string)[]> {
  return parseFrames(await response.text());
}

export function parseFrames(text: string): (Chunk | string)[] {
  const blocks = text.split("\n\n");
  expect(blocks.pop()).toBe("");
  return blocks.map((block) => {
    if (!block.startsWith("data: {")) return block;
    expect(block).not.toContain("\n");
    return JSON.parse(block.slice("data: ".length)) as Chunk;
  });
}

/** A stream's chunks; it must hold nothing else, and end with [DONE]. */
export async function readChunks(response: Response): Promise<Chunk[]> {
  expect([response.status, response.headers.get("content-type")]).toEqual([
    201,
    "text/event-stream; charset=utf-8",
  ]);
  const frames = await readFrames(response);
  expect(frames.pop()).toBe("data: [DONE]");
  return frames.map((frame) => {
    expect(frame).toBeObject();
    return frame as Chunk;
  });
}

/** The texts of a stream, one per read. */
export function readLive(response: Response): () => Promise<string> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  return async () => decoder.decode((await reader.read()).value, { stream: true });
}
