// Replaces positions of the executable, in a log on standard input, by files and lines of src.
// The checkout must be at the commit that `wadi version` names.

import { mkdtempSync, rmSync } from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { bundle } from "./build.ts";

/** The bundler names the first module of an executable after the file. */
const MAIN = "wadi";

const readMaps = async (): Promise<Record<string, SourceMap>> => {
  const folder = mkdtempSync(join(tmpdir(), "wadi-stack-"));
  try {
    const { outputs } = await Bun.build({
      ...(await bundle({}, join(folder, MAIN))),
      sourcemap: "linked",
    });
    const maps: Record<string, SourceMap> = {};
    for (const output of outputs) {
      if (output.kind !== "sourcemap") continue;
      maps[basename(output.path, ".map")] = new SourceMap(JSON.parse(await output.text()));
    }
    return maps;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** A position in an executable, on Windows too. */
const position = /[^\s("]*(?:\$bunfs|~BUN)[/\\]+root[/\\]+([\w.-]+):(\d+):(\d+)/g;

const maps = await readMaps();
const text = await Bun.stdin.text();
const resolved = text.replace(position, (whole, module: string, line: string, column: string) => {
  const name = module.startsWith(MAIN) ? MAIN : module;
  const found = maps[name]?.findEntry(Number(line) - 1, Number(column) - 1);
  if (!found || !("originalSource" in found)) return whole;
  return `${found.originalSource}:${found.originalLine + 1}:${found.originalColumn + 1}`;
});
process.stdout.write(resolved);
