// Tests real commands of the operator's file: their arguments, their end, and their cleanup.
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../src/platform/command.ts";
import { createManualClock } from "../support/clock.ts";

const clock = createManualClock();
const never = new AbortController().signal;
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "wadi-command-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A script of a few lines, as an operator has one. */
function writeScript(name: string, ...lines: string[]): string {
  const path = join(directory, name);
  writeFileSync(path, `#!/bin/sh\n${lines.join("\n")}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Waits until a script has written a file. */
async function untilWritten(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watcher = watch(directory, () => existsSync(path) && resolve());
  if (existsSync(path)) resolve();
  await promise;
  watcher.close();
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

test("a command gets its arguments unchanged, without a shell", async () => {
  const out = join(directory, "arguments");
  const script = writeScript("write-arguments", `printf '%s\\n' "$@" > ${out}`);
  expect(await runCommand([script, "a b", "$(id)", "*", "; exit 3"], clock, never)).toBeNull();
  expect(readFileSync(out, "utf8")).toBe("a b\n$(id)\n*\n; exit 3\n");
});

test("a failure is described in a few fixed words, without the command's output", async () => {
  const script = writeScript("fail", "echo secret >&2", "exit 3");
  expect(await runCommand([script], clock, never)).toBe("its command exited with 3");
  expect(await runCommand([writeScript("die", "kill -9 $$")], clock, never)).toBe(
    "its command was ended by SIGKILL",
  );
  expect(await runCommand([join(directory, "missing")], clock, never)).toBe(
    "its command cannot be run",
  );
  expect(await runCommand([script], clock, AbortSignal.abort())).toBe("it was given up");
});

test("its environment has no secrets of ours, and its standard input is closed", async () => {
  const out = join(directory, "environment");
  const script = writeScript("write-environment", `cat > ${out}.in`, `env > ${out}`);
  const own = {
    WADI_TEST_KEY: "secret",
    QWEN_KEY: "secret",
    OUR_LC_KEY: "secret",
    XDG_RUNTIME_DIR: "/run/user/1",
  };
  Object.assign(process.env, own);
  try {
    expect(await runCommand([script], clock, never)).toBeNull();
  } finally {
    for (const name of Object.keys(own)) delete process.env[name];
  }
  const said = readFileSync(out, "utf8");
  expect(said).not.toContain("secret");
  expect(said).toContain(`PATH=${process.env.PATH}\n`);
  expect(said).toContain("XDG_RUNTIME_DIR=/run/user/1\n");
  expect(readFileSync(`${out}.in`, "utf8")).toBe("");
});

test("an aborted command ends with all its child processes, by SIGKILL if needed", async () => {
  const out = join(directory, "deaf");
  const deaf = writeScript(
    "deaf.sh",
    "trap '' TERM",
    `echo $$ > ${out}.new`,
    `mv ${out}.new ${out}`,
    "while :; do read x < /dev/zero; done",
  );
  const script = writeScript("parent.sh", `${deaf} & wait`);
  const caller = new AbortController();
  const ran = runCommand([script], clock, caller.signal);
  await untilWritten(out);
  const pid = Number(readFileSync(out, "utf8"));
  caller.abort();
  expect(await ran).toBe("its command was ended by SIGTERM");
  expect(isAlive(pid)).toBe(true);
  await clock.advance(5_000);
  while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
  expect(isAlive(pid)).toBe(false);
});
