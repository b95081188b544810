#!/usr/bin/env node
// The npm package's command: runs the executable of the package that npm installed for this platform.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const { platform, arch } = process;
// Looking up the names of network addresses takes seconds.
process.report.excludeNetwork = true;
const isMusl = platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const name = `@wadi/${platform}-${arch}${isMusl ? "-musl" : ""}`;

function find() {
  try {
    return createRequire(import.meta.url).resolve(
      `${name}/wadi${platform === "win32" ? ".exe" : ""}`,
    );
  } catch {
    fail(`the package ${name} is not installed: install wadi again with optional dependencies`);
  }
}

function fail(text) {
  process.stderr.write(`wadi: ${text}\n`);
  process.exit(1);
}

// Node's own options were for this process; the program refuses to start under them.
const { NODE_OPTIONS, ...env } = process.env;
const child = spawn(find(), process.argv.slice(2), { stdio: "inherit", env });
// A terminal sends these to the whole group: passing them on would count twice.
const shared = process.stdin.isTTY ? ["SIGINT", "SIGHUP", "SIGQUIT"] : [];
for (const signal of ["SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM"]) {
  process.on(signal, () => shared.includes(signal) || child.kill(signal));
}
child.on("error", (error) => fail(`the executable does not start: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
