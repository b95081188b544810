// `wadi version` and `wadi openapi`: what this program is and what it serves.
import { upkeepOperations as operations } from "../admin/index.ts";
import type { Command } from "./command.ts";
import { createInstallation } from "./installation.ts";
import { callWithoutData } from "./operations.ts";
import { printRow } from "./output.ts";
import { readNamedSettings } from "./settings.ts";

export const commands: readonly Command[] = [
  {
    name: "version",
    help: "Print the version, commit, Bun and SQLite versions",
    example: "wadi version --json",
    async run(input, output) {
      // A named settings file is validated by every command.
      readNamedSettings(input);
      const version = await callWithoutData(input, operations.version, {}, () =>
        createInstallation(input).readVersion(),
      );
      return printRow(output, { ...version });
    },
  },
  {
    name: "openapi",
    help: "Print the OpenAPI 3.1.0 document",
    example: "wadi openapi > openapi.json",
    async run(input, output) {
      const document = await callWithoutData(input, operations.openapi, {}, () =>
        createInstallation(input).readDocument(),
      );
      output.print(document, `${JSON.stringify(document, null, 2)}\n`);
      return 0;
    },
  },
];
