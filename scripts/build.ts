// Compiles src/main.ts and the Workers' scripts into one executable under dist/.

import { mkdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants } from "node:zlib";
import type { BunPlugin } from "bun";
import manifest from "../package.json" with { type: "json" };
import { bundleConsole, type ConsoleFiles, packFiles } from "../src/console/index.ts";

export const root = dirname(import.meta.dir);

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
    packedRanks,
    packedTexts,
    packConsole(await bundleConsole()),
    await packLibrary("re2js"),
    await packLibrary("htmlparser2"),
    await packLibrary("decimal.js"),
    await packLibrary("jsep"),
    await packLibrary("croner"),
    await packLibrary("toml-eslint-parser"),
    await packLibrary(join(root, "src/agents/tools/json-schema/library.ts")),
    await packLibrary(join(root, "src/platform/metrics-library.ts")),
  ],
  define: {
    WADI_VERSION: JSON.stringify(manifest.version),
    WADI_COMMIT: JSON.stringify(commit()),
    WADI_FAIL_POINTS: String(build.failPoints ?? false),
  },
});

/** A few percent smaller than zstd's best. */
const BEST = {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  },
};

/** Packs the ranks for src/models/bundled-tokenizer/count.ts, from 3.6 MB into 0.7. */
const packedRanks: BunPlugin = {
  name: "packed ranks",
  setup: (builder) => {
    builder.onLoad({ filter: /\.tiktoken$/ }, async ({ path }) => {
      const lines = (await Bun.file(path).text()).trim().split("\n");
      const tokens = lines.map((line) => atob(line.split(" ")[0]!));
      return { contents: brotliCompressSync(packRanks(tokens), BEST), loader: "file" };
    });
  },
};

/** Bytes of a rank in the packed file. */
const RANK_BYTES = 3;

/**
 * Each token but single bytes is a pair of earlier ones. The file holds the rank of the first part
 * of every token, then that of the second; a single byte stands as itself, with itself. Bytes of
 * one weight lie together, which compresses best.
 */
const packRanks = (tokens: readonly string[]): Buffer => {
  const ranks = new Map(tokens.map((token, rank) => [token, rank]));
  const pairs = tokens.map((token, rank) => findPair(token, rank, ranks));
  const packed = Buffer.alloc(2 * RANK_BYTES * tokens.length);
  for (const [at, pair] of pairs.entries()) {
    for (const [part, rank] of pair.entries()) {
      for (let byte = 0; byte < RANK_BYTES; byte++) {
        packed[(part * RANK_BYTES + byte) * tokens.length + at] = (rank >> (8 * byte)) & 255;
      }
    }
  }
  return packed;
};

const findPair = (token: string, rank: number, ranks: ReadonlyMap<string, number>) => {
  if (token.length === 1) return [token.charCodeAt(0), rank];
  let best: number[] | undefined;
  for (let cut = 1; cut < token.length; cut++) {
    const pair = [token.slice(0, cut), token.slice(cut)].map((part) => ranks.get(part) ?? rank);
    if (pair.some((one) => one >= rank)) continue;
    if (!best || pair[0]! * pair[1]! < best[0]! * best[1]!) best = pair;
  }
  if (!best) throw new Error(`the token of rank ${rank} is no pair of earlier ones`);
  return best;
};

/** Packs texts to half of their size; src/platform/packed.ts reads them. */
const packedTexts: BunPlugin = {
  name: "packed texts",
  setup: (builder) => {
    const filter = /src\/(docs|admin\/grafana)\/[\w-]+\.(md|css|json|yml)$/;
    builder.onLoad({ filter }, async ({ path }) => {
      // No text begins with a zero.
      const packed = brotliCompressSync(await Bun.file(path).bytes(), BEST);
      return { contents: Buffer.concat([Buffer.of(0), packed]), loader: "file" };
    });
  },
};

/**
 * Puts the packed files of the console in the place of its page. They are bundled before, since a
 * bundler inside a plugin of another waits for ever.
 */
const packConsole = (files: ConsoleFiles): BunPlugin => ({
  name: "packed console",
  setup: (builder) => {
    builder.onLoad({ filter: /console\/client\/index\.html$/ }, () => {
      return { contents: packFiles(files), loader: "file" };
    });
  },
});

/**
 * Packs a library that is loaded at first need: its code and bytecode take ten times as much. Its
 * module is evaluated from the text that the executable holds.
 */
const packLibrary = async (entry: string): Promise<BunPlugin> => {
  const name = basename(entry);
  const { outputs } = await Bun.build({
    entrypoints: [Bun.resolveSync(entry, root)],
    target: "node",
    format: "cjs",
    minify: true,
  });
  const code = await outputs[0]!.text();
  const packed = `${name}.br`;
  const namespace = `packed-${name.replaceAll(".", "-")}`;
  const exported = Object.keys(await import(entry));
  const names = exported.filter((one) => one !== "default").join(", ");
  const hasDefault = exported.includes("default");
  const contents = `
    import { brotliDecompressSync } from "node:zlib";
    import file from ${JSON.stringify(packed)};
    const bytes = brotliDecompressSync(await Bun.file(file).bytes());
    const module = { exports: {} };
    const code = new TextDecoder().decode(bytes);
    const run = new Function("module", "exports", "require", code);
    run(module, module.exports, (name) => process.getBuiltinModule(name));
    export const { ${names} } = module.exports;
    ${hasDefault ? "export default module.exports.default ?? module.exports;" : ""}
  `;
  return {
    name: `packed ${name}`,
    setup: (builder) => {
      builder.onResolve({ filter: new RegExp(`^(\\./)?${name}(\\.br)?$`) }, ({ path }) => {
        return { path: basename(path), namespace };
      });
      builder.onLoad({ filter: /./, namespace }, async ({ path }) => {
        if (path === name) return { contents, loader: "js" };
        return { contents: brotliCompressSync(code, BEST), loader: "file" };
      });
    },
  };
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
