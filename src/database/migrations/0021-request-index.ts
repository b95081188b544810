// The index of request ids in the order of rows: a caller may send the same id always.
import type { Migration } from "./migration.ts";

export const requestIndex: Migration = {
  number: 21,
  name: "request index",
  kind: "expansion",
  statements: () => [
    "DROP INDEX ledger_by_request",
    "CREATE INDEX ledger_by_request ON ledger (request_id, id)",
  ],
};
