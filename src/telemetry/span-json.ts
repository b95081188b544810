// Spans in the JSON of OTLP.
import type { Span } from "../platform/spans.ts";
import { type OtlpResource, writeAttributes, writeNanoseconds } from "./otlp-json.ts";

/** Numbers of `SpanKind`. */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
/** Flag of a trace that is recorded. */
const SAMPLED = 1;

/** Writes the body of `POST /v1/traces`. */
export function writeSpans({ resource, scope }: OtlpResource, spans: readonly Span[]): string {
  const scopeSpans = [{ scope, spans: spans.map(writeSpan) }];
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] });
}

function writeSpan({ context, name, kind, startedAt, endedAt, attributes, error, content }: Span) {
  const all = { ...attributes, "error.type": error, ...content };
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(context.parentId !== null && { parentSpanId: context.parentId }),
    ...(context.tracestate !== undefined && { traceState: context.tracestate }),
    flags: SAMPLED,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: writeNanoseconds(startedAt),
    endTimeUnixNano: writeNanoseconds(Math.max(startedAt, endedAt)),
    attributes: writeAttributes(all),
    ...(error !== null && { status: { code: STATUS_ERROR } }),
  };
}
