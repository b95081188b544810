// Every migration in order: the released ones, and those that a test build is given.

import { readTestVariable } from "../../platform/failpoint.ts";
import type { Migration } from "./migration.ts";
import { released } from "./released.ts";

export const migrations: readonly Migration[] = [...released, ...readTrials()];

/** Migrations of a test build, which make it a newer version: fields and text of each. */
function readTrials(): Migration[] {
  const trials: (Migration & { text: string })[] = JSON.parse(
    readTestVariable("WADI_TRIAL_MIGRATIONS") ?? "[]",
  );
  return trials.map(({ text, ...migration }) => ({ ...migration, statements: () => [text] }));
}
