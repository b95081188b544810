// Checks types, lint, dead code, architecture and tests; stops at the first that fails.

import { dirname } from "node:path";

const isFast = process.argv.includes("--fast");
const bun = process.execPath;

const stages: Record<string, string[]> = {
  // `bun check` alone would run the script of that name, which is this one.
  types: [bun, "check", "--no-script"],
  // Code of the browser has other globals.
  "types of the console": [bun, "check", "--no-script", "--project=src/console/client"],
  lint: [bun, "run", "biome", "check", "--config-path=scripts", "--error-on-warnings"],
  unused: [bun, "run", "knip", "--no-progress"],
  // What the executable is made of must be reached from its entry points, not from tests alone.
  "unused in the executable": [
    ...[bun, "run", "knip", "--no-progress", "--production"],
    "--include=files,dependencies,unlisted",
  ],
  ...(isFast
    ? { architecture: [bun, "test", "test/architecture.test.ts"] }
    : { tests: [bun, "scripts/test.ts"] }),
};

for (const [name, command] of Object.entries(stages)) {
  const started = performance.now();
  const child = Bun.spawn(command, {
    cwd: dirname(import.meta.dir),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, errors, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  if (code !== 0) {
    console.log(`${out}${errors}`.trim());
    console.log(`${name}: failed`);
    process.exit(1);
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const outcome = name === "tests" ? out.trim().split("\n").at(-1) : "ok";
  console.log(`${name}: ${outcome} (${seconds} s)`);
}
