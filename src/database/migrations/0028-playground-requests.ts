// The operator who sent a request from the playground, in the place of its key's owner.
import type { Migration } from "./migration.ts";

export const playgroundRequests: Migration = {
  number: 28,
  name: "playground requests",
  kind: "expansion",
  statements: ({ text }) => [`ALTER TABLE ledger ADD COLUMN sent_by_operator ${text}`],
};
