// `wadi check`: a line for each thing that has to be right; 1 where something would not serve.
import { type CheckRow, checkInstallation } from "../operator/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { type Settings, SettingsError } from "../platform/settings/index.ts";
import { drawLines, type Output } from "./output.ts";
import {
  FILE,
  hasSettingsFile,
  nameData,
  placeData,
  placeSecretsKey,
  readGivenSettings,
} from "./settings.ts";
import { type Given, readText } from "./verb.ts";

export async function runCheck(given: Given, output: Output): Promise<number> {
  const rows = await checkAll(given);
  const lines = rows.map(({ status, what, name, url, says }) => {
    return [status.padEnd(4), what, url === undefined ? name : `${name}  ${url}`, says];
  });
  output.print(rows, drawLines(lines));
  return rows.some(({ status }) => status === "fail") ? 1 : 0;
}

async function checkAll(given: Given): Promise<CheckRow[]> {
  const settings_name = readText(given, "config") ?? (hasSettingsFile() ? FILE : `no ${FILE}`);
  let settings: Settings;
  try {
    settings = readGivenSettings(given);
  } catch (failure) {
    if (!(failure instanceof SettingsError)) throw failure;
    // Nothing else can be looked at: nobody knows where it is.
    return [{ status: "fail", what: "settings", name: settings_name, says: failure.message }];
  }
  return checkInstallation({
    settings,
    settings_name,
    place: placeData(settings),
    data_name: nameData(settings),
    secrets_key_file: placeSecretsKey(settings),
    clock: createSystemClock(),
    ids: createSystemIds(),
  });
}
