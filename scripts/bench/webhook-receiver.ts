// A process that receives webhooks: at /live it takes them, at /fail it refuses, at /hang it stays silent.

/** Arrivals at /live since the last GET /arrivals, which returns them. */
export interface Arrivals {
  /** Milliseconds since 1970 of each arrival. */
  came_at: number[];
  /** Measured from the time of its event. */
  late_ms: number[];
  /** Events that came more than once to one address. */
  repeated: number;
}

const CREATED_AT = /"created_at":"([^"]+)"/;

const make = (): Arrivals => ({ came_at: [], late_ms: [], repeated: 0 });
let arrivals = make();
const seen = new Set<string>();

const take = async (path: string, request: Request): Promise<Response> => {
  const came_at = performance.timeOrigin + performance.now();
  const text = await request.text();
  const key = `${path} ${request.headers.get("webhook-id")}`;
  if (seen.has(key)) arrivals.repeated += 1;
  seen.add(key);
  arrivals.came_at.push(came_at);
  arrivals.late_ms.push(came_at - Date.parse(CREATED_AT.exec(text)![1]!));
  return new Response(null, { status: 204 });
};

const server = Bun.serve({
  ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/live")) return take(pathname, request);
    if (pathname.startsWith("/fail")) return new Response("Not now.", { status: 500 });
    if (pathname.startsWith("/hang")) return new Promise<Response>(() => {});
    const before = arrivals;
    if (pathname === "/count") return Response.json(before.came_at.length);
    arrivals = make();
    seen.clear();
    return Response.json(before);
  },
});
console.log(`http://127.0.0.1:${server.port}`);
