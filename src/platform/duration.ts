// Durations as people write them, "500ms", "5s", "10m", "24h", "90d", and as whole milliseconds.

/** Largest first, so that writing finds the shortest form. */
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

const DURATION = /^(\d+)(ms|s|m|h|d)$/;

/** Milliseconds of a duration such as "90d"; else a RangeError whose message is "must be …". */
export function parseDuration(text: string): number {
  const [, count, name] = DURATION.exec(text) ?? [];
  const unitMs = UNITS.find(([unit]) => unit === name)?.[1];
  const duration_ms = unitMs === undefined ? Number.NaN : Number(count) * unitMs;
  if (!Number.isSafeInteger(duration_ms)) {
    throw new RangeError('must be a duration such as "500ms", "5s", "10m", "24h" or "90d"');
  }
  return duration_ms;
}

/** The shortest text that parses to the same number of milliseconds: 120000 is "2m". */
export function formatDuration(duration_ms: number): string {
  if (!Number.isSafeInteger(duration_ms) || duration_ms < 0) {
    throw new RangeError(`no duration: ${duration_ms}`);
  }
  if (duration_ms === 0) return "0s";
  const [name, unitMs] = UNITS.find(([, ms]) => duration_ms % ms === 0)!;
  return `${duration_ms / unitMs}${name}`;
}
