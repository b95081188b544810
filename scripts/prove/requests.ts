// Serves a mixed load in which ten failures are made on purpose, then finds each by its request id.
import { join } from "node:path";
import { buildWadi, type Child, launch, makeScratch, readUntil, runWadi } from "../bench/stage.ts";
import { atLeast, atMost, type Finding, measured, type Proof } from "./proof.ts";

const MINUTE_MS = 60_000;
const MINUTES = 2;
const MINUTES_LONG = 60;
/** Pause of a caller between two requests, so that the machine has room for other work. */
const PAUSE_MS = 150;
const CALLERS = 4;

const writeSettings = (url: string) => `
[limits]
requests_per_minute = 1000000
address_requests_per_minute = 1000000

[agents]
open = true

[[models]]
id = "work"
self_hosted = true
capabilities = ["streaming", "tools"]
price = { prompt = "1.00", completion = "2.00" }
context_window = 4000
[models.upstream]
kind = "openai"
urls = ["${url}/v1"]
first_token_timeout = "1s"

[[models]]
id = "private"
[models.upstream]
kind = "openai"
urls = ["${url}/v1"]

[embeddings]
kind = "stub"
requests_per_minute = 1000000

[search]
kind = "stub"
requests_per_minute = 1000000
`;

const write = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** A model server that fails where the last message says so. */
const startModelServer = () =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      if (!new URL(request.url).pathname.endsWith("/chat/completions")) {
        return new Response(null, { status: 404 });
      }
      const body = (await request.json()) as { messages: { content: string }[]; stream: boolean };
      const wish = body.messages.at(-1)!.content;
      if (wish === "fail") return new Response("out of memory", { status: 500 });
      if (wish === "hang") await new Promise(() => {});
      if (wish === "nonsense") return new Response("<html>");
      if (!body.stream) return Response.json(REPLY);
      return streamReply(wish === "break", wish === "linger");
    },
  });

const USAGE = { prompt_tokens: 10, completion_tokens: 5 };
const MESSAGE = { role: "assistant", content: "Good." };
const REPLY = { choices: [{ index: 0, message: MESSAGE, finish_reason: "stop" }], usage: USAGE };

const streamReply = (breaks: boolean, lingers: boolean) => {
  const body = async function* () {
    yield write({ content: "Go" });
    if (lingers) await new Promise(() => {});
    if (breaks) return;
    yield write({ content: "od." }, "stop");
    yield `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;
  };
  const type = { "content-type": "text/event-stream" };
  return new Response(body() as unknown as ReadableStream, { headers: type });
};

interface Failure {
  id: string;
  path?: string;
  body: object;
  /** Key to send it with; that of the load without it. */
  key?: "poor" | "spent" | "narrow";
  leaves?: true;
  status: number | string;
  /** Sentence of the explanation that names the cause. */
  cause: RegExp;
}

const chat = (content: string, more: object = {}) => ({
  ...{ model: "work", messages: [{ role: "user", content }] },
  ...more,
});

const CHAT = "/v1/chat/completions";
const FAILURES: readonly Failure[] = [
  { id: "fails", body: chat("fail"), status: 502, cause: /upstream_error/ },
  { id: "hangs", body: chat("hang"), status: 504, cause: /upstream_timeout/ },
  { id: "breaks", body: chat("break", { stream: true }), status: 201, cause: /upstream_error/ },
  { id: "too-long", body: chat("word ".repeat(9_000)), status: 400, cause: /context_length/ },
  { id: "is-wrong", body: chat("x", { temperature: 9 }), status: 400, cause: /temperature/ },
  {
    ...{ id: "not-permitted", body: chat("x", { model: "private" }), status: 403 },
    cause: /model_not_permitted/,
  },
  {
    ...{ id: "no-scope", path: "/v1/search", body: { query: "x" }, key: "narrow", status: 403 },
    cause: /search/,
  },
  { id: "over-tokens", body: chat("x"), key: "spent", status: 429, cause: /tokens/ },
  { id: "over-money", body: chat("x"), key: "poor", status: 403, cause: /cost|money|SAR/ },
  {
    ...{ id: "leaves", body: chat("linger", { stream: true }), leaves: true, status: 499 },
    cause: /left/,
  },
];

interface Run {
  program: string;
  at: string[];
  url: string;
  keys: Record<"load" | NonNullable<Failure["key"]>, string>;
  sent: number;
  strange: Set<string>;
  isOver: boolean;
}

export const requests: Proof = {
  name: "requests",
  about: "a mixed load with ten failures made on purpose; each is explained by its request id",
  async run(isLong) {
    const program = await buildWadi();
    const model = startModelServer();
    const directory = makeScratch();
    const config = join(directory, "wadi.toml");
    await Bun.write(config, writeSettings(`http://127.0.0.1:${model.port}`));
    const at = ["--config", config, "--data", join(directory, "data")];
    const keys = await makeKeys(program, at);
    const child = launch([program, "serve", "--port", "0", ...at]);
    const url = await readUntil(child, /(http:\/\/127\.0\.0\.1:\d+)/);
    const run: Run = { program, at, url, keys, sent: 0, strange: new Set(), isOver: false };
    const findings = await load(run, isLong ? MINUTES_LONG : MINUTES);
    await stop(child, model);
    return findings;
  },
};

const stop = async (child: Child, model: ReturnType<typeof startModelServer>) => {
  child.kill("SIGTERM");
  await child.exited;
  await model.stop(true);
};

const makeKeys = async (program: string, at: string[]): Promise<Run["keys"]> => {
  const run = (...words: string[]) => runWadi([program, ...words, ...at]);
  const make = async (account: string, limit: string[], scopes: string[] = []) => {
    await run("accounts", "create", account);
    if (limit.length > 0) await run("accounts", "limit", account, ...limit);
    const flags = scopes.flatMap((scope) => ["--scope", scope]);
    return run("keys", "create", "--account", account, ...flags);
  };
  return {
    load: await make("load", [], ["agents", "embeddings", "search"]),
    narrow: await make("narrow", []),
    spent: await make("spent", ["--tokens-month", "1"]),
    poor: await make("poor", ["--cost-month", "0.000001"]),
  };
};

const load = async (run: Run, minutes: number): Promise<Finding[]> => {
  const agent = await ask(run, "/v1/agents", {
    ...{ name: "Worker", system_prompt: "Work.", model: "work" },
  });
  const { id } = (await agent.json()) as { id: string };
  const callers = Array.from({ length: CALLERS }, (_, at) => call(run, id, at));
  // The failures are spread over the whole load.
  const every = (minutes * MINUTE_MS) / (FAILURES.length + 1);
  for (const failure of FAILURES) {
    await Bun.sleep(every);
    await fail(run, failure);
  }
  await Bun.sleep(every);
  run.isOver = true;
  await Promise.all(callers);
  const missing: string[] = [];
  for (const failure of FAILURES) missing.push(...(await look(run, failure)));
  const listed = await list(run, "--account", "load", "--limit", "10000");
  return [
    measured("minutes of load", minutes),
    atLeast("requests sent", run.sent, minutes * 500),
    atMost(`outcomes that were not asked for (${[...run.strange]})`, run.strange.size, 0),
    atMost(`failures not found or not explained (${missing.join("; ")})`, missing.length, 0),
    atLeast("rows listed of the load", listed.length, Math.min(run.sent, 10_000)),
  ];
};

const call = async (run: Run, agent: string, offset: number): Promise<void> => {
  const all: [path: string, body: object, status: number][] = [
    [CHAT, chat("Hello"), 201],
    [CHAT, chat("Hello", { stream: true }), 201],
    ["/v1/embeddings", { input: ["Hello"] }, 200],
    ["/v1/search", { query: "Hello" }, 200],
    [`/v1/agents/${agent}/runs`, { input: { message: "Hello" } }, 202],
  ];
  for (let n = offset; !run.isOver; n++) {
    const [path, body, status] = all[n % all.length]!;
    const reply = await ask(run, path, body);
    await reply.text();
    run.sent++;
    if (reply.status !== status) run.strange.add(`${path}: ${reply.status}`);
    await Bun.sleep(PAUSE_MS);
  }
};

const ask = (run: Run, path: string, body: object, key = run.keys.load, more: RequestInit = {}) =>
  fetch(`${run.url}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    ...more,
    headers: {
      ...{ authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...more.headers,
    },
  });

const fail = async (run: Run, { id, path = CHAT, body, key, leaves, status }: Failure) => {
  const leaving = new AbortController();
  const more = { headers: { "x-request-id": id }, signal: leaving.signal };
  const reply = await ask(run, path, body, run.keys[key ?? "load"], more);
  if (leaves) {
    await reply.body!.getReader().read();
    return leaving.abort();
  }
  await reply.text().catch(() => "");
  if (reply.status !== status) run.strange.add(`${id}: ${reply.status}`);
};

interface Row {
  request_id: string;
  status: number;
}

const list = async (run: Run, ...filter: string[]): Promise<Row[]> => {
  const command = [run.program, "requests", "list", "--json", ...filter, ...run.at];
  return (JSON.parse(await runWadi(command)) as { rows: Row[] }).rows;
};

/** Says what is missing of a failure: its row among those of its status, or its cause. */
const look = async (run: Run, { id, status, cause }: Failure): Promise<string[]> => {
  const missing: string[] = [];
  const rows = await list(run, "--status", String(status), "--limit", "10000", "--since", "2h");
  const isListed = rows.some(({ request_id }) => request_id === id);
  // A stream that broke has the status of all that succeed: its code finds it.
  const isCoded =
    status === 201 &&
    (await list(run, "--code", "upstream_error")).some(({ request_id }) => request_id === id);
  if (!isListed && !isCoded) missing.push(`${id} is not listed`);
  const shown = await runWadi([run.program, "requests", "show", id, ...run.at]);
  if (!cause.test(shown)) missing.push(`${id}: ${shown}`);
  return missing;
};
