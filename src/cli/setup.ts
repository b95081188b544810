// `wadi init` and `wadi check`: create a settings file, check an installation.
import { existsSync } from "node:fs";
import { type CheckRow, checkInstallation, createSettingsFile } from "../admin/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { type Settings, SettingsError } from "../settings/index.ts";
import { type Command, type CommandInput, readText } from "./command.ts";
import { drawLines } from "./output.ts";
import { FILE, nameData, placeData, placeSecretsKey, readGivenSettings } from "./settings.ts";

async function checkAll(input: CommandInput): Promise<CheckRow[]> {
  const settingsName = readText(input, "config") ?? (existsSync(FILE) ? FILE : `no ${FILE}`);
  let settings: Settings;
  try {
    settings = readGivenSettings(input);
  } catch (failure) {
    if (!(failure instanceof SettingsError)) throw failure;
    // Without settings, nothing else can be checked.
    return [{ status: "fail", what: "settings", name: settingsName, says: failure.message }];
  }
  return checkInstallation({
    settings,
    settingsName,
    place: placeData(settings),
    dataName: nameData(settings),
    secretsKeyFile: placeSecretsKey(settings),
    clock: createSystemClock(),
    ids: createSystemIds(),
  });
}

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
      const rows = await checkAll(input);
      const lines = rows.map(({ status, what, name, url, says }) => {
        return [status.padEnd(4), what, url === undefined ? name : `${name}  ${url}`, says];
      });
      output.print(rows, drawLines(lines));
      return rows.some(({ status }) => status === "fail") ? 1 : 0;
    },
  },
];
