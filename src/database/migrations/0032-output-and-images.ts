// The form of an agent's output, and images that runs are asked about.
import type { Migration } from "./migration.ts";

export const outputAndImages: Migration = {
  number: 32,
  name: "output and images",
  kind: "expansion",
  statements: ({ integer, text, strict }) => [
    `ALTER TABLE agent_versions ADD COLUMN output_schema ${text}`,
    // Parts of a message with images; the images stand below, and go with their run.
    `ALTER TABLE messages ADD COLUMN parts ${text}`,
    `CREATE TABLE run_images (
      run_id ${text} NOT NULL,
      place ${integer} NOT NULL,
      url ${text} NOT NULL,
      PRIMARY KEY (run_id, place)
    )${strict}`,
  ],
};
