// The process itself: prepared before anything else is loaded, and its output.
import { realpathSync, writeSync } from "node:fs";
import { basename, relative } from "node:path";

/** Environment variables that could make Bun run foreign code inside this program. */
const REFUSED = ["BUN_OPTIONS", "BUN_BE_BUN", "NODE_OPTIONS"];
/** Interval of retries; another user of a pipe or terminal may have made it non-blocking. */
const RETRY_EVERY_MS = 1;

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

/** Command with an absolute path, since PATH and USER cannot be trusted. */
const ID_COMMAND = ["/usr/bin/id", "-un"];

let user: string | undefined;

export function nameUser(): string {
  user ??= askSystem() || `uid ${process.getuid?.() ?? "unknown"}`;
  return user;
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
