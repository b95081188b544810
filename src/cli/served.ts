// Tells whether a server works on the data of a command, since only servers execute runs.
import { hasDatabase, isLocked } from "../database/index.ts";
import type { CommandInput } from "./command.ts";
import { findServer } from "./remote.ts";
import { nameData, placeData, readGivenSettings } from "./settings.ts";

/**
 * Returns the begin of a sentence where no server runs on local data, else undefined. Call it
 * before the command opens the data.
 */
export async function explainNoServer(input: CommandInput): Promise<string | undefined> {
  if (findServer(input)) return undefined;
  const settings = readGivenSettings(input, { wantsApiKeys: false });
  const place = placeData(settings);
  // A missing database is explained when the command opens it.
  if (!(await hasDatabase(place)) || (await isLocked(place))) return undefined;
  return `no server runs on ${nameData(settings)}`;
}
