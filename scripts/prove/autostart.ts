// Fifty callers before a model server that takes forty seconds to start, of whom twenty leave.
import { join } from "node:path";
import {
  buildWadi,
  findFreePort,
  launch,
  makeKey,
  makeScratch,
  readUntil,
  runWadi,
} from "../bench/stage.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";

const START_MS = 40_000;
const CALLERS = 50;
/** Three of five callers request a stream. */
const isStream = (n: number) => n % 5 < 3;
/** Two of five leave, one with a stream. */
const leaves = (n: number) => n % 5 === 1 || n % 5 === 4;
const LEAVE_AFTER_MS = 10_000;
/** Far enough apart that their order is certain. */
const APART_MS = 20;

/** It records its start, sleeps, and then serves one request at a time and in order. */
const SERVER = `
import { appendFileSync } from "node:fs";
const [port, notes] = process.argv.slice(2);
appendFileSync(notes, "started\\n");
await Bun.sleep(${START_MS});
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
Bun.serve({ hostname: "127.0.0.1", port: Number(port), async fetch(request) {
  const { pathname } = new URL(request.url);
  if (pathname === "/quit") setTimeout(() => process.exit(0), 10);
  if (request.method === "GET") return new Response("ok");
  const { stream } = await request.json();
  appendFileSync(notes, request.headers.get("x-request-id") + "\\n");
  const end = { index: 0, finish_reason: "stop" };
  if (!stream) return Response.json({ choices: [{ ...end, message: { content: "Hello" } }], usage });
  const chunk = JSON.stringify({ choices: [{ ...end, delta: { content: "Hello" } }], usage });
  const headers = { "content-type": "text/event-stream" };
  return new Response("data: " + chunk + "\\n\\ndata: [DONE]\\n\\n", { headers });
} });
`;

interface Call {
  id: string;
  status: number;
  text: string;
}

export const autostart: Proof = {
  name: "unit",
  about: `${CALLERS} callers of a model that takes ${START_MS / 1_000} s to start, 20 of whom leave`,
  async run() {
    const program = await buildWadi();
    const directory = makeScratch();
    const notes = join(directory, "notes");
    const port = await findFreePort();
    const script = join(directory, "server.ts");
    const config = join(directory, "wadi.toml");
    await Bun.write(script, SERVER);
    await Bun.write(config, writeSettings([process.execPath, script, String(port), notes], port));
    const at = ["--config", config, "--data", join(directory, "data")];
    const key = await makeKey(program, at);
    const server = launch([program, "serve", "--port", "0", ...at]);
    const url = `http://127.0.0.1:${await readUntil(server, /http:\/\/127\.0\.0\.1:(\d+)/)}`;
    const calls = await callAll(`${url}/v1/chat/completions`, key);
    const listed = JSON.parse(await runWadi([program, "models", "list", "--json", ...at]));
    await fetch(`http://127.0.0.1:${port}/quit`);
    server.kill("SIGTERM");
    await server.exited;
    return check(calls, (await Bun.file(notes).text()).trim().split("\n"), listed[0].start_ms);
  },
};

const writeSettings = (command: readonly string[], port: number) => `
[limits]
requests_per_minute = 1000

[[models]]
id = "slow"
self_hosted = true
capabilities = ["streaming"]

[models.upstream]
kind = "openai"
urls = ["http://127.0.0.1:${port}/v1"]
max_in_flight = 1

[models.upstream.start]
command = ${JSON.stringify(command)}
health = "http://127.0.0.1:${port}/health"
`;

/** In their order; callers that left have status 0. */
const callAll = async (url: string, key: string): Promise<Call[]> => {
  const calls: Promise<Call>[] = [];
  for (let n = 0; n < CALLERS; n++) {
    calls.push(call(url, key, n));
    await Bun.sleep(APART_MS);
  }
  return Promise.all(calls);
};

const call = async (url: string, key: string, n: number): Promise<Call> => {
  // Only ids of this form are passed on to a model server.
  const id = crypto.randomUUID();
  const signal = leaves(n) ? AbortSignal.timeout(LEAVE_AFTER_MS) : undefined;
  const headers = { authorization: `Bearer ${key}`, "x-request-id": id };
  const messages = [{ role: "user", content: "Hello" }];
  const body = JSON.stringify({ messages, stream: isStream(n) });
  try {
    const reply = await fetch(url, { method: "POST", headers, body, signal, keepalive: false });
    return { id, status: reply.status, text: await reply.text() };
  } catch {
    return { id, status: 0, text: "" };
  }
};

const check = (calls: readonly Call[], notes: readonly string[], start_ms: number): Finding[] => {
  const stayed = calls.filter((_, n) => !leaves(n));
  const answered = stayed.filter(({ status, text }) => status === 201 && text.includes("Hello"));
  const streams = answered.filter(({ text }) => text.startsWith(":"));
  const comments = streams.map(({ text }) => text.split(": keep-alive\n\n").length - 1);
  const requests = notes.filter((note) => note !== "started");
  const inOrder = stayed.map(({ id }) => id);
  return [
    atMost("starts", notes.length - requests.length, 1),
    atLeast("callers who left", calls.filter(({ status }) => status === 0).length, 20),
    atLeast("answers, of those who stayed", answered.length, 30),
    atMost("requests of callers who had left", requests.length - answered.length, 0),
    atMost("answers out of their order", requests.filter((id, at) => id !== inOrder[at]).length, 0),
    atLeast("comments on each stream", Math.min(...comments), Math.floor(START_MS / 15_000)),
    atLeast("its start as it was learned, in ms", start_ms, START_MS),
    atMost("its start as it was learned, in ms", start_ms, START_MS + 5_000, " ms"),
  ];
};
