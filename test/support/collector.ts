// A collector of OpenTelemetry that keeps what it gets, and reads the spans in it.

type Value = Record<string, unknown>;
interface WrittenSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Value }[];
  status?: { code: number };
}

export interface CollectedSpan extends Omit<WrittenSpan, "attributes" | "status"> {
  attributes: Record<string, unknown>;
  isError: boolean;
}

export interface Collected {
  path: string;
  headers: Headers;
  text: string;
}

export function startCollector() {
  const requests: Collected[] = [];
  let respond = () => Response.json({});
  let arrival = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname: path } = new URL(request.url);
      requests.push({ path, headers: request.headers, text: await request.text() });
      arrival.resolve();
      arrival = Promise.withResolvers();
      return respond();
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    /** Replaces the reply to later requests. */
    reply(next: () => Response) {
      respond = next;
    },
    /** Resolves with the next request. */
    next: () => arrival.promise,
    spans: () => requests.filter(({ path }) => path === "/v1/traces").flatMap(readSpans),
    stop: () => server.stop(true),
  };
}

export function readSpans({ text }: Pick<Collected, "text">): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(text) as {
    resourceSpans: { scopeSpans: { spans: WrittenSpan[] }[] }[];
  };
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans));
  return spans.map(({ attributes, status, ...span }) => ({
    ...span,
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)])),
    isError: status?.code === 2,
  }));
}

function readValue(value: Value): unknown {
  if ("intValue" in value) return Number(value.intValue);
  if (!("arrayValue" in value)) return Object.values(value)[0];
  return (value.arrayValue as { values: Value[] }).values.map(readValue);
}
