// Fixture for everything that uses runs: a server with agents, and access to its database.
import { Database as Connection } from "bun:sqlite";
import { join } from "node:path";
import { runCaller } from "./caller.ts";
import type { Ask } from "./load.ts";
import { launch, makeKey, makeScratch, readUntil, runWadi } from "./stage.ts";

/** Message of a run that calls two tools and takes three rounds of the stub. */
export const THREE_ROUNDS = [
  "Calculate.",
  '!tool calculator {"expression":"2 + 3"}',
  "!next",
  '!tool calculator {"expression":"5 * 7"}',
  "!next",
  "!say It is 5, and then 35.",
].join("\n");
/** A round that outlives every measurement. */
export const ENDLESS = "Wait.\n!delay 10m\n!say At last.";

export interface RunLimits {
  concurrent_runs: number;
  /** Among the limits. */
  more_limits?: string;
  /** Settings after the limits; the stub alone by default. */
  more?: string;
  /** Address of an empty PostgreSQL database; SQLite by default. */
  database?: string;
  /** Address that several processes on one database share. */
  valkey?: string;
}

const writeSettings = ({
  concurrent_runs,
  more_limits = "",
  more = "",
  database = "",
  valkey,
}: RunLimits): string => `
[server]
database = "${database}"
${valkey ? `valkey = "${valkey}"` : ""}

[limits]
requests_per_minute = 1000000
address_requests_per_minute = 1000000
active_runs = 1000000
daily_runs = 100000000
concurrent_runs = ${concurrent_runs}
${more_limits}

[agents]
open = true

[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools", "streaming"]
price = { prompt = "1.00", completion = "2.00" }
upstream = { kind = "stub" }
${more}`;

/** A data directory with an account and a key; no server has it open. */
export interface RunFixture {
  program: string;
  at: string[];
  file: string;
  key: string;
}

export const makeRunFixture = async (program: string, limits: RunLimits): Promise<RunFixture> => {
  const directory = makeScratch();
  const config = join(directory, "wadi.toml");
  await Bun.write(config, writeSettings(limits));
  const at = ["--config", config, "--data", join(directory, "data")];
  const key = await makeKey(program, at, ["agents"]);
  return { program, at, key, file: join(directory, "data", "wadi.db") };
};

/** One more key of the fixture's account. */
export const addKey = (
  { program, at }: RunFixture,
  scopes: readonly string[] = ["agents"],
): Promise<string> => {
  const flags = scopes.flatMap((scope) => ["--scope", scope]);
  return runWadi([program, "keys", "create", "--account", "caller", ...flags, ...at]);
};

export interface RunServer {
  pid: number;
  port: number;
  key: string;
  ask(method: string, path: string, body?: object, headers?: object): Promise<Response>;
  /** Sends SIGTERM and resolves when the process has exited. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export const serveRuns = async (
  { program, at, key }: Pick<RunFixture, "program" | "at" | "key">,
  verb: readonly string[] = ["serve"],
): Promise<RunServer> => {
  const child = launch([program, ...verb, "--port", "0", ...at]);
  const port = Number(await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/));
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    child.kill(signal);
    await child.exited;
  };
  return {
    pid: child.pid,
    port,
    key,
    ask: (method, path, body, headers) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          ...headers,
        },
        body: body && JSON.stringify(body),
      }),
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
};

/** The reply's body where the status is as expected; else an error with what came instead. */
const read = async <T>(reply: Response, status: number): Promise<T> => {
  const text = await reply.text();
  if (reply.status !== status) throw new Error(`${reply.status} ${text.slice(0, 300)}`);
  return JSON.parse(text) as T;
};

/** A new agent that may calculate; its id. */
export const addAgent = async (server: RunServer, model: string): Promise<string> => {
  const body = { name: `On ${model}`, system_prompt: "Be brief.", model, tools: ["calculator"] };
  return (await read<{ id: string }>(await server.ask("POST", "/v1/agents", body), 201)).id;
};

export const startRun = async (
  server: RunServer,
  agent_id: string,
  message: string,
): Promise<string> => {
  const path = `/v1/agents/${agent_id}/runs`;
  const reply = await server.ask("POST", path, { input: { message } });
  return (await read<{ id: string }>(reply, 202)).id;
};

/** An agent whose endless run holds the only slot: runs that are started later wait. */
export const holdOnlySlot = async (
  server: RunServer,
): Promise<{ agent: string; run_id: string }> => {
  const agent = await addAgent(server, "stub");
  return { agent, run_id: await startRun(server, agent, ENDLESS) };
};

/** A request that starts a run, by Wadi's reply unless another is named. */
export const writeStart = (path: string, piece = '"status":"queued"'): Ask => ({
  ...{ path, piece, pieces_min: 1 },
  bodies: [JSON.stringify({ input: { message: "What is two and three?" } })],
});

interface RunOrder {
  message: string;
  runs: number;
  callers: number;
}

/** Starts many runs by callers at once; throws a wrong reply. */
export const startRuns = async (
  server: RunServer,
  agent_id: string,
  { message, runs, callers }: RunOrder,
): Promise<void> => {
  const body = JSON.stringify({ input: { message } });
  const request = [
    `POST /v1/agents/${agent_id}/runs HTTP/1.1`,
    ...["host: 127.0.0.1", `authorization: Bearer ${server.key}`],
    ...["content-type: application/json", `content-length: ${body.length}`, "", body],
  ].join("\r\n");
  let left = runs;
  const play = () => {
    left--;
    return runCaller({
      ...{ port: server.port, status: 202, isStream: false, piece: '"recoveries":' },
      ...{ write: () => request, leaveAfter: () => Number.POSITIVE_INFINITY },
      ...{ onFirst() {}, onReply: () => left-- > 0 },
    });
  };
  const complaints = await Promise.all(Array.from({ length: callers }, play));
  const complaint = complaints.find((one) => one !== undefined);
  if (complaint !== undefined) throw new Error(complaint);
};

/** Starts many runs, and waits for the last end. */
export const runMany = async (
  fixture: RunFixture,
  server: RunServer,
  agent_id: string,
  order: RunOrder,
): Promise<void> => {
  await startRuns(server, agent_id, order);
  await waitUntil("all runs are over", () => look(fixture, LIVE).length === 0);
};
const LIVE = "SELECT account_id FROM run_counts WHERE active > 0";

/** One row of the database, which a server may have open. */
export const look = <T>(
  { file }: Pick<RunFixture, "file">,
  query: string,
  ...values: string[]
): T[] => {
  using connection = new Connection(file, { readonly: true });
  // A server that starts after a kill reads its log first.
  connection.run("PRAGMA busy_timeout = 1000");
  return connection.query(query).all(...values) as T[];
};

/** Polls until `is` holds; throws after a timeout. */
export const waitUntil = async (
  what: string,
  is: () => boolean | Promise<boolean>,
  limitMs = 60_000,
  everyMs = 5,
): Promise<void> => {
  const until = performance.now() + limitMs;
  while (!(await is())) {
    if (performance.now() > until) throw new Error(`${what}: not within ${limitMs} ms`);
    await Bun.sleep(everyMs);
  }
};
