// The fixture of the events proof: accounts with agents, triggers and endpoints, and a server with
// an adjustable clock.
import { join } from "node:path";
import { type RunServer, serveRuns } from "../bench/run-fixture.ts";
import { launch, makeScratch, runWadi } from "../bench/stage.ts";
import { findLastEvent, type Subscription } from "./event-check.ts";
import { type EventReceiver, openEventReceiver } from "./event-receiver.ts";

const ACCOUNTS = ["first", "second", "third"];
const EVENTS = {
  runs: ["run.completed", "run.failed"],
  approvals: ["approval.requested", "approval.decided"],
  fires: ["trigger.fired"],
};
export const ALL_EVENTS: readonly string[] = Object.values(EVENTS).flat();
/** Beside the one that each account has, and which selects all. */
const MORE = [["runs", "fires"], ["approvals"], []] as const;

const CALL = '!tool calculator {"expression":"2 + 3"}';
const write = (...lines: string[]) => ({ message: lines.join("\n") });
const ASKING = write("Work.", CALL, "!next", "!say Done.");
const FAILING = write("Fail.", "!error invalid_request");
const SLOW = write("Work.", "!delay 40ms", "!say Done.");

/** Without a message of its own a trigger sends the instant of the fire. */
const CRONS = [
  { name: "each minute", cron: "* * * * *", overlap: "allow", catch_up_seconds: 3_600 },
  { name: "on time only", cron: "* * * * *", catch_up_seconds: 0 },
  { name: "asking", cron: "* * * * *", catch_up_seconds: 300, input: ASKING },
  { name: "failing", cron: "*/5 * * * *", overlap: "allow", catch_up_seconds: 600, input: FAILING },
  { name: "seldom", cron: "*/10 * * * *", catch_up_seconds: 120 },
];
const HOOKS = [
  { name: "any", overlap: "allow" },
  { name: "one", overlap: "skip", input: SLOW },
  // Its runs share a thread: fires during a run are limited, and sent again.
  { name: "thread", overlap: "allow", input: SLOW },
];

export interface Hook {
  id: string;
  path: string;
  secret: string;
}

export interface EventAccount {
  key: string;
  /** Key of another caller, which decides. */
  approver: string;
  agent: string;
  hooks: Hook[];
  /** Triggers of both kinds. */
  triggers: string[];
}

export interface EventFixture {
  program: string;
  at: string[];
  file: string;
  receiver: EventReceiver;
  /** Wall clock at the start. */
  begun_at: number;
  accounts: EventAccount[];
  subscriptions: Subscription[];
}

export interface EventServer extends RunServer {
  /** The server's wall clock. */
  now(): number;
}

const writeSettings = (host: string): string => `
[limits]
requests_per_minute = 1000000
address_requests_per_minute = 1000000
hook_requests_per_minute = 1000000
waiting_deliveries = 10000000
endpoints = 1000
active_runs = 1000000
daily_runs = 100000000

[agents]
open = true

[egress]
allow = ["${host}"]

[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools", "streaming"]
price = { prompt = "1.00", completion = "2.00" }
upstream = { kind = "stub" }
`;

/** Starts a server whose clock begins at `wall_ms`. */
export const serveAt = async (
  fixture: Pick<EventFixture, "program" | "at">,
  wall_ms: number,
): Promise<EventServer> => {
  const begun_at = performance.now();
  const server = await serveRuns({ ...fixture, key: "" }, listVerb(wall_ms));
  return { ...server, now: () => wall_ms + performance.now() - begun_at };
};

/** One that dies while it starts. */
export const dieAtStart = async (
  { program, at }: Pick<EventFixture, "program" | "at">,
  wall_ms: number,
  after_ms: number,
): Promise<void> => {
  const child = launch([program, ...listVerb(wall_ms), "--port", "0", ...at]);
  await Bun.sleep(after_ms);
  child.kill("SIGKILL");
  await child.exited;
};

const listVerb = (wall_ms: number) => ["dev", "--now", new Date(wall_ms).toISOString()];

export type Created = Record<string, unknown> & { id: string; secret: string };

/** Throws unless it is answered with a 2xx. */
export const ask = async (
  server: RunServer,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<Created> => {
  const reply = await server.ask(method, path, body, { authorization: `Bearer ${key}` });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return text === "" ? ({} as Created) : JSON.parse(text);
};

/** Accounts that nothing has happened to, before the clock shows `wall_ms`. */
export const makeEventFixture = async (program: string, wall_ms: number): Promise<EventFixture> => {
  const receiver = await openEventReceiver();
  const directory = makeScratch();
  const config = join(directory, "wadi.toml");
  await Bun.write(config, writeSettings(receiver.host));
  const at = ["--config", config, "--data", join(directory, "data")];
  const server = await serveAt({ program, at }, wall_ms);
  const fixture: EventFixture = {
    ...{ program, at, receiver, file: join(directory, "data", "wadi.db") },
    ...{ begun_at: wall_ms, accounts: [], subscriptions: [] },
  };
  for (const [n, name] of ACCOUNTS.entries()) await addAccount(fixture, server, name, MORE[n]!);
  await server.stop();
  return fixture;
};

const addAccount = async (
  fixture: EventFixture,
  server: RunServer,
  name: string,
  more: readonly (keyof typeof EVENTS)[],
): Promise<void> => {
  const { program, at } = fixture;
  await runWadi([program, "accounts", "create", name, ...at]);
  const makeKey = (...scopes: string[]) => {
    const flags = scopes.flatMap((scope) => ["--scope", scope]);
    return runWadi([program, "keys", "create", "--account", name, ...flags, ...at]);
  };
  const key = await makeKey("agents");
  const approver = await makeKey("agents", "agents.approve");
  const create = (path: string, body: object) => ask(server, key, "POST", path, body);
  const policy = { require_approval: ["calculator"], approval_ttl_seconds: 600 };
  const about = { name, system_prompt: "Be brief.", tools: ["calculator"], policy };
  const { id: agent } = await create("/v1/agents", about);
  const run = await create(`/v1/agents/${agent}/runs`, { input: { message: "Hello" } });
  // Endpoints first: they receive every event of the triggers.
  for (const selected of ["all", ...more] as const) {
    const endpoint = `${name}-${selected}`;
    const events = selected === "all" ? ALL_EVENTS : EVENTS[selected];
    await subscribe(fixture, { server, key, endpoint, events });
  }
  const hooks: Hook[] = [];
  const triggers: string[] = [];
  for (const hook of HOOKS) {
    const thread_id = hook.name === "thread" ? (run.thread_id as string) : null;
    const request = { ...hook, agent_id: agent, kind: "webhook", thread_id };
    const { id, hook_path, secret } = await create("/v1/triggers", request);
    hooks.push({ id, path: hook_path as string, secret });
    triggers.push(id);
  }
  for (const cron of CRONS) {
    const made = await create("/v1/triggers", { ...cron, agent_id: agent, kind: "cron" });
    triggers.push(made.id);
  }
  fixture.accounts.push({ key, approver, agent, hooks, triggers });
};

export interface EndpointRequest {
  server: RunServer;
  key: string;
  /** Name of the endpoint. */
  endpoint: string;
  events: readonly string[];
}

/** Creates an endpoint of the fixture's receiver, whose deliveries are checked from now on. */
export const subscribe = async (
  { file, receiver, subscriptions }: EventFixture,
  { server, key, endpoint, events }: EndpointRequest,
): Promise<Subscription> => {
  const none_until = findLastEvent(file);
  const body = { url: `http://${receiver.host}/${endpoint}`, events };
  const { id, secret } = await ask(server, key, "POST", "/v1/webhooks", body);
  receiver.know(endpoint, secret);
  const all_after = findLastEvent(file);
  const subscription = { id, key, endpoint, none_until, all_after, gaps: [] };
  subscriptions.push(subscription);
  return subscription;
};
