// Other systems, installed from their registries outside the checkout, and started for a bench.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Child, findFreePort, launch, makeScratch, readUntil } from "../stage.ts";

const PYTHON_PACKAGES = { sglang: "sglang-router==0.3.2", smg: "smg==1.13.0" };
const NODE_PACKAGES = [
  "@restatedev/restate-server@1.7.12",
  "@restatedev/restate-sdk@1.17.2",
  "graphile-worker@0.18.0",
  "@dbos-inc/dbos-sdk@5.3.0",
];

/** Directory in which the others are installed once. */
const directory = process.env.WADI_BENCH_PEERS ?? join(homedir(), ".cache/wadi-bench-peers");
const modules = join(directory, "node");

export interface Peer {
  pid: number;
  port: number;
  stop(): Promise<void>;
}

const runToEnd = (command: string[], cwd = directory): void => {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd, stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString().slice(-500)}`);
};

/** Returns the Python of an environment that holds one package. */
const installPython = (name: keyof typeof PYTHON_PACKAGES): string => {
  const python = join(directory, name, "bin/python");
  if (existsSync(`${python}.ready`)) return python;
  mkdirSync(directory, { recursive: true });
  runToEnd(["python3", "-m", "venv", "--clear", name]);
  runToEnd([python, "-m", "pip", "install", "--quiet", PYTHON_PACKAGES[name]]);
  writeFileSync(`${python}.ready`, "");
  return python;
};

const installNode = (): string => {
  if (existsSync(join(modules, "ready"))) return modules;
  mkdirSync(modules, { recursive: true });
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", modules];
  runToEnd(["npm", "install", ...flags, ...NODE_PACKAGES], modules);
  writeFileSync(join(modules, "ready"), "");
  return modules;
};

const CHAT = JSON.stringify({ model: "mock", messages: [{ role: "user", content: "Hello" }] });
const READY_TRIES_MAX = 300;
const READY_EVERY_MS = 200;

const waitFor = async (what: string, isReady: () => Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < READY_TRIES_MAX; tries++) {
    if (await isReady().catch(() => false)) return;
    await Bun.sleep(READY_EVERY_MS);
  }
  throw new Error(`${what} was not ready in time`);
};

const endOf = (child: Child) => async () => {
  child.kill("SIGKILL");
  await child.exited;
};

const discard = async (stream: ReadableStream<Uint8Array>) => {
  for await (const _ of stream);
};

const startGateway = async (command: string[], port: number): Promise<Peer> => {
  const child = launch(command);
  void discard(child.stdout);
  const headers = { "content-type": "application/json" };
  await waitFor(command[0]!, async () => {
    const url = `http://127.0.0.1:${port}/v1/chat/completions`;
    const reply = await fetch(url, { method: "POST", headers, body: CHAT });
    await reply.text();
    return reply.status === 200;
  });
  return { pid: child.pid, port, stop: endOf(child) };
};

const startRouter = async (command: string[], upstream: number): Promise<Peer> => {
  const [port, metrics] = [await findFreePort(), await findFreePort()];
  const flags = ["--worker-urls", `http://127.0.0.1:${upstream}`, "--host", "127.0.0.1"];
  flags.push("--port", `${port}`, "--prometheus-port", `${metrics}`, "--log-level", "warn");
  return startGateway([...command, ...flags, "--policy", "round_robin"], port);
};

const writeNginx = (upstream: number, port: number, at: string) => `
daemon off; master_process off; pid ${at}/pid; error_log ${at}/error.log;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path ${at}/body; proxy_temp_path ${at}/proxy; fastcgi_temp_path ${at}/fastcgi;
  uwsgi_temp_path ${at}/uwsgi; scgi_temp_path ${at}/scgi;
  upstream models { server 127.0.0.1:${upstream}; keepalive 2048; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://models; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}`;

const startNginx = async (upstream: number): Promise<Peer> => {
  const [port, at] = [await findFreePort(), makeScratch()];
  const file = join(at, "nginx.conf");
  await Bun.write(file, writeNginx(upstream, port, at));
  return startGateway(["nginx", "-p", at, "-c", file], port);
};

/** Starts each gateway before the mock `upstream`. */
export const GATEWAYS: Record<string, (upstream: number) => Promise<Peer>> = {
  "SGLang router": (upstream) =>
    startRouter([installPython("sglang"), "-m", "sglang_router.launch_router"], upstream),
  smg: (upstream) => startRouter([installPython("smg"), "-m", "smg", "launch"], upstream),
  nginx: startNginx,
};

/** Runs of three rounds and two calls on another system; CPU of all its processes is counted. */
export interface DurablePeer {
  pids: number[];
  /** Port of a peer that is asked over HTTP. */
  port?: number;
  /** Seconds from the first start to the last end. */
  run(runs: number, callers: number): Promise<number>;
  stop(): Promise<void>;
}

/** A service of ours on the other system, which reads orders line by line and answers each. */
const startService = async (
  command: string[],
  env: Record<string, string> = {},
): Promise<DurablePeer> => {
  const child = Bun.spawn(command, {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const lines = readLines(child.stdout);
  await nextLine(lines, /^ready/);
  return {
    pids: [child.pid],
    async run(runs, callers) {
      child.stdin.write(`${JSON.stringify({ runs, callers })}\n`);
      await child.stdin.flush();
      return (JSON.parse(await nextLine(lines, /^\{/)) as { seconds: number }).seconds;
    },
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
};

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop()!;
    yield* lines;
  }
}

const nextLine = async (
  lines: AsyncGenerator<string, undefined>,
  pattern: RegExp,
): Promise<string> => {
  for (;;) {
    const { value, done } = await lines.next();
    if (done || value === undefined) throw new Error("a service of a peer ended");
    if (pattern.test(value)) return value;
  }
};

const service = (name: string) => join(import.meta.dir, `${name}.mjs`);

export const startFloor = (): Promise<DurablePeer> =>
  startService([process.execPath, service("floor")], { FLOOR_FILE: join(makeScratch(), "db") });

export const startRestate = async (): Promise<DurablePeer> => {
  const at = installNode();
  const [ingress, admin, node] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const port = await findFreePort();
  const child = launch(["node", service("restate"), at, `${port}`]);
  const counter = await readUntil(child, /^ready (\d+)$/m);
  const platform = `${process.platform}-${process.arch}`;
  const program = `node_modules/@restatedev/restate-server-${platform}/bin/restate-server`;
  const flags = ["--base-dir", makeScratch(), "--node-name", "bench"];
  const server = launch([join(at, program), ...flags], {
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
    RESTATE_LOG_FILTER: "error",
  });
  void discard(server.stdout);
  await waitFor("Restate", async () => {
    const body = JSON.stringify({ uri: `http://127.0.0.1:${port}` });
    const headers = { "content-type": "application/json" };
    const url = `http://127.0.0.1:${admin}/deployments`;
    return (await fetch(url, { method: "POST", headers, body })).ok;
  });
  const count = async () => Number(await (await fetch(`http://127.0.0.1:${counter}`)).text());
  return {
    pids: [server.pid, child.pid],
    port: ingress,
    run: (runs, callers) => runOnRestate(ingress, count, runs, callers),
    async stop() {
      await endOf(server)();
      await endOf(child)();
    },
  };
};

const runOnRestate = async (
  port: number,
  count: () => Promise<number>,
  runs: number,
  callers: number,
): Promise<number> => {
  const before = await count();
  const started_at = performance.now();
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ message: "Calculate." });
  let left = runs;
  const start = async () => {
    while (left-- > 0) {
      const url = `http://127.0.0.1:${port}/agent/run/send`;
      const reply = await fetch(url, { method: "POST", headers, body });
      await reply.text();
      if (reply.status !== 202) throw new Error(`Restate answered ${reply.status}`);
    }
  };
  await Promise.all(Array.from({ length: callers }, start));
  await waitFor("the last run on Restate", async () => (await count()) - before >= runs);
  return (performance.now() - started_at) / 1000;
};

/** Peers that keep their runs in PostgreSQL, each in a database of its own. */
export const startOnPostgres = async (
  name: "graphile" | "dbos",
  postgres: string,
): Promise<DurablePeer> => {
  const database = `wadi_bench_${name}`;
  const admin = new Bun.SQL(postgres, { max: 1 });
  await admin.unsafe(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  await admin.unsafe(`CREATE DATABASE ${database}`);
  await admin.close();
  const url = new URL(postgres);
  url.pathname = `/${database}`;
  return startService(["node", service(name), installNode(), url.href]);
};
