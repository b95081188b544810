// The app before a fault proxy before a model server, and a caller's view of each fault.
import { expect } from "bun:test";
import { startApp, type TestApp, type TestAppOptions } from "../../support/app.ts";
import { type Fault, type FaultProxy, startFaultProxy } from "../../support/fault-proxy.ts";
import {
  answerFrames,
  answerText,
  DONE,
  type ScriptedUpstream,
  startUpstream,
  writeFrame,
  writeSettings,
} from "../../support/upstream.ts";
import { type Chunk, readFrames, readLive } from "./front.ts";
import { readRefusal } from "./refusal.ts";

export interface FaultFront extends TestApp, AsyncDisposable {
  proxy: FaultProxy;
  /** The model server behind the proxy; it answers "Hello". */
  upstream: ScriptedUpstream;
}

/**
 * `lines` are added to the table of the upstream. Health checks are off, so that faults affect
 * chats only. `await using` stops everything.
 */
export async function startFaultFront(
  lines = "",
  options: TestAppOptions = {},
): Promise<FaultFront> {
  const upstream = startUpstream(({ body }) =>
    body.stream
      ? answerFrames([writeFrame({ content: "Hello" }, "stop"), DONE])
      : answerText("Hello"),
  );
  const proxy = startFaultProxy(upstream.url);
  const limits = "[limits]\nrequests_per_minute = 1_000_000\n";
  const settings = `${limits}${writeSettings(proxy.url, "", `health_every = "0s"\n${lines}`)}`;
  const app = await startApp({ settings, ...options });
  const stop = async () => {
    await app.stop();
    proxy.stop();
    await upstream.stop();
  };
  return { ...app, proxy, upstream, stop, [Symbol.asyncDispose]: stop };
}

/**
 * Summary of a reply, checked to its last field: `502 upstream_error`, `201 "Hello" stop` or, where
 * the failure came too late for a status, `201 "Hel" upstream_error`.
 */
export async function readOutcome(response: Response): Promise<string> {
  const { status, headers } = response;
  if (status !== 201) {
    const [, code, param] = await readRefusal(response);
    expect(param).toBe(code === "context_length_exceeded" ? "messages" : null);
    return `${status} ${code}`;
  }
  if (headers.get("content-type") === "application/json") {
    const { choices } = (await response.json()) as { choices: unknown[] };
    const [{ message, finish_reason }] = choices as [
      { message: { content: string | null }; finish_reason: string },
    ];
    return `201 ${JSON.stringify(message.content)} ${finish_reason}`;
  }
  return readStreamOutcome(await readFrames(response));
}

/** Every stream ends with [DONE], and in front of it with a reason or with one error. */
function readStreamOutcome(frames: (Chunk | string)[]): string {
  expect(frames.pop()).toBe("data: [DONE]");
  const chunks = frames.filter((frame) => frame !== ": keep-alive") as Chunk[];
  const end = chunks.pop()!;
  const text = chunks.map(({ choices }) => choices[0]!.delta.content ?? "").join("");
  if (!end.error) return `201 ${JSON.stringify(text)} ${end.choices[0]!.finish_reason}`;
  const { code } = end.error;
  const isLong = code === "context_length_exceeded";
  const type = isLong ? "invalid_request_error" : "server_error";
  // gateway.events.4: without the legacy fields.
  expect(end as unknown).toEqual({
    error: { message: expect.any(String), type, code, param: isLong ? "messages" : null },
    request_id: expect.any(String),
  });
  return `201 ${JSON.stringify(text)} ${code}`;
}

/** Reads a stream as it arrives. */
export function collect(response: Response) {
  const read = readLive(response);
  let text = "";
  return {
    /** Resolves when this text has been received. */
    async until(part: string): Promise<void> {
      while (!text.includes(part)) text += await readOn();
    },
    /** The complete reply after its end. */
    async whole(): Promise<Response> {
      for (let next = await read(); next !== ""; next = await read()) text += next;
      return new Response(text, response);
    },
  };
  async function readOn(): Promise<string> {
    const next = await read();
    if (next === "") throw new Error(`the stream ended behind ${text}`);
    return next;
  }
}

let count = 0;

export interface Exchange {
  outcome: string;
  /** Settles when every connection that the fault was met on is closed. */
  closed: Promise<unknown>;
}

/** Sends one request during the fault, and checks that reply and log leak nothing. */
export async function askThrough(
  front: FaultFront,
  fault: Fault,
  fields: object = {},
): Promise<Exchange> {
  // Too few failures a minute to open the breaker.
  await front.clock.advance(15_000);
  const met: Promise<void>[] = [];
  const played: unknown[] = [];
  front.proxy.fault = (link) => {
    met.push(link.connection.closed);
    played.push(fault(link));
    return played.at(-1);
  };
  const headers = { "x-request-id": `fault-${++count}` };
  const response = await front.chat("Hi", { model: "test-1", ...fields }, { headers });
  const text = await response.text();
  front.proxy.fault = null;
  // Waits for data that the fault sends after the reply.
  await Promise.all(played);
  expect(["server", "retry-after"].filter((name) => response.headers.has(name))).toEqual([]);
  expectSilence(front, JSON.stringify([...response.headers]) + text);
  const outcome = await readOutcome(new Response(text, response));
  const lines = front.lines.filter(({ request_id }) => request_id === headers["x-request-id"]);
  // One line for the operator where it failed, and none where it did not.
  expect(lines.length).toBe(/^201 .* (stop|length|tool_calls)$/.test(outcome) ? 0 : 1);
  return { outcome, closed: Promise.all(met) };
}

/** The server's text and address are in neither the reply nor the log. */
export function expectSilence(front: Pick<FaultFront, "lines" | "proxy">, received: string): void {
  // Log lines about a server name it, for the operator only.
  const lines = front.lines.filter(({ upstream }) => upstream === undefined);
  const all = received + JSON.stringify(lines);
  for (const secret of ["canary", "10.9.8.7", "nginx", "<html"]) {
    expect(all).not.toContain(secret);
  }
  // The first digits of a time can be the same as a port.
  expect(all).not.toMatch(new RegExp(`:${front.proxy.port}\\b`));
}

/** The place is free: the next request to the same model is answered as if nothing had been. */
export async function expectFree(front: FaultFront): Promise<void> {
  for (const stream of [false, true]) {
    const response = await front.chat("Hi", { model: "test-1", stream });
    expect(await readOutcome(response)).toBe('201 "Hello" stop');
  }
}
