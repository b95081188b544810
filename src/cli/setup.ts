// `wadi init` and `wadi check`: create a settings file and texts, check an installation.
import { resolve } from "node:path";
import {
  createSettingsFile,
  loadGrafanaFiles,
  loadServiceTexts,
  upkeepOperations as operations,
} from "../admin/index.ts";
import { type Command, type CommandInput, hasFlag, readText, UsageError } from "./command.ts";
import { createInstallation } from "./installation.ts";
import { callWithoutData } from "./operations.ts";
import { drawLines, type Output } from "./output.ts";
import { FILE, openGivenSettings } from "./settings.ts";
import { paintState } from "./terminal.ts";

async function writeGrafana({ args }: CommandInput, output: Output): Promise<number> {
  if (args.length > 0) throw new UsageError("--grafana takes no FILE: it writes below ./grafana");
  const { writeGrafanaFiles } = await loadGrafanaFiles();
  const files = writeGrafanaFiles("grafana");
  for (const file of files.kept) output.say(`${file} is there already, and is not overwritten`);
  output.print(files, files.written.map((file) => `${file}\n`).join(""));
  return 0;
}

const TEXTS = ["systemd", "nginx", "caddy", "docker"] as const;

async function printServiceText(input: CommandInput, output: Output): Promise<number> {
  const [kind, ...others] = TEXTS.filter((name) => hasFlag(input, name));
  if (others.length > 0) throw new UsageError(`--${kind} and --${others[0]} exclude each other`);
  if (input.args.length > 0) throw new UsageError(`--${kind} takes no FILE: it prints a text`);
  const { settings, file } = openGivenSettings(input, { wantsApiKeys: false });
  const { writeServiceText } = await loadServiceTexts();
  const text = writeServiceText(kind!, {
    settings,
    program: process.execPath,
    workingDirectory: process.cwd(),
    settingsFile: file && resolve(file.path),
    dataDirectory: resolve(settings.server.data),
    namesData: readText(input, "data") !== undefined,
  });
  output.print({ text }, text);
  return 0;
}

export const commands: readonly Command[] = [
  {
    name: "init",
    args: ["[FILE]"],
    flags: {
      grafana: { help: "write a Grafana dashboard and Prometheus alerts below ./grafana instead" },
      systemd: { help: "print a systemd unit for these settings instead" },
      nginx: { help: "print a server block of nginx instead" },
      caddy: { help: "print a Caddyfile instead" },
      docker: { help: "print a Dockerfile instead" },
    },
    help: "Write a commented wadi.toml, or other texts; never replace a file",
    example: "wadi init wadi.toml",
    async run(input, output) {
      if (hasFlag(input, "grafana")) return writeGrafana(input, output);
      if (TEXTS.some((name) => hasFlag(input, name))) return printServiceText(input, output);
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
