// The part of the cost of usage that was calculated from estimated tokens.
import type { Migration } from "./migration.ts";

export const estimatedCosts: Migration = {
  number: 22,
  name: "estimated costs",
  kind: "expansion",
  statements: ({ integer }) => [
    `ALTER TABLE usage_sums ADD COLUMN estimated_cost ${integer} NOT NULL DEFAULT 0`,
  ],
};
