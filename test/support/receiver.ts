// An endpoint of tools on loopback that records requests, and answers or not.

export interface Arrived {
  path: string;
  key: string;
  id: string;
  body: string;
}

export interface Endpoint extends AsyncDisposable {
  host: string;
  arrivals: readonly Arrived[];
  came(count: number): Promise<void>;
  /** Leaves later requests unanswered. */
  hang(isHanging: boolean): void;
}

export function openEndpoint(): Endpoint {
  const arrivals: Arrived[] = [];
  let isHanging = false;
  const waiting = new Map<number, () => void>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const body = await request.text();
      const key = request.headers.get("idempotency-key")!;
      const id = request.headers.get("webhook-id")!;
      arrivals.push({ path: new URL(request.url).pathname, key, id, body });
      waiting.get(arrivals.length)?.();
      if (isHanging) await new Promise(() => {});
      return Response.json({ done: true });
    },
  });
  return {
    host: `127.0.0.1:${server.port}`,
    arrivals,
    came(count) {
      if (arrivals.length >= count) return Promise.resolve();
      return new Promise((resolve) => waiting.set(count, resolve));
    },
    hang(is) {
      isHanging = is;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
