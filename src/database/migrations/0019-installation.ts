// One row that identifies the installation: where it comes from, and whether it is paused or moved.
import type { Migration } from "./migration.ts";

const SQLITE_ID = `SELECT substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3)
  || '-a' || substr(h, 18, 3) || '-' || substr(h, 21) AS id
  FROM (SELECT lower(hex(randomblob(16))) AS h) AS random`;
const POSTGRES_ID = "SELECT CAST(gen_random_uuid() AS TEXT) AS id";

export const installation: Migration = {
  number: 19,
  name: "installation",
  kind: "expansion",
  statements: ({ integer, text, strict }) => [
    `CREATE TABLE wadi_installation (
      place ${integer} PRIMARY KEY,
      id ${text} NOT NULL,
      restored_from ${text},
      restored_at ${integer},
      paused_at ${integer},
      moved_to ${text},
      moved_at ${integer}
    )${strict}`,
    `INSERT INTO wadi_installation
      SELECT 1, id, NULL, NULL, NULL, NULL, NULL FROM (${
        strict === "" ? POSTGRES_ID : SQLITE_ID
      }) AS made`,
  ],
};
