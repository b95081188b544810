// Compiles src/main.ts and the Workers' scripts into one executable under dist/.

import { mkdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { bundleConsole } from "../src/console/index.ts";
import {
  packConsole,
  packedRanks,
  packedTexts,
  packLibrary,
  packMigrations,
  sources,
  unusedParts,
} from "./packer.ts";

export const root = dirname(import.meta.dir);

/** Libraries that few starts use. */
const LATE_LIBRARIES = ["croner", "toml-eslint-parser"];
/** Libraries by their packages, and files of ours: parts of libraries, and what few servers use. */
const PACKED_LIBRARIES = [
  "re2js",
  join(root, "src/agents/tools/json-schema/library.ts"),
  join(root, "src/agents/tools/calculator/calculate.ts"),
  join(root, "src/agents/tools/page/page-text.ts"),
  join(root, "src/platform/metrics-library.ts"),
  join(root, "src/counters/shared-counters.ts"),
  join(root, "src/agents/runs/events/shared-live.ts"),
];

export interface Build {
  failPoints?: boolean;
  /** Without a target the platform of this process. */
  target?: Bun.Build.CompileTarget;
  outfile?: string;
}

export const executable = ({ failPoints, outfile }: Build = {}): string => {
  const extension = process.platform === "win32" ? ".exe" : "";
  return outfile ?? join(root, "dist", `${failPoints ? "wadi-test" : "wadi"}${extension}`);
};

export const isStale = (build: Build = {}): boolean => {
  const built = statSync(executable(build), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = new Bun.Glob("src/**/*").scanSync({ cwd: root, onlyFiles: false });
  return [
    "src",
    "package.json",
    "bun.lock",
    "scripts/build.ts",
    "scripts/packer.ts",
    ...sources,
  ].some((path) => (statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0) > built);
};

/** Compiles and returns the executable's path; throws the bundler's errors. */
export const compile = async (build: Build = {}): Promise<string> => {
  const started = new Date();
  const outfile = executable(build);
  // Built aside and moved in whole, so that no process runs half a file and two builds cannot collide.
  const aside = join(root, "dist", `.building-${process.pid}`);
  // The executable contains the name that it is built under: one name makes the same bytes.
  const built = join(aside, `wadi${outfile.endsWith(".exe") ? ".exe" : ""}`);
  mkdirSync(aside, { recursive: true });
  try {
    await Bun.build(await bundle(build, built));
    // Sources changed during the build are newer than this time.
    utimesSync(built, started, started);
    renameSync(built, outfile);
  } finally {
    rmSync(aside, { recursive: true });
  }
  return outfile;
};

/** Options of the bundler, for an executable with or without its source maps. */
export const bundle = async (build: Build, outfile: string) => ({
  // All lie in one folder: a Worker's is found beside main.ts in the executable as in src/.
  entrypoints: ["main", "writer-worker", "compute-worker", "watchdog-worker"].map((name) =>
    join(root, `src/${name}.ts`),
  ),
  compile: {
    outfile,
    autoloadDotenv: false,
    autoloadBunfig: false,
    ...(build.target && { target: build.target }),
  },
  format: "esm" as const,
  bytecode: true,
  minify: true,
  // The entry points share their modules: 1.6 MB less and a faster start.
  splitting: true,
  // 3.1 MB; scripts/stack.ts makes them for the stack of an executable.
  sourcemap: "none" as const,
  // Elysia imports it to check uploaded files, which no route has.
  external: ["file-type"],
  plugins: [
    unusedParts,
    packedRanks,
    packedTexts,
    await packMigrations(join(root, "src/database/migrations/released.ts")),
    packConsole(await bundleConsole()),
    ...(await Promise.all(PACKED_LIBRARIES.map((entry) => packLibrary(entry)))),
    ...(await Promise.all(LATE_LIBRARIES.map((entry) => packLibrary(entry, { isLate: true })))),
    await packLibrary("@elysiajs/openapi/openapi", {
      shared: { elysia: "t", "@sinclair/typebox": "Kind" },
    }),
    // The last one, since the others stand for files of ours.
    sources,
  ],
  define: {
    WADI_VERSION: JSON.stringify(manifest.version),
    WADI_COMMIT: JSON.stringify(commit()),
    WADI_FAIL_POINTS: String(build.failPoints ?? false),
  },
});

const commit = (): string => {
  try {
    const git = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: root });
    return (git.success && git.stdout.toString().trim()) || "unknown";
  } catch {
    return "unknown";
  }
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      "fail-points": { type: "boolean", default: false },
      "if-stale": { type: "boolean", default: false },
    },
  });
  const build: Build = { failPoints: values["fail-points"] };
  if (!values["if-stale"] || isStale(build)) {
    const started = performance.now();
    const name = executable(build).slice(root.length + 1);
    process.stderr.write(`Building ${name} …\n`);
    const path = await compile(build);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const megabytes = (statSync(path).size / 1e6).toFixed(1);
    process.stderr.write(`Built ${name}: ${megabytes} MB in ${seconds} s.\n`);
  }
}
