// The last characters of a key's secrets, by which people tell keys apart.
import type { Migration } from "./migration.ts";

export const keyEndings: Migration = {
  number: 27,
  name: "key endings",
  kind: "expansion",
  // Only the hash of older secrets is stored, so that theirs stay unknown.
  statements: ({ text }) => [`ALTER TABLE key_secrets ADD COLUMN ends_in ${text}`],
};
