// Bundles a test's process or Worker into one parsed file, which starts four times as fast.
import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Returns the bundled files of the sources, in order; they are deleted after the test file.
 * No source may await at its top level, since Bun cannot parse ES modules ahead.
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
