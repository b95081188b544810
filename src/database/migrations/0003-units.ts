// State and start times of each managed server; a row stays when no model needs it.
import type { Migration } from "./migration.ts";

export const units: Migration = {
  number: 3,
  name: "units",
  statements: ({ integer, text, strict }) => [
    `CREATE TABLE units (
      id ${text} PRIMARY KEY,
      state ${text} NOT NULL,
      is_put_down ${integer} NOT NULL,
      changed_at ${integer} NOT NULL,
      starts ${integer} NOT NULL,
      recent_starts_ms ${text} NOT NULL,
      started_at ${integer},
      stopped_at ${integer}
    )${strict}`,
  ],
};
