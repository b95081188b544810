// What a guarded request comes to: a reply, or a failure that people can read.
import { shorten } from "../platform/text.ts";
import type { FetchFailure } from "./failure.ts";

export interface GuardedReply {
  ok: true;
  /** Where the reply came from, after redirects. */
  url: string;
  status: number;
  /** Of several under one name the first. */
  headers: Pick<Headers, "get" | "has">;
  /** As it was sent, never decompressed. */
  body: Uint8Array;
  /** The reply was longer than allowed, and `body` is its beginning. */
  truncated: boolean;
}

export interface GuardedFailure {
  ok: false;
  code: "forbidden" | FetchFailure;
  /** A sentence without any IP address in it. */
  say: string;
  /** Whether the request may have reached the other side. */
  sent: boolean;
  /** What the other side had answered before its reply broke off. */
  status: number | null;
}

export type GuardedOutcome = GuardedReply | GuardedFailure;

const sentences: Record<FetchFailure, (host: string) => string> = {
  refused: (host) => `No connection to ${host} could be made.`,
  reset: (host) => `${host} closed the connection before its reply was complete.`,
  dns: (host) => `The name ${host} could not be resolved.`,
  tls: (host) => `${host} did not show a valid certificate for its name.`,
  timeout: (host) => `${host} did not answer in time.`,
  aborted: (host) => `The request to ${host} was given up.`,
  other: (host) => `${host} did not answer with well-formed HTTP.`,
};

/** Whether a reply sends its reader elsewhere. */
export function isRedirect({ status, headers }: GuardedReply): boolean {
  return [301, 302, 303, 307, 308].includes(status) && headers.has("location");
}

/** A request that the guard did not let out. */
export function blockedResult(say: string): GuardedFailure {
  return { ok: false, code: "forbidden", say, sent: false, status: null };
}

/** A request that failed before it could be sent to the host. */
export function failUnsent(code: FetchFailure, url: URL): GuardedFailure {
  return { ok: false, code, say: sentences[code](shorten(url.host)), sent: false, status: null };
}

/** A request that failed on its way, of which the host may have had something, or all. */
export function failUnderway(code: FetchFailure, url: URL, status: number | null): GuardedFailure {
  return { ...failUnsent(code, url), sent: true, status };
}
