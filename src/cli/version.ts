// What this program is: its version and commit, put in when it is built.
import { drawRow, type Output } from "./output.ts";
import { readNamedSettings } from "./settings.ts";
import type { Given } from "./verb.ts";

declare const WADI_VERSION: string | undefined;
declare const WADI_COMMIT: string | undefined;

/** From source there is no build to name. */
export const VERSION = typeof WADI_VERSION === "undefined" ? "0.0.0-source" : WADI_VERSION;
const COMMIT = typeof WADI_COMMIT === "undefined" ? "source" : WADI_COMMIT;

export async function showVersion(given: Given, output: Output): Promise<number> {
  // Nothing of it is shown; a file that was named is judged all the same.
  readNamedSettings(given);
  const { readSqliteVersion } = await import("../platform/database/index.ts");
  const sqlite = readSqliteVersion();
  const version = { version: VERSION, commit: COMMIT, bun: Bun.version, sqlite };
  output.print(version, drawRow(version));
  return 0;
}
