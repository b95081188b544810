// Finds the addresses of a URL's host, and waits for them no longer than it should.
import type { Clock } from "../platform/clock.ts";
import { hasFreeDescriptors } from "../platform/descriptors.ts";
import type { TimeLimit } from "./time-limit.ts";
import { hasIpHost } from "./url.ts";

const DNS_TIMEOUT_MS = 5_000;
/** Whoever takes the last descriptor loses it again, soon. */
const RETRY_MS = 50;

/** Every address of a name, IPv4 and IPv6. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface ResolverOptions {
  clock: Clock;
  limit: TimeLimit;
  resolve?: Resolve;
}

/**
 * Each address once, in the order in which they are to be tried; empty: the name has none, or they
 * could not be found in time.
 */
export function findAddresses(
  url: URL,
  { clock, limit, resolve = lookUp }: ResolverOptions,
): Promise<readonly string[]> {
  if (hasIpHost(url)) return Promise.resolve([url.hostname.replace(/^\[|\]$/g, "")]);
  if (limit.ended !== null) return Promise.resolve([]);
  const found = Promise.withResolvers<readonly string[]>();
  // A look-up cannot be called off: it is only waited for no longer.
  const giveUp = () => found.resolve([]);
  const cancelTimer = clock.after(DNS_TIMEOUT_MS, giveUp);
  const forget = limit.onEnd(giveUp);
  let cancelRetry = () => {};
  const ask = () => {
    resolve(url.hostname)
      .then((addresses) => [...new Set(addresses)])
      .then(found.resolve, () => {
        // The look-up itself needs some, and does not say what it lacked.
        if (hasFreeDescriptors(1)) return giveUp();
        cancelRetry = clock.after(RETRY_MS, ask);
      });
  };
  ask();
  return found.promise.finally(() => {
    cancelTimer();
    cancelRetry();
    forget();
  });
}

async function lookUp(name: string): Promise<string[]> {
  return (await Bun.dns.lookup(name)).map((answer) => answer.address);
}
