// Spans of traces: where each stands, and the tracer that takes them.
import type { Trace } from "./trace.ts";

export interface SpanContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** The root of a trace has none. */
  parentId: string | null;
  tracestate?: string | undefined;
}

export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | null | undefined>
>;

export interface Span {
  context: SpanContext;
  name: string;
  kind: "internal" | "server" | "client";
  /** Milliseconds since 1970 with fractions, as `Tracer.now` returns them. */
  startedAt: number;
  endedAt: number;
  /** Attributes that are null or undefined are left out. */
  attributes: SpanAttributes;
  /** Code of the failure; null: there was none. */
  error: string | null;
  /** Texts of callers and models as JSON; only with `hasContent`. */
  content?: Readonly<Record<string, string>> | undefined;
}

export interface Tracer {
  /** Spans may hold the texts of callers and models. */
  readonly hasContent: boolean;
  now(): number;
  /** Begins a span in a trace, or a new trace; null: the trace is not recorded. */
  begin(parent: Trace | null): SpanContext | null;
  isSampled(traceId: string): boolean;
  record(span: Span): void;
}

/** Writes the headers for what the span calls. */
export function writeTrace({ traceId, spanId, tracestate }: SpanContext): Trace {
  const traceparent = `00-${traceId}-${spanId}-01`;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
