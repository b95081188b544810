// The npm packages: `wadi` with the launcher, and one with the executable for each platform.

import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { root } from "../build.ts";
import { run } from "./run.ts";
import { fileName, programName, TARGETS, type Target, version } from "./targets.ts";

const { description, license } = manifest;

const packageName = (target: Target): string => `@wadi/${target.name}`;

/** No package has an install script: npm chooses by `os`, `cpu` and `libc`. */
export const launcherManifest = () => ({
  ...{ name: "wadi", version, description, license },
  type: "module",
  bin: { wadi: "wadi.mjs" },
  engines: { node: ">=18" },
  optionalDependencies: Object.fromEntries(TARGETS.map((target) => [packageName(target), version])),
});

export const platformManifest = (target: Target) => ({
  ...{ name: packageName(target), version, license },
  description: `The executable of wadi for ${target.name}`,
  os: [target.os],
  cpu: [target.cpu],
  ...(target.libc && { libc: [target.libc] }),
  publishConfig: { access: "public" },
});

/** Packs the launcher and the targets' executables of a release into its folder `npm`. */
export const packNpm = async (folder: string, targets: readonly Target[]): Promise<void> => {
  const packed = join(folder, "npm");
  mkdirSync(packed);
  await pack(packed, launcherManifest(), join(import.meta.dir, "launcher.mjs"), "wadi.mjs");
  for (const target of targets) {
    const program = join(folder, fileName(target));
    await pack(packed, platformManifest(target), program, programName(target));
  }
};

const pack = async (
  packed: string,
  content: object,
  program: string,
  name: string,
): Promise<void> => {
  const staged = join(packed, "staged");
  mkdirSync(staged);
  try {
    writeFileSync(join(staged, "package.json"), `${JSON.stringify(content, null, 2)}\n`);
    cpSync(join(root, "LICENSE"), join(staged, "LICENSE"));
    cpSync(program, join(staged, name));
    await run(["npm", "pack", "--pack-destination", packed], { cwd: staged });
  } finally {
    rmSync(staged, { recursive: true });
  }
};
