// Leases: work that one of several processes does at a time.
import type { Migration } from "./migration.ts";

export const leases: Migration = {
  number: 40,
  name: "leases",
  kind: "expansion",
  statements: ({ integer, text, strict }) => [
    // Valid as long as the process of that number lives.
    `CREATE TABLE leases (name ${text} PRIMARY KEY, epoch ${integer} NOT NULL)${strict}`,
    // Rises with each use of a model server that is told, which no clock could order.
    `ALTER TABLE units ADD COLUMN uses ${integer} NOT NULL DEFAULT 0`,
  ],
};
