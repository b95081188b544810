// All that an app or a verb needs of secrets, on one database and one key file.

import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { createKeyRing } from "./key-ring.ts";
import { createHash, type Hash, makeMasterKey } from "./master-key.ts";
import { type RotationOptionsRequest, rotateSecrets, type SecretRotation } from "./rotation.ts";
import { createSecretStore, type SecretStore } from "./secret-store.ts";
import { secretStore } from "./store.ts";

export interface SecretsModule extends SecretStore {
  /** A new key, with which all that is stored is sealed again, while a server may be running. */
  rotate(wish: RotationOptionsRequest): Promise<SecretRotation>;
  /**
   * For a server's start, which says what is wrong with the key and makes it where nothing was
   * sealed yet: a function that makes hashes of texts, each purpose its own. Where the key cannot
   * be had, they hold for this run.
   */
  openHashes(): Promise<(purpose: string) => Hash>;
}

export interface SecretsOptions {
  database: Database;
  /** Of the key, looked at when it is needed; null: the key lasts as long as the process. */
  file: string | null;
  clock: Clock;
  log: Pick<Log, "warn" | "info">;
}

export function createSecrets({ database, file, clock, log }: SecretsOptions): SecretsModule {
  const store = database.bind(secretStore);
  const ring = createKeyRing({ file, clock, warn: (why) => log.warn(why) });
  const box = createSecretStore({ store, ring, log });
  return {
    ...box,
    rotate: (wish) => rotateSecrets({ store, ring, ...wish }),
    async openHashes() {
      // It makes the file, unless something was sealed: then a new key would be another one.
      await box.isAvailable();
      const [newest] = ring.list();
      if (!newest) log.warn("without a secrets key, hashes in the log hold for this run only");
      const key = newest ?? makeMasterKey();
      return (purpose) => createHash(key, purpose);
    },
  };
}
