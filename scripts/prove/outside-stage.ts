// Serves with everything outside at a place that fails, and tries each way out: a child of its proof.
import { Agent, request } from "node:http";
import { join } from "node:path";
import { launch, makeKey, makeScratch, readUntil } from "../bench/stage.ts";
import { type Failure, listFailures, MOST_DESCRIPTORS } from "./outside-failures.ts";
import type { PathsResult, Tried } from "./outside-paths.ts";

/** A place that is not given back would hold the third for longer than it is waited for. */
const TIMES = 3;
const PATIENCE_MS = 20_000;
const CONNECT_MS = 300;
/** A unit's start that failed is not tried again for a while. */
const RETRY_MS = 100;

interface Reply {
  status: number;
  body: string;
}

interface Stage {
  pid: number;
  host: string;
  exited: Promise<number>;
  ask(method: string, path: string, body?: object): Promise<Reply>;
  /** Posts to the agents API, which must succeed. */
  make(path: string, body: object): Promise<Record<string, string>>;
  stop(): Promise<void>;
}

const writeModel = (id: string, host: string, upstream: string): string => `
[[models]]
id = "${id}"
self_hosted = true
context_window = 4096
capabilities = ["streaming"]

[models.upstream]
kind = "openai"
urls = ["http://${host}/v1"]
max_in_flight = 1
connect_timeout = "${CONNECT_MS}ms"
first_token_timeout = "2s"
${upstream}
`;

const writeStart = (host: string, how: string): string => `health_every = "0s"
[models.upstream.start]
${how}
health = "http://${host}/asleep"
timeout = "2s"
`;

const writeSettings = (host: string): string => `
[limits]
requests_per_minute = 1000000
address_requests_per_minute = 1000000

[agents]
open = true

[egress]
allow = ["${host}"]

[service]
default_model = "stub"

[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }

${writeModel("chat", host, 'health_every = "0s"')}
${writeModel("watched", host, 'health_every = "1s"')}
${writeModel("asked", host, writeStart(host, `request = "POST http://${host}/start"`))}
${writeModel("commanded", host, writeStart(host, 'command = ["/bin/false"]'))}

[embeddings]
kind = "openai"
urls = ["http://${host}/v1"]
connect_timeout = "${CONNECT_MS}ms"
health_every = "0s"

[search]
kind = "searxng"
url = "http://${host}"
connect_timeout = "${CONNECT_MS}ms"
`;

const limited = ["prlimit", `--nofile=${MOST_DESCRIPTORS}:${MOST_DESCRIPTORS}`];

const openStage = async (program: string, host: string): Promise<Stage> => {
  const directory = makeScratch();
  const config = join(directory, "wadi.toml");
  await Bun.write(config, writeSettings(host));
  const at = ["--config", config, "--data", join(directory, "data")];
  const key = await makeKey(program, at, ["agents", "embeddings", "search", "think"]);
  const child = launch([...limited, program, "serve", "--port", "0", ...at]);
  const port = Number(await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/));
  // One connection, made before anything fails: none can be made without descriptors.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = (method: string, path: string, body?: object) =>
    new Promise<Reply>((resolve, reject) => {
      const to = { host: "127.0.0.1", port, method, path, headers, agent, timeout: PATIENCE_MS };
      const sent = request(to, (reply) => {
        const pieces: Buffer[] = [];
        reply.on("data", (piece) => pieces.push(piece));
        reply.on("end", () => {
          resolve({ status: reply.statusCode!, body: Buffer.concat(pieces).toString() });
        });
      });
      sent.on("timeout", () => sent.destroy(new Error("no answer")));
      sent.on("error", reject);
      sent.end(body && JSON.stringify(body));
    });
  return {
    pid: child.pid,
    host,
    exited: child.exited,
    ask,
    async make(path, body) {
      const reply = await ask("POST", path, body);
      if (reply.status > 299) throw new Error(`${path}: ${reply.status} ${reply.body}`);
      return JSON.parse(reply.body);
    },
    async stop() {
      agent.destroy();
      child.kill("SIGTERM");
      await child.exited;
    },
  };
};

/** An error's code, the frame of a stream, or else the status. */
const readCode = ({ status, body }: Reply): string =>
  /"code":\s*"(\w+)"/.exec(body)?.[1] ?? `${status} ${body.slice(0, 80)}`;

const chat = async ({ ask }: Stage, model: string, more: object = {}): Promise<string> => {
  const messages = [{ role: "user", content: "Hello" }];
  const body = { model, messages, max_tokens: 64, ...more };
  return readCode(await ask("POST", "/v1/chat/completions", body));
};

/** A condition becomes true in some turn of a server, within the patience. */
const waitFor = async (read: () => Promise<string | null>): Promise<string> => {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await read();
    if (found !== null) return found;
    if (performance.now() > until) return "nothing in time";
    await Bun.sleep(RETRY_MS);
  }
};

/** Result of a tool call in a run that continues. */
const callTool = async (
  { ask, make }: Stage,
  agent: string,
  name: string,
  fields: object,
): Promise<string> => {
  const script = ["Go.", `!tool ${name} ${JSON.stringify(fields)}`, "!next", "!say Done."];
  const run = await make(`/v1/agents/${agent}/runs`, { input: { message: script.join("\n") } });
  const status = await waitFor(async () => {
    const { status } = JSON.parse((await ask("GET", `/v1/runs/${run.id}`)).body);
    return ["succeeded", "failed", "canceled"].includes(status) ? status : null;
  });
  const steps = (await ask("GET", `/v1/runs/${run.id}/steps`)).body;
  return `${/"outcome":\s*"(\w+)"/.exec(steps)?.[1]}, run ${status}`;
};

const sendWebhook = async ({ ask, make }: Stage, id: string): Promise<string> => {
  const made = await make(`/v1/webhooks/${id}/test`, {});
  return waitFor(async () => {
    const { data } = JSON.parse((await ask("GET", `/v1/webhooks/${id}/deliveries`)).body);
    const one = data.find((delivery: { id: string }) => delivery.id === made.id);
    return one.status === "pending" ? null : one.status;
  });
};

type Way = [path: string, right: RegExp, go: (stage: Stage) => Promise<string>];

const CHAT = /^(upstream_error|upstream_timeout|model_offline)$/;
const OFFLINE = /^(model_offline|upstream_timeout)$/;
const SHARED = /^(service_unavailable|upstream_error|upstream_timeout)$/;
const LONG = "word ".repeat(800);

/** Registers everything before any failure is made. */
const listWays = async ({ host, make }: Stage): Promise<Way[]> => {
  const tool = { name: "call", description: "Calls.", parameters: { type: "object" } };
  const endpoint = `http://${host}/call`;
  await make("/v1/tools", { ...tool, risk: "read", endpoint, timeout_ms: 2_000 });
  const body = { name: "One", system_prompt: "Be brief.", tools: ["call", "read_page"] };
  const { id: agent } = await make("/v1/agents", body);
  const hook = { url: `http://${host}/hook`, events: ["run.completed"] };
  const { id: webhook } = await make("/v1/webhooks", hook);
  const messages = [{ role: "user", content: LONG }];
  return [
    ["chat JSON", CHAT, (stage) => chat(stage, "chat")],
    ["chat SSE", CHAT, (stage) => chat(stage, "chat", { stream: true })],
    ["think", CHAT, (stage) => chat(stage, "chat", { think: true })],
    ["token count", CHAT, (stage) => chat(stage, "chat", { messages })],
    ["health", /^model_offline$/, waitUnhealthy],
    ["embeddings", SHARED, embed],
    ["search", SHARED, search],
    [
      "HTTP tool",
      /^(error|timeout), run succeeded$/,
      (stage) => callTool(stage, agent!, "call", {}),
    ],
    ["webhook", /^failed$/, (stage) => sendWebhook(stage, webhook!)],
    ["read_page", /^(error|timeout), run succeeded$/, (stage) => readPage(stage, agent!)],
    ["start request", OFFLINE, (stage) => chat(stage, "asked")],
    ["start command", OFFLINE, (stage) => chat(stage, "commanded")],
  ];
};

const readPage = (stage: Stage, agent: string): Promise<string> =>
  callTool(stage, agent, "read_page", { url: `http://${stage.host}/page` });

const waitUnhealthy = (stage: Stage): Promise<string> =>
  waitFor(async () => {
    const code = await chat(stage, "watched");
    return code === "model_offline" ? code : null;
  });

const embed = async ({ ask }: Stage): Promise<string> =>
  readCode(await ask("POST", "/v1/embeddings", { model: "bge-m3", input: "Hello" }));

const search = async ({ ask }: Stage): Promise<string> =>
  readCode(await ask("POST", "/v1/search", { query: "Hello" }));

const tryAll = async (program: string, failure: Failure, result: PathsResult): Promise<void> => {
  const stage = await openStage(program, failure.host);
  const ways = await listWays(stage);
  failure.begin?.(stage.pid);
  for (const [path, right, go] of ways) {
    const tried: Tried = { path, failure: failure.name, outcome: "", isRight: true };
    for (let time = 0; time < TIMES && tried.isRight; time++) {
      tried.outcome = await go(stage).catch((error) => `${error}`);
      tried.isRight = right.test(tried.outcome);
    }
    result.tried.push(tried);
    process.stderr.write(`outside: ${failure.name}: ${path}: ${tried.outcome}\n`);
  }
  failure.end?.(stage.pid);
  const last = await stage.ask("GET", "/healthz").catch(() => null);
  const isOver = await Promise.race([
    stage.exited.then(() => true),
    Bun.sleep(0).then(() => false),
  ]);
  if (isOver || last?.status !== 200) result.ended.push(failure.name);
  await stage.stop();
};

const [program, alone] = process.argv.slice(2);
const result: PathsResult = { tried: [], ended: [] };
for (const failure of listFailures(alone !== undefined)) await tryAll(program!, failure, result);
console.log(JSON.stringify(result));
process.exit(0);
