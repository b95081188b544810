// What a process or a Worker of a test runs, as one file and parsed: so it starts four times as fast.
import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The files in which these sources are, in their order; they go with the test file that asks. No
 * source may await at its top level: Bun parses ahead only what is no ES module.
 */
export async function bundle(...sources: readonly URL[]): Promise<URL[]> {
  const outdir = mkdtempSync(join(tmpdir(), "wadi-bundle-"));
  afterAll(() => rmSync(outdir, { recursive: true, force: true }));
  const entrypoints = sources.map(({ pathname }) => pathname);
  const options = { target: "bun", format: "cjs", bytecode: true } as const;
  const { outputs } = await Bun.build({ entrypoints, outdir, ...options });
  return outputs
    .filter(({ kind }) => kind === "entry-point")
    .map(({ path }) => Bun.pathToFileURL(path));
}
