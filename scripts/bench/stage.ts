// The processes that a measurement needs, each on its own and on loopback only; all of them end with it.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile, executable, isStale } from "../build.ts";
import type { Measured, Order } from "./load.ts";
import type { MockStats } from "./mock-upstream.ts";

export interface Process {
  pid: number;
  port: number;
  /** Sends SIGTERM; resolves when the process has exited. */
  stop(): Promise<void>;
}

const endings = new Set<() => void>();
process.on("exit", () => {
  for (const end of endings) end();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

/** A new directory, deleted when this process exits. */
export const makeScratch = (): string => {
  const path = mkdtempSync(join(tmpdir(), "wadi-bench-"));
  endings.add(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

export interface Child {
  pid: number;
  stdout: ReadableStream<Uint8Array>;
  exited: Promise<number>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  /** The end of what it wrote to stderr, which explains a failure. */
  complaint(): string;
}

/** Starts a program and kills it, at the latest, when this process ends. */
export const launch = (command: string[], env: Record<string, string> = {}): Child => {
  const child = Bun.spawn(command, {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const kill = () => child.kill("SIGKILL");
  endings.add(kill);
  void child.exited.then(() => endings.delete(kill));
  let tail = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of child.stderr) tail = (tail + decoder.decode(bytes)).slice(-2_000);
  })();
  return {
    pid: child.pid,
    stdout: child.stdout,
    exited: child.exited,
    kill: (signal) => child.kill(signal),
    complaint: () => tail,
  };
};

/** Reads a child's output until `pattern` matches; throws when it ends before. */
export const readUntil = async (child: Child, pattern: RegExp): Promise<string> => {
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  for (let text = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`it ended before it was ready: ${text}${child.complaint()}`);
    text += decoder.decode(value, { stream: true });
    const found = pattern.exec(text);
    if (!found) continue;
    // A full pipe would stop the program.
    void (async () => {
      while (!(await reader.read()).done);
    })();
    return found[1]!;
  }
};

const start = async (command: string[], env?: Record<string, string>): Promise<Process> => {
  const child = launch(command, env);
  const port = Number(await readUntil(child, /http:\/\/127\.0\.0\.1:(\d+)/));
  return {
    pid: child.pid,
    port,
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
};

export interface Mock extends Process {
  stats(): Promise<MockStats>;
}

export const startMock = async (): Promise<Mock> => {
  const mock = await start([process.execPath, join(import.meta.dir, "mock-upstream.ts")]);
  const stats = async () =>
    (await fetch(`http://127.0.0.1:${mock.port}/stats`, { keepalive: false })).json();
  return { ...mock, stats: stats as () => Promise<MockStats> };
};

/** Takes webhooks, or does not: see its file. */
export const startReceiver = (): Promise<Process> =>
  start([process.execPath, join(import.meta.dir, "webhook-receiver.ts")]);

/** Compiles the bare pass-through as the program itself is compiled; returns its path. */
export const buildBare = async (directory: string): Promise<string> => {
  const outfile = join(directory, "bare");
  await Bun.build({
    entrypoints: [Bun.fileURLToPath(new URL("./bare.ts", import.meta.url))],
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
    minify: true,
    bytecode: true,
    format: "esm",
  });
  return outfile;
};

export const startBare = (program: string, mock: Process): Promise<Process> =>
  // Bun's own limit would let only 256 requests out at once; the program lifts it by itself.
  start([program, `http://127.0.0.1:${mock.port}`], { BUN_CONFIG_MAX_HTTP_REQUESTS: "65535" });

/** The executable under dist/, rebuilt if a source is newer. */
export const buildWadi = async (): Promise<string> => (isStale() ? await compile() : executable());

/** Runs a verb of the command line to its end; its output. */
export const runWadi = async (command: string[]): Promise<string> => {
  const child = launch(command);
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${child.complaint()}`);
  return text.trim();
};

export interface Wadi extends Process {
  key: string;
}

export interface Furniture {
  /** Lines after the mock's model in the settings. */
  more?: string;
  /** Scopes of the key. */
  scopes?: readonly string[];
  /** Flags of `accounts limit` for the key's account. */
  limits?: readonly string[];
}

/** A data directory with an account and a key, and settings with the mock as the default model. */
const furnish = async (
  program: string,
  directory: string,
  mock: Process,
  { more = "", scopes = [], limits = [] }: Furniture,
) => {
  const config = join(directory, "wadi.toml");
  await Bun.write(
    config,
    `
[limits]
requests_per_minute = 1000000

[[models]]
id = "mock"
self_hosted = true
capabilities = ["tools", "streaming"]

[models.upstream]
kind = "openai"
urls = ["http://127.0.0.1:${mock.port}/v1"]
${more}`,
  );
  const at = ["--config", config, "--data", join(directory, "data")];
  const key = await makeKey(program, at, scopes);
  if (limits.length > 0) await runWadi([program, "accounts", "limit", "caller", ...limits, ...at]);
  return { at, key };
};

/** The key of a new account; `at` are the flags that name the settings and the data. */
export const makeKey = async (
  program: string,
  at: readonly string[],
  scopes: readonly string[] = [],
): Promise<string> => {
  await runWadi([program, "accounts", "create", "caller", ...at]);
  const flags = scopes.flatMap((scope) => ["--scope", scope]);
  return runWadi([program, "keys", "create", "--account", "caller", ...flags, ...at]);
};

/** `more` follows the mock's model in the settings. */
export const startWadi = async (program: string, mock: Process, more = ""): Promise<Wadi> =>
  (await prepareWadi(program, mock, { more }))();

/** All but the start, which may be done again and again. */
export const prepareWadi = async (
  program: string,
  mock: Process,
  furniture: Furniture,
): Promise<() => Promise<Wadi>> => {
  const { at, key } = await furnish(program, makeScratch(), mock, furniture);
  return async () => ({ ...(await start([program, "serve", "--port", "0", ...at])), key });
};

export interface Load {
  run(order: Order): Promise<Measured>;
  stop(): Promise<void>;
}

export const startLoad = (): Load => {
  let answer: ((measured: Measured) => void) | undefined;
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "load.ts")], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (message: Measured) => answer?.(message),
  });
  const kill = () => child.kill("SIGKILL");
  endings.add(kill);
  return {
    run(order) {
      const { promise, resolve, reject } = Promise.withResolvers<Measured>();
      answer = resolve;
      void child.exited.then(() => reject(new Error("the load process ended")));
      child.send(order);
      return promise;
    },
    async stop() {
      child.kill();
      await child.exited;
      endings.delete(kill);
    },
  };
};

/** A port of loopback that was free a moment ago. */
export const findFreePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== "object" || address === null) throw new Error("no port is free");
  return address.port;
};
