// Processes on the same data tell each other what they are, and operators ask them for something.
import type { Migration } from "./migration.ts";

export const processColumns: Migration = {
  number: 41,
  name: "processes beside each other",
  kind: "expansion",
  statements: ({ integer, text }) =>
    [
      ...[`address ${text}`, `pid ${integer}`, `version ${text}`, `schema_number ${integer}`],
      // One of "draining" and "drained", or null while it serves.
      `state ${text}`,
      ...[`settings_hash ${text}`, `settings_fault ${text}`, `key_ids ${text}`],
      `reloads_asked ${integer} NOT NULL DEFAULT 0`,
      `reloads_done ${integer} NOT NULL DEFAULT 0`,
    ].map((column) => `ALTER TABLE processes ADD COLUMN ${column}`),
};
