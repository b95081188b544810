// Runs the compiled program like its users: to its end, or as a server.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { executable } from "../../scripts/build.ts";
import { endRunning, runLine } from "./command-session.ts";

export interface RunOptions {
  /** Added to an environment without variables of Node or Wadi. */
  env?: Record<string, string>;
  /** By default the test's own directory. */
  cwd?: string;
  stdin?: string;
  /** Its input ends when this process does. */
  holdsInput?: boolean;
  command?: readonly string[];
}

export interface TypeOptions extends RunOptions {
  /** Texts to type, one at each prompt `> `. */
  lines?: readonly string[];
}

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Server {
  pid: number;
  url: string;
  /** First key, printed or kept in a file; empty without one. */
  key: string;
  banner: readonly string[];
  logged(text: string): Promise<string>;
  countLogged(text: string): number;
  /** Closes this end of the log, so that later output is not read. */
  stopReading(): Promise<void>;
  signal(name: "SIGTERM" | "SIGINT" | "SIGKILL" | "SIGHUP"): void;
  /** The exit code; null: a signal ended it. */
  exited: Promise<number | null>;
  ask(method: string, path: string, options?: AskOptions): Promise<Response>;
  chat(content: string, options?: AskOptions): Promise<Response>;
}

export interface AskOptions {
  key?: string;
  body?: object;
  signal?: AbortSignal;
}

export interface Talker {
  /** Waits for a line of its output. */
  said(text: string): Promise<string>;
  /** Waits for a line beside its output. */
  told(text: string): Promise<string>;
  signal(name: "SIGTERM" | "SIGINT"): void;
  ended: Promise<Ended>;
  /** Processor time of the command, once it has ended. */
  cpuMs(): number;
}

export interface Room {
  directory: string;
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Runs a command from the source, for a tenth of what a start of the program costs. */
  perform(args: readonly string[], options?: Omit<RunOptions, "command">): Promise<Ended>;
  serve(args: readonly string[], options?: RunOptions): Promise<Server>;
  start(args: readonly string[], options?: RunOptions): Talker;
  /** Output of a start on a terminal, without `\r`; the process is then ended. */
  show(args: readonly string[]): Promise<string>;
  /** Output of a command that ends, on a terminal of that width, without `\r`. */
  type(args: readonly string[], columns: number, options?: TypeOptions): Promise<string>;
  close(): Promise<void>;
}

/**
 * A program that lives for a second starts a third faster without optimized machine code. Without
 * any it could not call libc, so no server could be taken over.
 */
export const QUICK = {
  BUN_JSC_useDFGJIT: "0",
  BUN_JSC_thresholdForJITAfterWarmUp: "3000",
  BUN_JSC_useWarmUpMarkedBlocks: "0",
  BUN_JSC_numberOfGCMarkers: "1",
};

/** Throws when the program has not been built. */
export function openRoom(): Room {
  const program = executable();
  if (!existsSync(program)) throw new Error(`${program} is missing: run npm test, which builds it`);
  const directory = mkdtempSync(join(tmpdir(), "wadi-binary-"));
  const children: Bun.Subprocess[] = [];
  const createEnv = (env: RunOptions["env"]) => ({
    ...{ PATH: process.env.PATH, HOME: directory },
    ...QUICK,
    ...env,
  });
  const spawn = (args: readonly string[], options: RunOptions) => {
    const child = Bun.spawn([...(options.command ?? [program]), ...args], {
      cwd: options.cwd ?? directory,
      env: createEnv(options.env),
      stdio: [options.holdsInput ? "pipe" : new Blob([options.stdin ?? ""]), "pipe", "pipe"],
    });
    children.push(child);
    return child;
  };
  return {
    directory,
    async run(args, options = {}) {
      const child = spawn(args, options);
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return { code: await child.exited, stdout, stderr };
    },
    perform(args, { env, cwd = directory, stdin = "" } = {}) {
      return runLine({ args, cwd, env: createEnv(env), stdin });
    },
    async serve(args, options = {}) {
      const child = spawn(args, options);
      const log = readLog(child.stderr);
      const banner = await readBanner(child.stdout);
      if (banner === undefined) throw new Error(await log.whole);
      const { url, key } = readStart(banner, options.cwd ?? directory);
      const ask: Server["ask"] = (method, path, options = {}) =>
        fetch(`${url}${path}`, {
          method,
          headers: {
            authorization: `Bearer ${options.key ?? key}`,
            "content-type": "application/json",
          },
          body: options.body && JSON.stringify(options.body),
          signal: options.signal,
        });
      return {
        pid: child.pid,
        url,
        key,
        banner,
        logged: log.find,
        countLogged: log.count,
        stopReading: log.stop,
        signal: (name) => child.kill(name),
        exited: child.exited.then(() => child.exitCode),
        ask,
        chat: (content, options = {}) =>
          ask("POST", "/v1/chat/completions", {
            ...options,
            body: { messages: [{ role: "user", content }], ...options.body },
          }),
      };
    },
    start(args, options = {}) {
      const child = spawn(args, options);
      const [stdout, stderr] = [readLog(child.stdout), readLog(child.stderr)];
      const end = async () => {
        const [said, told] = await Promise.all([stdout.whole, stderr.whole]);
        return { code: await child.exited, stdout: said, stderr: told };
      };
      return {
        said: stdout.find,
        told: stderr.find,
        signal: (name) => child.kill(name),
        ended: end(),
        cpuMs: () => Number(child.resourceUsage()!.cpuTime.total) / 1_000,
      };
    },
    async show(args) {
      let shown = "";
      const listens = Promise.withResolvers<void>();
      const child = Bun.spawn([program, ...args], {
        cwd: directory,
        env: createEnv({}),
        terminal: {
          // As wide as the longest line, which would wrap otherwise.
          cols: 400,
          data(_, bytes) {
            shown += Buffer.from(bytes).toString().replaceAll("\r", "");
            if (/^curl .*\n/m.test(shown)) listens.resolve();
          },
        },
      });
      children.push(child);
      await Promise.race([listens.promise, child.exited]);
      child.kill("SIGKILL");
      await child.exited;
      return shown;
    },
    async type(args, columns, options = {}) {
      let shown = "";
      let prompts = 0;
      const { lines = [] } = options;
      const decoder = new TextDecoder();
      const closed = Promise.withResolvers<void>();
      const child = Bun.spawn([...(options.command ?? [program]), ...args], {
        cwd: options.cwd ?? directory,
        env: createEnv({ TERM: "xterm", ...options.env }),
        terminal: {
          cols: columns,
          data(terminal, bytes) {
            shown += decoder.decode(bytes, { stream: true }).replaceAll("\r", "");
            const seen = shown.split(/(?:^|\n)[^\n]*> /).length - 1;
            for (; prompts < Math.min(seen, lines.length); prompts++) {
              terminal.write(lines[prompts]!);
            }
          },
          exit: () => closed.resolve(),
        },
      });
      children.push(child);
      await child.exited;
      await closed.promise;
      return shown;
    },
    async close() {
      await endRunning();
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(children.map((child) => child.exited));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Reads the lines of a start up to a command or a whole JSON; undefined if it ends before. */
async function readBanner(stream: ReadableStream<Uint8Array>): Promise<string[] | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  const reader = stream.getReader();
  while (!/^(curl |\{).*\n/m.test(text)) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text.trimEnd().split("\n");
}

function readStart(banner: readonly string[], cwd: string): { url: string; key: string } {
  const readKey = (file: string) => readFileSync(resolve(cwd, file), "utf8").trim();
  const last = banner.findLast((line) => /^curl |^\{/.test(line))!;
  if (last.startsWith("{")) {
    const { url, keys, key_file } = JSON.parse(last);
    return { url, key: keys[0] ?? (key_file === null ? "" : readKey(key_file)) };
  }
  const url = /^curl (.*?)\/v1\//.exec(last)![1]!;
  const file = /Bearer \$\(cat '(.+?)'\)"/.exec(last)?.[1];
  const key = file === undefined ? /Bearer ([^'$"]+)'/.exec(last)?.[1] : readKey(file);
  return { url, key: key ?? "" };
}

function readLog(stream: ReadableStream<Uint8Array>) {
  let text = "";
  const waiting = new Set<() => void>();
  const reader = stream.getReader();
  const read = async () => {
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
      for (const look of waiting) look();
    }
  };
  const find = (part: string) =>
    new Promise<string>((resolve) => {
      const look = () => {
        const line = text
          .split("\n")
          .slice(0, -1)
          .find((one) => one.includes(part));
        if (line === undefined) return;
        waiting.delete(look);
        resolve(line);
      };
      waiting.add(look);
      look();
    });
  const count = (part: string) => text.split("\n").filter((one) => one.includes(part)).length;
  return { find, count, whole: read(), stop: () => reader.cancel() };
}
