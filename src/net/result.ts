// The outcome of a guarded request: a reply, or a failure that people can read.
import { shorten } from "../platform/text.ts";
import type { FetchFailure } from "./failure.ts";

export interface GuardedReply {
  ok: true;
  url: string;
  status: number;
  headers: Pick<Headers, "get" | "has">;
  /** Bytes as they were sent, never decompressed. */
  body: Uint8Array;
  /** The reply was longer than allowed; `body` is its beginning. */
  truncated: boolean;
}

export interface GuardedFailure {
  ok: false;
  code: "forbidden" | FetchFailure;
  /** A sentence without any IP address. */
  message: string;
  sent: boolean;
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

export function blockedResult(message: string): GuardedFailure {
  return { ok: false, code: "forbidden", message, sent: false, status: null };
}

export function failUnsent(code: FetchFailure, url: URL): GuardedFailure {
  return { ok: false, code, message: MESSAGES[code](shorten(url.host)), sent: false, status: null };
}

export function failUnderway(code: FetchFailure, url: URL, status: number | null): GuardedFailure {
  return { ...failUnsent(code, url), sent: true, status };
}
