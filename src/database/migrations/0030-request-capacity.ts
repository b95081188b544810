// The gateway's own time in a request, and the places in use when the request got its own.
import type { Migration } from "./migration.ts";

export const requestCapacity: Migration = {
  number: 30,
  name: "request capacity",
  kind: "expansion",
  statements: ({ integer }) => [
    `ALTER TABLE ledger ADD COLUMN gateway_us ${integer}`,
    `ALTER TABLE ledger ADD COLUMN in_flight ${integer}`,
    `ALTER TABLE ledger ADD COLUMN in_flight_max ${integer}`,
  ],
};
