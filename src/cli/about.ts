// `wadi version` and `wadi openapi`: what this program is and what it serves.
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { createLog } from "../platform/log.ts";
import { defaultSettings } from "../settings/index.ts";
import type { Command } from "./command.ts";
import { printRow } from "./output.ts";
import { readNamedSettings } from "./settings.ts";

/** Defined by the build. */
declare const WADI_VERSION: string | undefined;
declare const WADI_COMMIT: string | undefined;

export const VERSION = typeof WADI_VERSION === "undefined" ? "0.0.0-source" : WADI_VERSION;
const COMMIT = typeof WADI_COMMIT === "undefined" ? "source" : WADI_COMMIT;

export const commands: readonly Command[] = [
  {
    name: "version",
    help: "Print the version, commit, Bun and SQLite versions",
    example: "wadi version --json",
    async run(input, output) {
      // A named settings file is validated by every command.
      readNamedSettings(input);
      const { readSqliteVersion } = await import("../database/index.ts");
      const sqlite = readSqliteVersion();
      return printRow(output, { version: VERSION, commit: COMMIT, bun: Bun.version, sqlite });
    },
  },
  {
    name: "openapi",
    help: "Print the OpenAPI 3.1.0 document",
    example: "wadi openapi > openapi.json",
    async run(input, output) {
      const { buildApp } = await import("../app.ts");
      const clock = createSystemClock();
      const app = await buildApp({
        settings: readNamedSettings(input) ?? defaultSettings(),
        place: { kind: "memory" },
        clock,
        ids: createSystemIds(),
        log: createLog(clock, (line) => output.say(line.trimEnd()), true),
        version: VERSION,
        secretsKeyFile: null,
        onFatal: () => {},
      });
      const response = await app.server.answer(new Request("http://localhost/openapi.json"));
      const document = await response.json();
      output.print(document, `${JSON.stringify(document, null, 2)}\n`);
      await app.stop(0);
      return 0;
    },
  },
];
