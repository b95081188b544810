// Agents that clients of the Model Context Protocol find as tools.
import type { Migration } from "./migration.ts";

export const exposedAgents: Migration = {
  number: 35,
  name: "exposed agents",
  kind: "expansion",
  statements: ({ integer }) => [
    `ALTER TABLE agents ADD COLUMN expose ${integer} NOT NULL DEFAULT 0`,
  ],
};
