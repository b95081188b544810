// The outcome of a guarded request: a reply, or a failure that people can read.
import { shorten } from "../platform/text.ts";
import type { FetchFailure } from "./failure.ts";

export interface GuardedReply {
  ok: true;
  /** The address of the reply, after redirects. */
  url: string;
  status: number;
  /** The first value of each name. */
  headers: Pick<Headers, "get" | "has">;
  /** As it was sent, never decompressed. */
  body: Uint8Array;
  /** The reply was longer than allowed; `body` is its beginning. */
  truncated: boolean;
}

export interface GuardedFailure {
  ok: false;
  code: "forbidden" | FetchFailure;
  /** A sentence without any IP address. */
  message: string;
  /** The other side may have received something of the request. */
  sent: boolean;
  /** Status of a reply that broke off. */
  status: number | null;
}

export type GuardedOutcome = GuardedReply | GuardedFailure;

const MESSAGES: Record<FetchFailure, (host: string) => string> = {
  refused: (host) => `No connection to ${host} could be made.`,
  reset: (host) => `${host} closed the connection before its reply was complete.`,
  dns: (host) => `The name ${host} could not be resolved.`,
  tls: (host) => `${host} did not show a valid certificate for its name.`,
  timeout: (host) => `${host} did not answer in time.`,
  aborted: (host) => `The request to ${host} was given up.`,
  other: (host) => `${host} did not answer with well-formed HTTP.`,
};

export function isRedirect({ status, headers }: GuardedReply): boolean {
  return [301, 302, 303, 307, 308].includes(status) && headers.has("location");
}

/** A request that the guard refused to send. */
export function blockedResult(message: string): GuardedFailure {
  return { ok: false, code: "forbidden", message, sent: false, status: null };
}

/** A request that failed before anything was sent. */
export function failUnsent(code: FetchFailure, url: URL): GuardedFailure {
  return { ok: false, code, message: MESSAGES[code](shorten(url.host)), sent: false, status: null };
}

/** A request that failed when the host may have received something, or all. */
export function failUnderway(code: FetchFailure, url: URL, status: number | null): GuardedFailure {
  return { ...failUnsent(code, url), sent: true, status };
}
