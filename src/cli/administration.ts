// Opens the same data that a server may be running on, for one verb.
import { statSync } from "node:fs";
import { type Operator, OperatorProblem, openOperator } from "../operator/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { createSystemIds } from "../platform/ids.ts";
import { STDERR, writeText } from "../platform/process.ts";
import { placeData, placeSecretsKey, readGivenSettings } from "./settings.ts";
import type { Given } from "./verb.ts";

/** Hands the operator's verbs to `work`, then closes the database; `begins`: it may be new. */
export async function administer<T>(
  given: Given,
  work: (operator: Operator) => Promise<T>,
  { begins = false } = {},
): Promise<T> {
  // A key must be revocable also from a shell that has none of the server's secrets.
  const settings = readGivenSettings(given, { wants_api_keys: false });
  const place = placeData(settings);
  // A mistyped directory must not become a new one.
  if (!begins && place.kind === "sqlite" && isMissing(place.file)) {
    throw new OperatorProblem(
      `there is no database in ${settings.server.data}: name its directory with --data, ` +
        "or begin one with `wadi serve` or `wadi accounts create`",
    );
  }
  const clock = createSystemClock();
  const opened = await openOperator({
    settings,
    place,
    clock,
    ids: createSystemIds(),
    secrets_key_file: placeSecretsKey(settings),
    warn: (why) => writeText(STDERR, `wadi: ${why}\n`),
  });
  try {
    return await work(opened.operator);
  } finally {
    await opened.close();
  }
}

function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    // It may be there and not for this user: opening it says so.
    return false;
  }
}
