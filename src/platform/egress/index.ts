// The door of the two ways out: guarded for strangers' addresses, trusted for the operator's own.
export type { FetchFailure } from "./failure.ts";
export { createGuardedEgress, type GuardedEgress, type GuardedRequest } from "./guarded.ts";
export type { ReplyListener } from "./http-connection.ts";
export type { ReplyHead } from "./http-head.ts";
export type { Exchange } from "./http-pool.ts";
export {
  type GuardedFailure,
  type GuardedOutcome,
  type GuardedReply,
  isRedirect,
} from "./outcome.ts";
export {
  createTrustedEgress,
  OWN_ACCOUNT,
  type TrustedEgress,
  type TrustedServer,
} from "./trusted.ts";
export { URL_CHARACTERS_MAX, type UrlVerdict } from "./url.ts";
