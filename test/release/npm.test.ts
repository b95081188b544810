// Manifests of the npm packages.
import { expect, test } from "bun:test";
import { launcherManifest, platformManifest } from "../../scripts/release/npm.ts";
import { TARGETS, version } from "../../scripts/release/targets.ts";

const manifestOf = (name: string) =>
  platformManifest(TARGETS.find((target) => target.name === name)!);

test("the launcher depends on each platform's package, of its own version, optionally", () => {
  const launcher = launcherManifest();
  expect(launcher.bin).toEqual({ wadi: "wadi.mjs" });
  expect(Object.keys(launcher.optionalDependencies)).toEqual(
    TARGETS.map((target) => platformManifest(target).name),
  );
  expect(new Set(Object.values(launcher.optionalDependencies))).toEqual(new Set([version]));
});

test("a platform's package names system, processor and C library, so that npm takes one", () => {
  expect(manifestOf("linux-arm64-musl")).toMatchObject({
    name: "@wadi/linux-arm64-musl",
    os: ["linux"],
    cpu: ["arm64"],
    libc: ["musl"],
  });
  expect(manifestOf("win32-x64")).toMatchObject({ os: ["win32"], cpu: ["x64"] });
  expect(manifestOf("win32-x64")).not.toHaveProperty("libc");
});

test("no two platforms' packages fit the same machine", () => {
  const machines = TARGETS.map((target) => {
    const { os, cpu, libc } = platformManifest(target);
    return JSON.stringify([os, cpu, libc]);
  });
  expect(new Set(machines).size).toBe(TARGETS.length);
});

test("no package runs a script at its installation", () => {
  for (const manifest of [launcherManifest(), ...TARGETS.map(platformManifest)]) {
    expect(manifest).not.toHaveProperty("scripts");
  }
});

test("packages are named as Node names its platform, which is how the launcher finds them", () => {
  for (const { name, os, cpu, libc } of TARGETS) {
    expect(name).toBe(`${os}-${cpu}${libc === "musl" ? "-musl" : ""}`);
  }
});
