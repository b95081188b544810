// The ground of what fires and is told: accounts with agents, triggers and endpoints, and a server
// whose clock may stand wherever it is wanted.
import { join } from "node:path";
import { type RunServer, serveRuns } from "../bench/run-ground.ts";
import { launch, makeScratch, runWadi } from "../bench/stage.ts";
import { findLastEvent, type Subscription } from "./event-judge.ts";
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

/** Without a message of its own a run is told the instant for which it was fired. */
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
  // Its runs take turns on a thread: what comes meanwhile is limited, and sent again.
  { name: "thread", overlap: "allow", input: SLOW },
];

export interface Hook {
  id: string;
  path: string;
  secret: string;
}

export interface EventAccount {
  key: string;
  /** Of another who decides. */
  approver: string;
  agent: string;
  hooks: Hook[];
  /** Of either kind. */
  triggers: string[];
}

export interface EventGround {
  program: string;
  at: string[];
  file: string;
  receiver: EventReceiver;
  /** What the clock showed at first. */
  begun_at: number;
  accounts: EventAccount[];
  subscriptions: Subscription[];
}

export interface EventServer extends RunServer {
  /** What its wall clock shows. */
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

/** A server whose clock begins at `wall_ms`. */
export const serveAt = async (
  ground: Pick<EventGround, "program" | "at">,
  wall_ms: number,
): Promise<EventServer> => {
  const begun_at = performance.now();
  const server = await serveRuns({ ...ground, key: "" }, listVerb(wall_ms));
  return { ...server, now: () => wall_ms + performance.now() - begun_at };
};

/** One that dies while it starts. */
export const dieAtStart = async (
  { program, at }: Pick<EventGround, "program" | "at">,
  wall_ms: number,
  after_ms: number,
): Promise<void> => {
  const child = launch([program, ...listVerb(wall_ms), "--port", "0", ...at]);
  await Bun.sleep(after_ms);
  child.kill("SIGKILL");
  await child.exited;
};

const listVerb = (wall_ms: number) => ["dev", "--now", new Date(wall_ms).toISOString()];

export type Asked = Record<string, unknown> & { id: string; secret: string };

/** Throws unless it is answered with a 2xx. */
export const ask = async (
  server: RunServer,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<Asked> => {
  const reply = await server.ask(method, path, body, { authorization: `Bearer ${key}` });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return text === "" ? ({} as Asked) : JSON.parse(text);
};

/** Accounts that nothing has happened to, before the clock shows `wall_ms`. */
export const makeEventGround = async (program: string, wall_ms: number): Promise<EventGround> => {
  const receiver = await openEventReceiver();
  const directory = makeScratch();
  const config = join(directory, "wadi.toml");
  await Bun.write(config, writeSettings(receiver.host));
  const at = ["--config", config, "--data", join(directory, "data")];
  const server = await serveAt({ program, at }, wall_ms);
  const ground: EventGround = {
    ...{ program, at, receiver, file: join(directory, "data", "wadi.db") },
    ...{ begun_at: wall_ms, accounts: [], subscriptions: [] },
  };
  for (const [n, name] of ACCOUNTS.entries()) await addAccount(ground, server, name, MORE[n]!);
  await server.stop();
  return ground;
};

const addAccount = async (
  ground: EventGround,
  server: RunServer,
  name: string,
  more: readonly (keyof typeof EVENTS)[],
): Promise<void> => {
  const { program, at } = ground;
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
  // Endpoints first: what any trigger does is told to all of them.
  for (const selected of ["all", ...more] as const) {
    const endpoint = `${name}-${selected}`;
    const events = selected === "all" ? ALL_EVENTS : EVENTS[selected];
    await subscribe(ground, { server, key, endpoint, events });
  }
  const hooks: Hook[] = [];
  const triggers: string[] = [];
  for (const hook of HOOKS) {
    const thread_id = hook.name === "thread" ? (run.thread_id as string) : null;
    const wish = { ...hook, agent_id: agent, kind: "webhook", thread_id };
    const { id, hook_path, secret } = await create("/v1/triggers", wish);
    hooks.push({ id, path: hook_path as string, secret });
    triggers.push(id);
  }
  for (const cron of CRONS) {
    const made = await create("/v1/triggers", { ...cron, agent_id: agent, kind: "cron" });
    triggers.push(made.id);
  }
  ground.accounts.push({ key, approver, agent, hooks, triggers });
};

export interface Wish {
  server: RunServer;
  key: string;
  /** Its name. */
  endpoint: string;
  events: readonly string[];
}

/** An endpoint of the ground's receiver, which from now on is judged. */
export const subscribe = async (
  { file, receiver, subscriptions }: EventGround,
  { server, key, endpoint, events }: Wish,
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
