// Secrets of an app or a command, on one database and one key file.
import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { createKeyRing } from "./key-ring.ts";
import { createHash, type Hash, makeMasterKey } from "./master-key.ts";
import { type RotationRequest, type RotationResult, rotateSecrets } from "./rotation.ts";
import { SecretStore, type SecretStoreOptions } from "./secret-store.ts";
import { secretStore } from "./store.ts";

export interface SecretsOptions {
  database: Database;
  /** File of the key, read when it is needed; null where the key lasts as long as the process. */
  file: string | null;
  clock: Clock;
  log: Pick<Log, "warn" | "info">;
}

export function createSecrets({ database, file, clock, log }: SecretsOptions): SecretsModule {
  const ring = createKeyRing({ file, clock, warn: (message) => log.warn(message) });
  return new SecretsModule({ store: database.bind(secretStore), ring, log });
}

export class SecretsModule extends SecretStore {
  readonly #options: SecretStoreOptions;

  constructor(options: SecretStoreOptions) {
    super(options);
    this.#options = options;
  }

  rotate(request: RotationRequest): Promise<RotationResult> {
    const { store, ring } = this.#options;
    return rotateSecrets({ store, ring, ...request });
  }

  /**
   * Opens hashes for a server's start, each purpose with its own. Makes the key where nothing was
   * sealed yet, and logs a faulty one; hashes without a key hold for this run.
   */
  async openHashes(): Promise<(purpose: string) => Hash> {
    // Makes the file, unless sealed secrets need the missing one.
    await this.isAvailable();
    const [newest] = this.#options.ring.list();
    if (!newest) {
      this.#options.log.warn("without a secrets key, hashes in the log hold for this run only");
    }
    const key = newest ?? makeMasterKey();
    return (purpose) => createHash(key, purpose);
  }
}
