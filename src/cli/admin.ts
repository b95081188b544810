// Opens the data for one command, beside a server that may be running on it.
import { statSync } from "node:fs";
import { type Admin, AdminError, openAdmin } from "../admin/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { STDERR, writeText } from "../platform/process.ts";
import type { CommandInput } from "./command.ts";
import { placeData, placeSecretsKey, readGivenSettings } from "./settings.ts";

/** Calls `work` with the admin, then closes the database; `begins` allows a new one. */
export async function administer<T>(
  input: CommandInput,
  work: (admin: Admin) => Promise<T>,
  { begins = false } = {},
): Promise<T> {
  // A key must be revocable also from a shell that has none of the server's secrets.
  const settings = readGivenSettings(input, { wantsApiKeys: false });
  const place = placeData(settings);
  // A mistyped directory must not become a new one.
  if (!begins && place.kind === "sqlite" && isMissing(place.file)) {
    throw new AdminError(
      `there is no database in ${settings.server.data}: name its directory with --data, ` +
        "or begin one with `wadi serve` or `wadi accounts create`",
    );
  }
  const clock = createSystemClock();
  const opened = await openAdmin({
    settings,
    place,
    clock,
    ids: createSystemIds(),
    secretsKeyFile: placeSecretsKey(settings),
    warn: (message) => writeText(STDERR, `wadi: ${message}\n`),
  });
  try {
    return await work(opened.admin);
  } finally {
    await opened.close();
  }
}

function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    // Opening an unreadable file explains the fault.
    return false;
  }
}
