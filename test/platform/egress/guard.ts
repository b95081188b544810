// A guarded way out for tests, with name resolution and the internet behind it made up.

import { readAllowEntry } from "../../../src/platform/allow-entry.ts";
import {
  createGuardedEgress,
  type GuardedEgress,
  type GuardedOptions,
  type GuardedRequest,
} from "../../../src/platform/egress/guarded.ts";

/** A request as most tests send it. */
export const ask = {
  method: "POST",
  headers: {},
  body: "{}",
  timeout_ms: 15_000,
  response_bytes_max: 65_536,
} as const satisfies Partial<GuardedRequest>;

export const get = { ...ask, method: "GET", body: undefined } as const;

/** A guard whose operator opened these places, and which never asks the real name servers. */
export function guard(
  allowed: readonly string[],
  options: Partial<GuardedOptions> = {},
): GuardedEgress {
  const allow = allowed.map(readAllowEntry);
  const resolve = async () => ["127.0.0.1"];
  return createGuardedEgress({ resolve, allow: () => allow, ...options });
}

/** A stand-in for the internet: keeps what was dialled and answers, or fails, as it is told. */
export function pretendInternet(answer: (url: string) => Response = () => new Response("ok")) {
  const calls: { url: string; init: BunFetchRequestInit }[] = [];
  const fetch = async (url: string, init: BunFetchRequestInit) => {
    calls.push({ url, init });
    return answer(url);
  };
  return { calls, fetch, dialled: () => calls.map((call) => call.url) };
}
