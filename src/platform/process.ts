// The process itself: prepared before anything else is loaded, and its output.
import { fstatSync, readFileSync, realpathSync, writeSync } from "node:fs";
import { basename, relative } from "node:path";
import { isatty } from "node:tty";

/** Environment variables that could make Bun run foreign code inside this program. */
const REFUSED = ["BUN_OPTIONS", "BUN_BE_BUN", "NODE_OPTIONS"];
/** Interval of retries; another user of a pipe or terminal may have made it non-blocking. */
const RETRY_EVERY_MS = 1;
/** The longest interval that a timer takes. */
const INTERVAL_MS_MAX = 2 ** 31 - 1;

export const STDOUT = 1;
export const STDERR = 2;

/** Exits with a sentence if the environment is unsafe. */
export function prepareProcess(): void {
  const refused = REFUSED.find((name) => process.env[name]);
  if (refused) {
    writeText(
      STDERR,
      `wadi: ${refused} is set, which could load foreign code into this program: unset it\n`,
    );
    process.exit(1);
  }
  dropProxyVariables(process.env);
  // Only the owner may read the program's files.
  process.umask(0o077);
}

/**
 * Keeps the process alive until work ends, which timers of a clock do not. Without it Bun polls
 * with a whole core while a module awaits work that waits for such a timer.
 */
export async function stayAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, INTERVAL_MS_MAX);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** Looks at the kind of file first: the library of terminals would cost a command 8 ms. */
export function isTerminal(descriptor: typeof STDOUT | typeof STDERR): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice() && isatty(descriptor);
  } catch {
    return false;
  }
}

/** Writes the whole text before it returns; a closed pipe is no error. */
export function writeText(descriptor: typeof STDOUT | typeof STDERR, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (failure) {
      const { code } = failure as NodeJS.ErrnoException;
      if (code === "EPIPE") return;
      if (code !== "EAGAIN") throw failure;
      Bun.sleepSync(RETRY_EVERY_MS);
    }
  }
}

const PROXY_VARIABLE = /^(?:http|https|all|no)_proxy$/i;

/** Deletes HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in any case, since fetch obeys them. */
export function dropProxyVariables(env: Record<string, string | undefined>): void {
  for (const name of Object.keys(env)) if (PROXY_VARIABLE.test(name)) delete env[name];
}

const NAME = "wadi";

/** Names the program as a shell finds it from here: by its name, else by its file. */
export function nameProgram(): string {
  const { execPath } = process;
  // From the sources, Bun is the program.
  if (!basename(execPath).startsWith(NAME)) return NAME;
  const found = Bun.which(NAME);
  if (found && realpathSync(found) === realpathSync(execPath)) return NAME;
  const near = relative(process.cwd(), execPath);
  if (near.startsWith("..")) return execPath;
  return near.includes("/") ? near : `./${near}`;
}

/** Absolute paths, since PATH and USER cannot be trusted. */
const USER_FILE = "/etc/passwd";
const ID_COMMAND = ["/usr/bin/id", "-un"];

let user: string | undefined;

export function nameUser(): string {
  user ??= findUser() || askSystem() || `uid ${process.getuid?.() ?? "unknown"}`;
  return user;
}

/** Finds what most systems look up first, without a process of its own. */
function findUser(): string {
  try {
    const rows = readFileSync(USER_FILE, "utf8").split("\n");
    const id = String(process.getuid?.());
    return rows.map((row) => row.split(":")).find((row) => row[2] === id)?.[0] ?? "";
  } catch {
    return "";
  }
}

function askSystem(): string {
  try {
    const options = { env: {}, stdin: "ignore", stderr: "ignore" } as const;
    const { success, stdout } = Bun.spawnSync(ID_COMMAND, options);
    return success ? stdout.toString().trim() : "";
  } catch {
    return "";
  }
}
