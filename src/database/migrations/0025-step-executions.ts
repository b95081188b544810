// How each step of a run was executed, for operators.
import type { Migration } from "./migration.ts";

export const stepExecutions: Migration = {
  number: 25,
  name: "step executions",
  kind: "expansion",
  statements: ({ text }) => [`ALTER TABLE steps ADD COLUMN execution ${text}`],
};
