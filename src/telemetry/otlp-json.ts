// Parts of the JSON of OTLP, the protocol of OpenTelemetry, that spans and metrics share.
import type { SpanAttributes } from "../platform/spans.ts";

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

export function writeAttributes(attributes: SpanAttributes): OtlpAttribute[] {
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
