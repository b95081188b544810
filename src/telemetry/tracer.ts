// The tracer: decides which traces are recorded, and hands their spans to the exporter.
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Span, SpanContext, Tracer } from "../platform/spans.ts";
import { isRecorded, spanIdOf, type Trace, traceIdOf } from "../platform/trace.ts";

export interface TracerOptions {
  /** Share of recorded traces, from 0 to 1. */
  sample: number;
  hasContent: boolean;
  clock: Clock;
  ids: Pick<Ids, "uuid">;
  take(span: Span): void;
}

/** Digits of a trace id by which it is sampled: the random ones of UUIDs, too. */
const SAMPLED_DIGITS = 13;
/** Difference above which the wall clock was set. */
const SKEW_MS_MAX = 10;

export class SampledTracer implements Tracer {
  readonly hasContent: boolean;
  readonly #options: TracerOptions;
  /** Wall time at which the monotonic clock was 0. */
  #epoch: number;

  constructor(options: TracerOptions) {
    const { clock, hasContent } = options;
    this.hasContent = hasContent;
    this.#options = options;
    this.#epoch = clock.now() - clock.monotonic();
  }

  /** Follows the wall clock with the resolution of the monotonic one. */
  now(): number {
    const { clock } = this.#options;
    const monotonic = clock.monotonic();
    const skew = clock.now() - monotonic - this.#epoch;
    if (Math.abs(skew) > SKEW_MS_MAX) this.#epoch += skew;
    return this.#epoch + monotonic;
  }

  begin(parent: Trace | null): SpanContext | null {
    if (parent && !isRecorded(parent)) return null;
    const traceId = traceIdOf(parent) ?? this.#drawDigits();
    if (!this.isSampled(traceId)) return null;
    return {
      traceId,
      spanId: this.#drawDigits().slice(16),
      parentId: parent && spanIdOf(parent),
      tracestate: parent?.tracestate,
    };
  }

  isSampled(traceId: string): boolean {
    const { sample } = this.#options;
    const drawn = Number.parseInt(traceId.slice(-SAMPLED_DIGITS), 16);
    return sample === 1 || drawn / 16 ** SAMPLED_DIGITS < sample;
  }

  record(span: Span): void {
    this.#options.take(span);
  }

  #drawDigits(): string {
    return this.#options.ids.uuid().replaceAll("-", "");
  }
}
