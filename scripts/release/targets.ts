// The platforms of a release, and the names of its files.

import manifest from "../../package.json" with { type: "json" };

export const { version } = manifest;

export interface Target {
  /** Stands in names of files and packages. */
  name: string;
  bun: Bun.Build.CompileTarget;
  /** As npm calls them. */
  os: "linux" | "darwin" | "win32";
  cpu: "x64" | "arm64";
  libc?: "glibc" | "musl";
  /** Words that say what the executable needs, besides its system. */
  needs: string;
}

const GLIBC = "glibc 2.17 or newer";
const MACOS = "macOS 13 or newer";
const MUSL = "musl and the packages libstdc++ and libgcc";

export const TARGETS: readonly Target[] = [
  // Bun's baseline build for x64 is the same file.
  linux("linux-x64", "bun-linux-x64", "x64", "glibc"),
  linux("linux-arm64", "bun-linux-arm64", "arm64", "glibc"),
  linux("linux-x64-musl", "bun-linux-x64-musl", "x64", "musl"),
  linux("linux-arm64-musl", "bun-linux-arm64-musl", "arm64", "musl"),
  { name: "darwin-arm64", bun: "bun-darwin-arm64", os: "darwin", cpu: "arm64", needs: MACOS },
  { name: "darwin-x64", bun: "bun-darwin-x64", os: "darwin", cpu: "x64", needs: MACOS },
  {
    name: "win32-x64",
    bun: "bun-windows-x64",
    os: "win32",
    cpu: "x64",
    needs: "Windows 10 or newer",
  },
];

function linux(
  name: string,
  bun: Bun.Build.CompileTarget,
  cpu: Target["cpu"],
  libc: "glibc" | "musl",
): Target {
  return { name, bun, os: "linux", cpu, libc, needs: libc === "musl" ? MUSL : GLIBC };
}

const extension = (target: Target): string => (target.os === "win32" ? ".exe" : "");

export const programName = (target: Target): string => `wadi${extension(target)}`;

export const fileName = (target: Target): string =>
  `wadi-${version}-${target.name}${extension(target)}`;

/** The targets of these names, or all; throws a sentence. */
export const chooseTargets = (names: readonly string[]): readonly Target[] => {
  const unknown = names.find((name) => !TARGETS.some((target) => target.name === name));
  if (unknown) {
    const known = TARGETS.map(({ name }) => name).join(", ");
    throw new Error(`There is no target ${unknown}; choose from ${known}.`);
  }
  return names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name));
};
