// Builds a release into dist/release: executables of all or the named targets,
// packages that carry them, and their sums.
// With --verify everything is built twice and must have the same bytes.

import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compile, root } from "./build.ts";
import { hasDeb, packDeb } from "./release/debian.ts";
import { packNpm } from "./release/npm.ts";
import { commandOn, smoke } from "./release/smoke.ts";
import { findDifferences, SUMS, writeSums } from "./release/sums.ts";
import { chooseTargets, fileName, TARGETS, type Target } from "./release/targets.ts";

const USAGE = `bun run release [--verify] [PLATFORM …]

Builds executables and packages of all platforms, or of those named, into dist/release.
  --verify  build everything twice, and compare the bytes

Platforms:
${TARGETS.map(({ name }) => `  ${name}`).join("\n")}`;

const build = async (folder: string, targets: readonly Target[]): Promise<void> => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const target of targets) await buildExecutable(folder, target);
  await packNpm(folder, targets);
  const epoch = commitTime();
  for (const target of targets.filter(hasDeb)) await packDeb(folder, target, epoch);
};

/** Seconds since 1970, the only time that a package contains. */
const commitTime = (): string => {
  const git = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: root });
  if (!git.success) throw new Error("A release is built in a clone, whose commit gives the time.");
  return git.stdout.toString().trim();
};

/** The executables name the commit that they are made of. */
const requireCommitted = (): void => {
  const git = Bun.spawnSync(["git", "status", "--porcelain"], { cwd: root });
  if (git.stdout.length > 0) throw new Error("Files differ from the commit: commit them first.");
};

const buildExecutable = async (folder: string, target: Target): Promise<void> => {
  try {
    await compile({ target: target.bun, outfile: join(folder, fileName(target)) });
  } catch (failure) {
    const errors: unknown[] = failure instanceof AggregateError ? failure.errors : [failure];
    throw new Error(
      `${fileName(target)} is not built: ${errors.join("; ")}. ` +
        `The first build for ${target.name} downloads Bun's runtime from the npm registry.`,
    );
  }
};

const report = async (folder: string, targets: readonly Target[]): Promise<void> => {
  for (const target of targets) {
    const path = join(folder, fileName(target));
    const command = commandOn(target, path);
    const isRunnable = typeof command !== "string";
    if (isRunnable) await smoke(command);
    const outcome = isRunnable ? "starts, answers a chat, stops" : `not run here: ${command}`;
    console.log(`${fileName(target)}: ${megabytes(path)}; ${outcome}`);
  }
};

const megabytes = (path: string): string => `${(statSync(path).size / 1e6).toFixed(1)} MB`;

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    options: {
      verify: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
    allowPositionals: true,
  });
  if (values.help) return console.log(USAGE);
  const targets = chooseTargets(positionals);
  requireCommitted();
  // The caller's mask would be in the packages.
  process.umask(0o022);
  const folder = join(root, "dist/release");
  await build(folder, targets);
  const sums = await writeSums(folder);
  await report(folder, targets);
  if (values.verify) {
    const again = join(root, "dist/release-again");
    await build(again, targets);
    const differences = findDifferences(sums, await writeSums(again));
    if (differences.length > 0) throw new Error(`Two builds differ: ${differences.join(", ")}.`);
    rmSync(again, { recursive: true });
    console.log("Two builds have the same bytes.");
  }
  console.log(`${SUMS}: ${Object.keys(sums).length} files in dist/release`);
};

try {
  await main();
} catch (failure) {
  console.error(failure instanceof Error ? failure.message : failure);
  process.exit(1);
}
