// Compiles src/main.ts and the Workers' scripts into one executable under dist/.

import { mkdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };

const root = dirname(import.meta.dir);

export interface Build {
  failPoints?: boolean;
  target?: string;
}

/** Path of the executable; a build for another platform has its own. */
export const executable = ({ failPoints, target }: Build = {}): string => {
  const windows = target ? target.includes("windows") : process.platform === "win32";
  const name = ["wadi", failPoints && "test", target?.replace(/^bun-/, "")].filter(Boolean);
  return join(root, "dist", `${name.join("-")}${windows ? ".exe" : ""}`);
};

export const isStale = (build: Build = {}): boolean => {
  const built = statSync(executable(build), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = new Bun.Glob("src/**/*").scanSync({ cwd: root, onlyFiles: false });
  return ["src", "package.json", "bun.lock", "scripts/build.ts", ...sources].some(
    (path) => (statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0) > built,
  );
};

/** Compiles and returns the executable's path; throws the bundler's errors. */
export const compile = async (build: Build = {}): Promise<string> => {
  const started = new Date();
  const outfile = executable(build);
  // Built aside and moved in whole, so that no process runs half a file and two builds cannot collide.
  const aside = join(root, "dist", `.building-${process.pid}`);
  mkdirSync(aside, { recursive: true });
  try {
    await Bun.build({
      // All lie in one folder: a Worker's is found beside main.ts in the executable as in src/.
      entrypoints: ["main", "writer-worker", "compute-worker", "watchdog-worker"].map((name) =>
        join(root, `src/${name}.ts`),
      ),
      compile: {
        outfile: join(aside, basename(outfile)),
        autoloadDotenv: false,
        autoloadBunfig: false,
        ...(build.target && { target: build.target as Bun.Build.CompileTarget }),
      },
      minify: true,
      bytecode: true,
      format: "esm",
      sourcemap: "linked",
      define: {
        WADI_VERSION: JSON.stringify(manifest.version),
        WADI_COMMIT: JSON.stringify(commit()),
        WADI_FAIL_POINTS: String(build.failPoints ?? false),
      },
    });
    // Sources changed during the build are newer than this time.
    utimesSync(join(aside, basename(outfile)), started, started);
    renameSync(join(aside, basename(outfile)), outfile);
  } finally {
    rmSync(aside, { recursive: true });
  }
  return outfile;
};

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
      target: { type: "string" },
    },
  });
  const build: Build = { failPoints: values["fail-points"], target: values.target };
  if (!values["if-stale"] || isStale(build)) {
    const started = performance.now();
    const path = await compile(build);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const megabytes = Math.round(statSync(path).size / 1e6);
    console.error(`Built ${path.slice(root.length + 1)}: ${megabytes} MB in ${seconds} s.`);
  }
}
