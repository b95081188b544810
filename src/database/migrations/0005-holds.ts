// Holds of the operator: agents and whole accounts whose runs do not start.
import type { Migration } from "./migration.ts";

export const holds: Migration = {
  number: 5,
  name: "holds",
  statements: ({ integer, text, strict }) => [
    // An account is its own `account_id`, so one query finds both kinds.
    `CREATE TABLE holds (
      kind ${text} NOT NULL,
      id ${text} NOT NULL,
      account_id ${text} NOT NULL,
      reason ${text},
      since ${integer} NOT NULL,
      PRIMARY KEY (kind, id)
    )${strict}`,
  ],
};
