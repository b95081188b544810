// Starts an executable, asks the stub one question and stops it, where this machine can run it.

import { existsSync } from "node:fs";
import type { Target } from "./targets.ts";

/** Debian's emulator, and where its cross packages keep the libraries of arm64. */
const EMULATOR = "qemu-aarch64-static";
const LIBRARIES = "/usr/aarch64-linux-gnu";

/** The command that runs an executable of the target here, or why there is none. */
export const commandOn = (target: Target, path: string): string[] | string => {
  const { os, cpu, libc } = target;
  const hasGlibc =
    existsSync("/lib64/ld-linux-x86-64.so.2") || existsSync("/lib/ld-linux-aarch64.so.1");
  const isSystem = os === process.platform && (!libc || (libc === "glibc") === hasGlibc);
  if (isSystem && cpu === process.arch) return [path];
  if (!isSystem || cpu !== "arm64") return `it needs ${target.needs} on ${cpu}`;
  if (!Bun.which(EMULATOR)) return `it needs an arm64 processor, or ${EMULATOR} here`;
  if (!existsSync(LIBRARIES)) return `${EMULATOR} needs the libraries of libc6-arm64-cross`;
  return [EMULATOR, "-L", LIBRARIES, path];
};

/** Throws a sentence if the executable does not answer. */
export const smoke = async (command: readonly string[]): Promise<void> => {
  const child = Bun.spawn([...command, "dev", "--port", "0", "--json"], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // An emulated start takes a minute on a busy machine.
    timeout: 300_000,
    killSignal: "SIGKILL",
  });
  const said = child.stderr.text();
  try {
    const { value } = await child.stdout.getReader().read();
    if (!value) throw new Error(`It did not start: ${(await said).trim()}`);
    const start = JSON.parse(new TextDecoder().decode(value));
    const reply = await ask(start.url, start.keys[0]);
    if (!reply.includes("You said: Hello")) throw new Error(`It answered ${reply}`);
    child.kill("SIGTERM");
    const code = await child.exited;
    if (code !== 0) throw new Error(`It stopped with exit code ${code}.`);
  } finally {
    child.kill("SIGKILL");
  }
};

const ask = async (url: string, key: string): Promise<string> => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
  });
  return await response.text();
};
