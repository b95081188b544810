// The way out to servers that the operator's own file names, over one pool of open connections.
import { explainFetchFailure } from "./failure.ts";

// Bun moves its socket timer in steps of four seconds, and keeps at most 64 idle connections.
const idle_seconds = 30;

export interface TrustedInit {
  method?: string;
  headers?: Record<string, string>;
  /** Only what can be sent a second time, so no streams. */
  body?: string | Uint8Array<ArrayBuffer>;
  signal?: AbortSignal;
}

export interface TrustedEgress {
  /**
   * As the global `fetch`, without proxy and without following redirects; rejects as `fetch` does.
   */
  fetch(url: string, init?: TrustedInit): Promise<Response>;
  /** Closes the idle connections; requests in flight finish. */
  close(): void;
}

/** Opens the trusted way out, with a pool of its own. */
export function createTrustedEgress(): TrustedEgress {
  const session = new Bun.FetchSession({ proxy: false, keepAlive: { idleTimeout: idle_seconds } });
  // Origins that answered once: only to them can a connection lie in the pool. They all stand in
  // the operator's file, so the set stays small.
  const answered = new Set<string>();

  async function send(url: string, init: TrustedInit = {}): Promise<Response> {
    const options = { ...init, redirect: "manual", proxy: false } as const;
    const origin = takeOrigin(url);
    const mayBePooled = answered.has(origin);
    try {
      const response = await session.fetch(url, options);
      answered.add(origin);
      return response;
    } catch (error) {
      // A peer may close a pooled connection just as it is taken up. Bun itself then sends a GET
      // once more, but not a POST. A connection of its own cannot fail for that reason again.
      const isStale = mayBePooled && explainFetchFailure(error) === "reset";
      if (!isStale || init.method !== "POST") throw error;
      return session.fetch(url, { ...options, keepalive: false });
    }
  }

  return { fetch: send, close: () => session.close() };
}

/** What stands in front of an absolute URL's path: good enough to compare, at no price. */
function takeOrigin(url: string): string {
  const end = url.indexOf("/", url.indexOf("://") + 3);
  return end === -1 ? url : url.slice(0, end);
}
