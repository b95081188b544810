// Durations as people write them ("500ms", "5s", "10m", "24h", "90d") and as milliseconds.

/** Units, largest first, so that `formatDuration` finds the shortest form. */
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

const DURATION = /^(\d+)(ms|s|m|h|d)$/;

/** Reads "90d" as milliseconds; throws a RangeError whose message is "must be …". */
export function parseDuration(text: string): number {
  const [, count, name] = DURATION.exec(text) ?? [];
  const unitMs = UNITS.find(([unit]) => unit === name)?.[1];
  const durationMs = unitMs === undefined ? Number.NaN : Number(count) * unitMs;
  if (!Number.isSafeInteger(durationMs)) {
    throw new RangeError('must be a duration such as "500ms", "5s", "10m", "24h" or "90d"');
  }
  return durationMs;
}

export function formatDuration(durationMs: number): string {
  if (!Number.isSafeInteger(durationMs) || durationMs < 0) {
    throw new RangeError(`no duration: ${durationMs}`);
  }
  if (durationMs === 0) return "0s";
  const [name, unitMs] = UNITS.find(([, ms]) => durationMs % ms === 0)!;
  return `${durationMs / unitMs}${name}`;
}
