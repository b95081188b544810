// Secrets at rest, their keys, and signatures of webhooks.
export { explainKeyFile, readKeyFile } from "./key-file.ts";
export { createSecrets, type SecretsModule } from "./module.ts";
export type { RotationResult } from "./rotation.ts";
export type { Secrets } from "./secret-store.ts";
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
