// Secrets at rest, their keys, and signatures of webhooks.
export { explainKeyFile, readKeyFile } from "./key-file.ts";
export { createSecrets, type SecretsModule } from "./module.ts";
export type { SecretRotation } from "./rotation.ts";
export type { SecretStore } from "./secret-store.ts";
export { RotateSecret, readOverlap } from "./signing/rotation.ts";
export { makeSigningSecret, validateSigningSecret } from "./signing/secret.ts";
export { createSecretPairs, type SecretPairs } from "./signing/secret-pair.ts";
export { signMessage, verifyMessage } from "./signing/signature.ts";
export type { SecretOwner } from "./store.ts";
