// Switches of models; a row stays when the settings drop its model.
import type { Migration } from "./migration.ts";

export const statesOfModels: Migration = {
  number: 2,
  name: "states of models",
  statements: ({ integer }) => [
    `ALTER TABLE models ADD COLUMN is_off ${integer} NOT NULL DEFAULT 0`,
    `ALTER TABLE models ADD COLUMN is_blocked ${integer} NOT NULL DEFAULT 0`,
  ],
};
