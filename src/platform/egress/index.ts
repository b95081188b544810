// The door of the two ways out: guarded for strangers' addresses, trusted for the operator's own.
export { parseAllowList } from "./allow.ts";
export { explainFetchFailure } from "./failure.ts";
export { createGuardedEgress } from "./guarded.ts";
export { createTrustedEgress, type TrustedEgress, type TrustedInit } from "./trusted.ts";
