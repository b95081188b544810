// Runs whose process died are counted by what they did since: crashes without progress.
import type { Migration } from "./migration.ts";

export const crashes: Migration = {
  number: 11,
  name: "crashes",
  statements: ({ integer }) => [
    `ALTER TABLE runs ADD COLUMN crashes ${integer} NOT NULL DEFAULT 0`,
    // Suspects: nearly always none.
    `CREATE INDEX runs_suspected ON runs (crashes, id)
      WHERE crashes >= 2 AND finished_at IS NULL`,
  ],
};
