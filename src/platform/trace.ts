// The trace of a request: the two headers of W3C Trace Context.

export interface Trace {
  traceparent: string;
  tracestate?: string;
}

/** Pattern of version 00; an id of zeros is invalid. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Pattern of a value; the standard lets receivers drop longer ones. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Reads a well-formed trace; a malformed one is ignored rather than refused. */
export function readTrace(headers: Headers): Trace | null {
  const traceparent = headers.get("traceparent");
  if (traceparent === null || !TRACEPARENT.test(traceparent)) return null;
  const tracestate = headers.get("tracestate");
  if (tracestate === null || !TRACESTATE.test(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}

export function traceIdOf(trace: Trace | null): string | undefined {
  return trace?.traceparent.slice(3, 35);
}

export function spanIdOf({ traceparent }: Trace): string {
  return traceparent.slice(36, 52);
}

/** The caller records the trace, and asks others to do so. */
export function isRecorded({ traceparent }: Trace): boolean {
  return (Number.parseInt(traceparent.slice(53), 16) & 1) === 1;
}
