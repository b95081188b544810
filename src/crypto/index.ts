// Secrets at rest, their keys, and signatures of webhooks.
import type { Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { KeyRing } from "./key-ring.ts";
import { SecretStore } from "./secret-store.ts";
import { secretStore } from "./store.ts";

export { copyKeyFile, explainKeyFile, parseKeys, readKeyFile, writeKeys } from "./key-file.ts";
export type { MasterKey } from "./master-key.ts";
export type { RotationResult } from "./rotation.ts";
export type { SecretStore, Secrets } from "./secret-store.ts";
export {
  createSecretPairs,
  RotateSecret,
  readOverlap,
  type SecretPairs,
} from "./signing/secret-pair.ts";
export {
  makeSigningSecret,
  signMessage,
  validateSigningSecret,
  verifyMessage,
} from "./signing/signature.ts";
export type { SecretOwner } from "./store.ts";

export interface SecretsOptions {
  database: Database;
  /** File of the key, read when it is needed; null where the key lasts as long as the process. */
  file: string | null;
  clock: Clock;
  log: Pick<Log, "warn" | "info">;
}

export function createSecrets({ database, file, clock, log }: SecretsOptions): SecretStore {
  const ring = new KeyRing({ file, clock, warn: (message) => log.warn(message) });
  return new SecretStore({ store: database.bind(secretStore), ring, log });
}
