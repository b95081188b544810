// `wadi version`: version and commit, which the build puts in.

import type { Command, CommandInput } from "./command.ts";
import { drawRow, type Output } from "./output.ts";
import { readNamedSettings } from "./settings.ts";

declare const WADI_VERSION: string | undefined;
declare const WADI_COMMIT: string | undefined;

/** From source there is no build to name. */
export const VERSION = typeof WADI_VERSION === "undefined" ? "0.0.0-source" : WADI_VERSION;
const COMMIT = typeof WADI_COMMIT === "undefined" ? "source" : WADI_COMMIT;

export async function showVersion(input: CommandInput, output: Output): Promise<number> {
  // Nothing of it is shown; a file that was named is result all the same.
  readNamedSettings(input);
  const { readSqliteVersion } = await import("../database/index.ts");
  const sqlite = readSqliteVersion();
  const version = { version: VERSION, commit: COMMIT, bun: Bun.version, sqlite };
  output.print(version, drawRow(version));
  return 0;
}

export const commands: readonly Command[] = [
  {
    name: "version",
    args: [],
    flags: {},
    help: "Print the version, commit, Bun and SQLite versions",
    example: "wadi version --json",
    run: showVersion,
  },
];
