// Names of a release's files, its targets and its sums.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { findDifferences, formatSums } from "../../scripts/release/sums.ts";
import { chooseTargets, fileName, TARGETS, version } from "../../scripts/release/targets.ts";

test("each of the seven targets has its own file name, on Windows with .exe", () => {
  expect(TARGETS.map(fileName)).toEqual([
    `wadi-${version}-linux-x64`,
    `wadi-${version}-linux-arm64`,
    `wadi-${version}-linux-x64-musl`,
    `wadi-${version}-linux-arm64-musl`,
    `wadi-${version}-darwin-arm64`,
    `wadi-${version}-darwin-x64`,
    `wadi-${version}-win32-x64.exe`,
  ]);
});

test("targets are chosen by name, and an unknown name is refused with the known ones", () => {
  expect(chooseTargets([])).toHaveLength(7);
  expect(chooseTargets(["linux-arm64"]).map(({ name }) => name)).toEqual(["linux-arm64"]);
  expect(() => chooseTargets(["amiga"])).toThrow("There is no target amiga; choose from linux-x64");
});

test("the sums have the format of sha256sum, in order of the names", () => {
  expect(formatSums({ "wadi-b": "22", "npm/wadi-a.tgz": "11" })).toBe(
    "11  npm/wadi-a.tgz\n22  wadi-b\n",
  );
});

test("two builds differ by a file that only one has, or by its bytes", () => {
  expect(findDifferences({ a: "1", b: "2" }, { a: "1", b: "2" })).toEqual([]);
  expect(findDifferences({ a: "1", b: "2" }, { a: "3", c: "2" })).toEqual(["a", "b", "c"]);
});

test("the help names the targets", () => {
  const script = join(import.meta.dir, "../../scripts/release.ts");
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, script, "--help"]);
  expect(exitCode).toBe(0);
  for (const { name } of TARGETS) expect(stdout.toString()).toContain(`  ${name}\n`);
});
