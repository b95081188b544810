// The trace that a request belongs to, as W3C Trace Context writes it in its two headers.

export interface Trace {
  /** As it came: passed on, never changed. */
  traceparent: string;
  tracestate?: string;
}

/** Version 00, and no id of zeros, which means none. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** One line of ASCII; nobody has to carry a longer one. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** null: none was sent, or none that is well formed; a trace is never worth a refusal. */
export function readTrace(headers: Headers): Trace | null {
  const traceparent = headers.get("traceparent");
  if (traceparent === null || !TRACEPARENT.test(traceparent)) return null;
  const tracestate = headers.get("tracestate");
  if (tracestate === null || !TRACESTATE.test(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}

/** The id that all requests of one trace share; undefined: there is no trace. */
export function traceIdOf(trace: Trace | null): string | undefined {
  return trace?.traceparent.slice(3, 35);
}
