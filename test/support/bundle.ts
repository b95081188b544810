// What a process or a Worker of a test runs, as one file: so it starts twice as fast.
import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The files in which these sources are, in their order; they go with the test file that asks. */
export async function bundle(...sources: readonly URL[]): Promise<URL[]> {
  const outdir = mkdtempSync(join(tmpdir(), "wadi-bundle-"));
  afterAll(() => rmSync(outdir, { recursive: true, force: true }));
  const entrypoints = sources.map(({ pathname }) => pathname);
  const { outputs } = await Bun.build({ entrypoints, outdir, target: "bun" });
  return outputs.map(({ path }) => Bun.pathToFileURL(path));
}
