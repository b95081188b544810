// The installation's secrets in a test: sealed with a key for its time, or with that of a file.
import type { Clock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/database/index.ts";
import { createSecrets, type Secrets } from "../../src/platform/secrets/secrets.ts";

export interface TestSecrets extends Secrets {
  /** Every line that was said of the key. */
  said: string[];
}

/** `file` null: the key lasts as long as what is returned. */
export function openTestSecrets(
  database: Database,
  clock: Clock,
  file: string | null = null,
): TestSecrets {
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  return { ...createSecrets({ database, file, clock, log: { warn: say, info: say } }), said };
}
