// Servers that share one PostgreSQL and one Valkey, each to be killed or frozen at a fail point.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { type Child, startProgram } from "../../test/support/crash.ts";
import { createEmptyDatabase, dropDatabase } from "../../test/support/postgres.ts";
import { type Endpoint, openEndpoint } from "../../test/support/receiver.ts";
import { startValkey } from "../../test/support/valkey.ts";
import { openWebhookReceiver, type WebhookReceiver } from "../../test/support/webhook-receiver.ts";
import { makeScratch, runWadi } from "../bench/stage.ts";

export const HOOKS = 2;
export const TRIGGERS = 2;
const LOOK_EVERY_MS = 20;
const TRIAL_MS_MAX = 90_000;

export interface StageServer {
  child: Child;
  /** Its log is read from the start: a full pipe would stop it. */
  ended: Child["ended"];
  /** False where it met its fail point before it listened. */
  hasStarted: boolean;
  /** Undefined where the server is frozen or gone before its answer. */
  ask(method: string, path: string, body?: object, headers?: object): Promise<Answer | undefined>;
}

export interface Answer {
  status: number;
  text: string;
}

export interface StageOrder {
  /** Address of a PostgreSQL server, on which a database is made. */
  postgres: string;
  /** Program in the place of the test build, which has no fail points. */
  program?: string;
}

interface ServeOrder {
  program?: string | undefined;
  env?: Record<string, string>;
}

export interface ProcessStage {
  sql: SQL;
  calls: Endpoint;
  hooks: WebhookReceiver;
  agents: { payer: string; asker: string };
  /** Headers of a key that may decide approvals. */
  approver: object;
  survivor: StageServer;
  /** Returns once it listens, or has met its fail point. */
  serve(failPoint?: string, order?: ServeOrder): Promise<StageServer>;
  count(from: string): Promise<number>;
  close(): Promise<void>;
}

const writeSettings = (database: string, valkey: string, hosts: readonly string[]) => `
[server]
port = 0
database = "${database}"
valkey = "${valkey}"

[limits]
requests_per_minute = 1000000
address_requests_per_minute = 1000000
concurrent_runs = 3
active_runs = 100000
daily_runs = 1000000
triggers = 10000

[agents]
open = true

[egress]
allow = [${hosts.map((host) => `"${host}"`)}]

[[models]]
id = "stub"
self_hosted = true
capabilities = ["tools", "streaming"]
price = { prompt = "1.00", completion = "2.00" }
upstream = { kind = "stub" }
`;

const readState = async ({ pid }: Child): Promise<string> => {
  const stat = await Bun.file(`/proc/${pid}/stat`)
    .text()
    .catch(() => ") X ");
  return stat.slice(stat.lastIndexOf(")") + 2)[0]!;
};
export const isFrozen = async (child: Child) => (await readState(child)) === "T";
export const isGone = async (child: Child) => "XZ".includes(await readState(child));
const isAway = async (child: Child) => (await isFrozen(child)) || (await isGone(child));

/** Looks again and again; throws where it does not hold in time. */
export const until = async (
  what: string,
  holds: () => Promise<boolean>,
  withinMs = TRIAL_MS_MAX,
  everyMs = LOOK_EVERY_MS,
): Promise<void> => {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${withinMs} ms`);
    await Bun.sleep(everyMs);
  }
};

/** The first of an answer and of the end of a process. */
const unlessAway = async <T>(child: Child, answer: Promise<T>): Promise<T | undefined> => {
  let isOver = false;
  const away = async () => {
    while (!isOver && !(await isAway(child))) await Bun.sleep(LOOK_EVERY_MS);
    return undefined;
  };
  try {
    return await Promise.race([answer.catch(() => undefined), away()]);
  } finally {
    isOver = true;
  }
};

export const openProcessStage = async (order: StageOrder): Promise<ProcessStage> => {
  const root = makeScratch();
  const url = await createEmptyDatabase(order.postgres);
  const sql = new SQL({ url, max: 2 });
  const valkey = await startValkey();
  const [calls, hooks] = [openEndpoint(), openWebhookReceiver()];
  const settings = writeSettings(url, valkey.url, [calls.host, hooks.host]);
  const killAll = () => {
    for (const { child } of children) child.kill();
  };
  process.on("exit", killAll);
  const children: Pick<StageServer, "child" | "ended">[] = [];
  const keys = { starter: "", approver: "" };
  const serve: ProcessStage["serve"] = async (failPoint = "", more = {}) => {
    const data = join(root, String(children.length));
    mkdirSync(data);
    const config = join(data, "wadi.toml");
    const secrets = `secrets_key_file = "${join(root, "secrets.key")}"`;
    writeFileSync(config, settings.replace("port = 0", `port = 0\n${secrets}`));
    const args = ["serve", "--json", "--config", config, "--data", data];
    const child = startProgram(args, failPoint, more.env, more.program ?? order.program);
    const { ended } = child;
    children.push({ child, ended });
    const listening = listen(child);
    // It may meet its point before it listens.
    const started = await unlessAway(child, listening);
    if (started?.key_file) keys.starter = readFileSync(started.key_file, "utf8").trim();
    const send = async (method: string, path: string, body?: object, headers?: object) => {
      const reply = await fetch(`${(await listening).url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${keys.starter}`,
          "content-type": "application/json",
          ...headers,
        },
        body: body && JSON.stringify(body),
      });
      return { status: reply.status, text: await reply.text() };
    };
    return {
      child,
      ended,
      hasStarted: started !== undefined,
      ask: (...request) => unlessAway(child, send(...request)),
    };
  };
  const survivor = await serve();
  const scopes = ["agents", "agents.approve"].flatMap((scope) => ["--scope", scope]);
  const at = ["--config", join(root, "0", "wadi.toml"), "--data", join(root, "0")];
  const made = [survivor.child.program, "keys", "create", "--account", "default", ...scopes, ...at];
  keys.approver = (await runWadi(made)).split("\n").at(-1)!;
  const agents = await prepare(survivor, calls.host, hooks.host);
  return {
    ...{ sql, calls, hooks, agents, survivor, serve },
    approver: { authorization: `Bearer ${keys.approver}` },
    count: async (from) => (await sql.unsafe(`SELECT COUNT(*)::int AS n FROM ${from}`))[0].n,
    async close() {
      killAll();
      process.off("exit", killAll);
      await Promise.all(children.map(({ ended }) => ended));
      await Promise.all([calls, hooks].map((one) => one[Symbol.asyncDispose]()));
      await valkey.stop();
      await sql.close();
      await dropDatabase(order.postgres, url);
      rmSync(root, { recursive: true, force: true });
    },
  };
};

const create = async (server: StageServer, path: string, body: object): Promise<string> => {
  let { status, text } = (await server.ask("POST", path, body))!;
  // After a death the counters are undecided for a moment.
  while (status === 429) {
    await Bun.sleep(LOOK_EVERY_MS);
    ({ status, text } = (await server.ask("POST", path, body))!);
  }
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text).id;
};

/** Fires once a day; its creation wakes the scheduler of every server. */
export const createTrigger = (server: StageServer, agent_id: string, name: string) =>
  create(server, "/v1/triggers", {
    ...{ agent_id, name, kind: "cron", cron: "0 0 * * *", time_zone: "UTC" },
    catch_up_seconds: 86_400,
    input: { message: "!say Done." },
  });

const listen = async (child: Child): Promise<{ url: string; key_file: string | null }> => {
  const line = await child.next();
  if (line === undefined) throw new Error("a server has ended before it listened");
  return JSON.parse(line);
};

const prepare = async (server: StageServer, calls: string, hooks: string) => {
  for (const [name, idempotent] of [
    ["pay", false],
    ["keyed", true],
  ] as const) {
    await create(server, "/v1/tools", {
      ...{ name, idempotent, description: name, risk: "write", external_content: false },
      ...{ parameters: { type: "object" }, endpoint: `http://${calls}/${name}` },
    });
  }
  for (let n = 0; n < HOOKS; n++) {
    const events = ["run.completed", "run.failed", "trigger.fired"];
    await create(server, "/v1/webhooks", { url: `http://${hooks}/${n}`, events });
  }
  const agent = (name: string, policy: object) =>
    create(server, "/v1/agents", {
      ...{ name, system_prompt: "Be brief.", tools: ["pay", "keyed"] },
      policy: { on_unknown_outcome: "report", ...policy },
    });
  return {
    payer: await agent("payer", { unattended_writes: true }),
    asker: await agent("asker", { require_approval: ["pay"] }),
  };
};
