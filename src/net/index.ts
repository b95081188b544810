// Outgoing HTTP, guarded for strangers' addresses and trusted for the operator's; incoming sockets.

export { type AllowEntry, readAllowEntry, writeAllowEntry } from "./allow-list.ts";
export { type ConnectionGuardOptions, guardConnections } from "./connection-guard.ts";
export type { FetchFailure } from "./failure.ts";
export { GuardedEgress, type GuardedRequest } from "./guarded.ts";
export type { ReplyListener } from "./http-connection.ts";
export type { ReplyHead } from "./http-head.ts";
export type { Exchange } from "./http-pool.ts";
export {
  type Address,
  isLoopback,
  isWithin,
  type Network,
  nameClient,
  readAddress,
  readNetwork,
} from "./ip-address.ts";
export { type JsonReply, requestJson } from "./json-request.ts";
export { openProcessSockets } from "./process-sockets.ts";
export {
  type GuardedFailure,
  type GuardedOutcome,
  type GuardedReply,
  isRedirect,
} from "./result.ts";
export { clampRetryAfter, readRetryAfter } from "./retry-after.ts";
export { attractConnections, findSharedPort, sharePort } from "./reuse-port.ts";
export { openTextStream } from "./text-stream.ts";
export {
  createTrustedEgress,
  OWN_ACCOUNT,
  type TrustedEgress,
  type TrustedServer,
} from "./trusted.ts";
export type { UrlCheck } from "./url.ts";
