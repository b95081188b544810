// Spans in the JSON of OTLP, the protocol of OpenTelemetry.
import type { Span, SpanAttributes } from "../platform/spans.ts";

/** Numbers of `SpanKind`. */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
/** Flag of a trace that is recorded. */
const SAMPLED = 1;

export interface OtlpAttribute {
  key: string;
  value: object;
}

export interface OtlpResource {
  resource: { attributes: OtlpAttribute[] };
  scope: { name: string; version: string };
}

export function writeResource(attributes: SpanAttributes, version: string): OtlpResource {
  return {
    resource: { attributes: writeAttributes(attributes) },
    scope: { name: "wadi", version },
  };
}

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

function writeAttributes(attributes: SpanAttributes): OtlpAttribute[] {
  const written: OtlpAttribute[] = [];
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) written.push({ key, value: writeValue(value) });
  }
  return written;
}

function writeValue(value: NonNullable<SpanAttributes[string]>): object {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    case "number":
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
    default:
      return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
  }
}

/** Writes text, since a number of this size would lose its last digits. */
export function writeNanoseconds(time_ms: number): string {
  const whole = Math.floor(time_ms);
  const rest = Math.floor((time_ms - whole) * 1e6);
  return `${whole}${String(rest).padStart(6, "0")}`;
}
