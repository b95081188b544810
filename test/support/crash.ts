// Processes that crash or hold locks on purpose: started, watched by their output, killed.
import { randomUUID } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executable } from "../../scripts/build.ts";
import { QUICK } from "./binary.ts";

export interface Child {
  pid: number;
  /** The command's first word. */
  program: string;
  next(): Promise<string | undefined>;
  send(line: string): void;
  kill(): void;
  terminate(): void;
  /** Continues a process that has frozen itself. */
  wake(): void;
  /** Unread output after its end. */
  ended: Promise<{ lines: string[]; errors: string; code: number; signal: unknown }>;
}

/** Starts a command; `env` overrides this process's environment. */
export function start(
  command: string[],
  env: Record<string, string> = {},
  onExit = () => {},
): Child {
  const child = Bun.spawn(command, {
    env: { ...process.env, ...env },
    onExit,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const lines = readLines(child.stdout);
  const next = async () => (await lines.next()).value;
  const finish = async () => {
    const errors = await new Response(child.stderr).text();
    const code = await child.exited;
    const rest: string[] = [];
    for (let line = await next(); line !== undefined; line = await next()) rest.push(line);
    return { lines: rest, errors, code, signal: child.signalCode };
  };
  return {
    pid: child.pid,
    program: command[0]!,
    next,
    send(line) {
      child.stdin.write(`${line}\n`);
      child.stdin.flush();
    },
    kill: () => child.kill("SIGKILL"),
    terminate: () => child.kill("SIGTERM"),
    wake: () => child.kill("SIGCONT"),
    get ended() {
      return finish();
    },
  };
}

/** Runs the program's test build to its end, or to `failPoint`, such as `keys.create:after`. */
export async function runProgram(args: string[], failPoint = "") {
  return startProgram(args, failPoint).ended;
}

export interface Program extends Child {
  /** Lets it live on until this fail point, in place of the one with which it started. */
  arm(failPoint: string): void;
}

export function startProgram(
  args: string[],
  failPoint = "",
  env: Record<string, string> = {},
  program = executable({ failPoints: true }),
): Program {
  if (!existsSync(program)) throw new Error(`${program} is missing: run npm test, which builds it`);
  const file = join(tmpdir(), `wadi-fail-point-${randomUUID()}`);
  const arm = (failPoint: string) => writeFileSync(file, failPoint);
  arm(failPoint);
  const variables = { ...QUICK, ...env, WADI_FAIL_POINT: `@${file}` };
  const child = start([program, ...args], variables, () => rmSync(file));
  return Object.assign(child, { arm });
}

/** Another process that holds the write lock of a SQLite file until its release. */
export async function holdWriteLock(file: string): Promise<{ release(): Promise<void> }> {
  const script = `
    const { Database } = require("bun:sqlite");
    const connection = new Database(process.argv[1]);
    connection.run("BEGIN IMMEDIATE");
    console.log("held");
    process.stdin.once("data", () => { connection.run("COMMIT"); process.exit(0); });`;
  const holder = start([process.execPath, "-e", script, file]);
  if ((await holder.next()) !== "held") throw new Error((await holder.ended).errors);
  return {
    async release() {
      holder.send("release");
      await holder.ended;
    },
  };
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  // An unfinished last line acknowledges nothing.
  return undefined;
}
