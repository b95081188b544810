// Which header may carry a connection's secret: none by which a request could be broken or forged.

/** A token of RFC 9110, section 5.6.2. */
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;

const TAKEN = new Set([
  // They say where a request goes, where it ends, and what becomes of its connection.
  ...["host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["expect", "http2-settings", "range", "max-forwards"],
  // The program says these itself, or promises them to the endpoint.
  ...["accept", "accept-charset", "accept-encoding", "accept-language", "user-agent", "date"],
  ...["idempotency-key", "x-request-id", "traceparent", "tracestate", "baggage"],
  // They say who asks, on whose behalf and from where.
  ...["cookie", "cookie2", "set-cookie", "origin", "referer", "from", "via", "forwarded"],
]);
const TAKEN_STARTS = ["content-", "webhook-", "proxy-", "sec-", "if-", "x-forwarded-"];

export function isHeaderName(text: string): boolean {
  return TOKEN.test(text);
}

/** `Authorization` may: some endpoints want another scheme than Bearer in it. */
export function mayCarrySecret(header_name: string): boolean {
  const name = header_name.toLowerCase();
  return !TAKEN.has(name) && !TAKEN_STARTS.some((start) => name.startsWith(start));
}
