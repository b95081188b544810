// `wadi init` and `wadi check`: create a settings file, check an installation.
import { createSettingsFile, upkeepOperations as operations } from "../admin/index.ts";
import { type Command, readText } from "./command.ts";
import { createInstallation } from "./installation.ts";
import { call } from "./operations.ts";
import { drawLines } from "./output.ts";
import { findServer } from "./remote.ts";
import { FILE } from "./settings.ts";
import { paintState } from "./terminal.ts";

export const commands: readonly Command[] = [
  {
    name: "init",
    args: ["[FILE]"],
    help: "Write a commented wadi.toml; never replace a file",
    example: "wadi init wadi.toml",
    async run(input, output) {
      const file = input.args[0] ?? readText(input, "config") ?? FILE;
      createSettingsFile(file);
      const also = file === FILE ? "" : ` --config ${file}`;
      output.say(
        `it holds as it is; \`wadi models probe URL --write${also}\` adds a model of yours`,
      );
      output.print({ file }, `${file}\n`);
      return 0;
    },
  },
  {
    name: "check",
    help: "Check settings, data, models and services before serving",
    example: "wadi check --config wadi.toml",
    async run(input, output) {
      const rows = findServer(input)
        ? await call(input, operations.check, {})
        : await createInstallation(input).check();
      const lines = rows.map(({ status, what, name, url, says }) => {
        return [
          paintState(output.terminal, status.padEnd(4)),
          what,
          url === undefined ? name : `${name}  ${url}`,
          says,
        ];
      });
      output.print(rows, drawLines(lines));
      return rows.some(({ status }) => status === "fail") ? 1 : 0;
    },
  },
];
