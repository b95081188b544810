// Columns for the address of an attempt, its signatures, and the last answer of an endpoint.
import type { Migration } from "./migration.ts";

export const sentAttempts: Migration = {
  number: 26,
  name: "sent attempts",
  kind: "expansion",
  statements: ({ integer, text }) => [
    `ALTER TABLE delivery_attempts ADD COLUMN url ${text}`,
    `ALTER TABLE delivery_attempts ADD COLUMN signatures ${integer}`,
    `ALTER TABLE webhook_endpoints ADD COLUMN last_answer_at ${integer}`,
    `ALTER TABLE webhook_endpoints ADD COLUMN last_answer_status ${integer}`,
    `ALTER TABLE webhook_endpoints ADD COLUMN last_answer_error ${text}`,
  ],
};
