// Secrets in a test, sealed with a temporary key or a key file.

import { createSecrets, type SecretStore } from "../../src/crypto/index.ts";
import type { Database } from "../../src/database/index.ts";
import type { Clock } from "../../src/platform/clock.ts";

export type TestSecrets = SecretStore & {
  said: string[];
};

/** Without a file the key lives as long as the returned object. */
export function openTestSecrets(
  database: Database,
  clock: Clock,
  file: string | null = null,
): TestSecrets {
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const secrets = createSecrets({ database, file, clock, log: { warn: say, info: say } });
  return Object.assign(secrets, { said });
}
