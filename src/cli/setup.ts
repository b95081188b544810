// `wadi init` and `wadi check`: create a settings file, check an installation.
import {
  createSettingsFile,
  loadGrafanaFiles,
  upkeepOperations as operations,
} from "../admin/index.ts";
import { type Command, type CommandInput, hasFlag, readText, UsageError } from "./command.ts";
import { createInstallation } from "./installation.ts";
import { callWithoutData } from "./operations.ts";
import { drawLines, type Output } from "./output.ts";
import { FILE } from "./settings.ts";
import { paintState } from "./terminal.ts";

async function writeGrafana({ args }: CommandInput, output: Output): Promise<number> {
  if (args.length > 0) throw new UsageError("--grafana takes no FILE: it writes below ./grafana");
  const { writeGrafanaFiles } = await loadGrafanaFiles();
  const files = writeGrafanaFiles("grafana");
  for (const file of files.kept) output.say(`${file} is there already, and is not overwritten`);
  output.print(files, files.written.map((file) => `${file}\n`).join(""));
  return 0;
}

export const commands: readonly Command[] = [
  {
    name: "init",
    args: ["[FILE]"],
    flags: {
      grafana: { help: "write a Grafana dashboard and Prometheus alerts below ./grafana instead" },
    },
    help: "Write a commented wadi.toml; never replace a file",
    example: "wadi init wadi.toml",
    async run(input, output) {
      if (hasFlag(input, "grafana")) return writeGrafana(input, output);
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
      const rows = await callWithoutData(input, operations.check, {}, () =>
        createInstallation(input).check(),
      );
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
