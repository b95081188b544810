// Floods of connections on few descriptors: callers, their streams and calls outside go on.
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import {
  answerText,
  DONE,
  type ScriptedUpstream,
  startUpstream,
  writeFrame,
  writeSettings,
} from "../../test/support/upstream.ts";
import { buildWadi, type Child, launch, makeScratch, readUntil } from "../bench/stage.ts";
import { atLeast, atMost, type Finding } from "./proof.ts";

/** Bytes that each connection of a flood sends; closed connections are reopened. */
const FLOODS: Record<string, string> = {
  idle: "",
  slow: "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
  keyless: "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
  body: "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n",
};
const DESCRIPTORS = [128, 1_024];
const CONNECTIONS_PER_DESCRIPTOR = 2;
const DRIP_MS = 200;
const CONCURRENT_CHATS = 4;
const ROUNDS = 10;
const ROUNDS_LONG = 200;
const THROWN_OUT_LEAST = 100;
const ANSWER_MS_MAX = 10_000;

interface FloodResult {
  requests: number;
  failed: number;
  longest_ms: number;
  thrown_out: number;
  is_stream_whole: boolean;
  is_same_process: boolean;
  code: number;
}

/** In `outside`: the section of connections. */
export const proveConnections = async (isLong: boolean): Promise<Finding[]> => {
  // Descriptors are counted on Linux only; elsewhere the idle timeout is the only limit.
  if (process.platform !== "linux") return [];
  const program = await buildWadi();
  const findings: Finding[] = [];
  for (const limit of DESCRIPTORS) {
    for (const [name, head] of Object.entries(FLOODS)) {
      const result = await flood(program, limit, head, isLong ? ROUNDS_LONG : ROUNDS);
      findings.push(...check(`${name} flood, ${limit} descriptors:`, result));
    }
  }
  return findings;
};

const check = (what: string, result: FloodResult): Finding[] => [
  atLeast(`${what} strangers thrown out`, result.thrown_out, THROWN_OUT_LEAST),
  atMost(`${what} of ${result.requests} chats not answered`, result.failed, 0),
  atMost(`${what} slowest answer`, result.longest_ms, ANSWER_MS_MAX, " ms"),
  is(`${what} a stream in progress is whole`, result.is_stream_whole),
  is(`${what} same pid, and exit 0 at its stop`, result.is_same_process && result.code === 0),
];

const is = (what: string, isMet: boolean): Finding => ({
  what,
  figure: isMet ? "yes" : "no",
  bound: "yes",
  isMet,
});

const flood = async (
  program: string,
  limit: number,
  head: string,
  rounds: number,
): Promise<FloodResult> => {
  const over = Promise.withResolvers<void>();
  const upstream = startUpstream((requests) => answer(requests.body.stream === true, over.promise));
  const { child, url } = await startServer(program, limit, upstream);
  const stream = ask(url, { stream: true }).catch(() => "");
  const idlers = await floodIn(Number(new URL(url).port), limit, head);
  const result = { requests: 0, failed: 0, longest_ms: 0 };
  for (let round = 0; round < rounds; round++) {
    const chats = Array.from({ length: CONCURRENT_CHATS }, async () => {
      const started_at = performance.now();
      const text = await ask(url, {}).catch(() => "");
      result.requests += 1;
      if (!text.includes("served")) result.failed += 1;
      result.longest_ms = Math.max(result.longest_ms, performance.now() - started_at);
    });
    await Promise.all(chats);
  }
  over.resolve();
  const is_stream_whole = /first.*last.*\[DONE\]/s.test(await stream);
  const is_same_process = process.kill(child.pid, 0);
  const thrown_out = idlers.stop();
  child.kill("SIGTERM");
  const code = await child.exited;
  await upstream.stop();
  return { ...result, thrown_out, is_stream_whole, is_same_process, code };
};

/** Every request to it takes a connection of its own, for which a descriptor has to be free. */
const answer = (isStream: boolean, over: Promise<void>): Response => {
  const reply = isStream ? new Response(streamSlowly(over)) : answerText("served");
  if (isStream) reply.headers.set("content-type", "text/event-stream");
  reply.headers.set("connection", "close");
  return reply;
};

async function* streamSlowly(over: Promise<void>) {
  yield Buffer.from(writeFrame({ content: "first" }));
  await over;
  yield Buffer.from(writeFrame({ content: "last" }) + writeFrame({}, "stop") + DONE);
}

const startServer = async (
  program: string,
  limit: number,
  upstream: ScriptedUpstream,
): Promise<{ child: Child; url: string }> => {
  const file = join(makeScratch(), "wadi.toml");
  writeFileSync(file, writeSettings(upstream.url));
  const few = `ulimit -n ${limit}; exec "$0" "$@"`;
  const line = [program, "dev", "--port", "0", "--config", file];
  const child = launch(["sh", "-c", few, ...line], { WADI_LIMITS__REQUESTS_PER_MINUTE: "100000" });
  return { child, url: await readUntil(child, /^curl (http:\/\/127\.0\.0\.1:\d+)\//m) };
};

const ask = async (url: string, fields: object): Promise<string> => {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer svc_sk_dev", "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }], ...fields }),
    keepalive: false,
  });
  return reply.status === 201 ? reply.text() : "";
};

/** Resolves once the first were thrown out; strangers come again until they are stopped. */
const floodIn = async (port: number, limit: number, head: string) => {
  const idlers = new Set<Socket>();
  const full = Promise.withResolvers<void>();
  let closed = 0;
  let isOver = false;
  const come = () => {
    if (isOver) return;
    const socket = connect(port, "127.0.0.1");
    idlers.add(socket);
    socket.on("connect", () => {
      if (head !== "") socket.write(head);
    });
    socket.on("data", () => {});
    socket.on("error", () => {});
    socket.on("close", () => {
      if (++closed === THROWN_OUT_LEAST) full.resolve();
      idlers.delete(socket);
      setImmediate(come);
    });
  };
  for (let one = 0; one < CONNECTIONS_PER_DESCRIPTOR * limit; one++) come();
  const drip = setInterval(() => {
    if (head !== "") for (const socket of idlers) socket.write("x");
  }, DRIP_MS);
  await full.promise;
  return {
    /** How many were thrown out. */
    stop(): number {
      isOver = true;
      clearInterval(drip);
      for (const socket of idlers) socket.destroy();
      return closed;
    },
  };
};
