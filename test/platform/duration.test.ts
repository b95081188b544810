// Tests durations as text and as whole milliseconds.
import { describe, expect, test } from "bun:test";
import { formatDuration, parseDuration } from "../../src/platform/duration.ts";

describe("parseDuration", () => {
  test.each([
    ["500ms", 500],
    ["5s", 5_000],
    ["120s", 120_000],
    ["10m", 600_000],
    ["24h", 86_400_000],
    ["90d", 7_776_000_000],
    ["0s", 0],
  ])("%s is %d milliseconds", (text, duration_ms) => {
    expect(parseDuration(text)).toBe(duration_ms);
  });

  test.each([
    "",
    "5",
    "s",
    "5 s",
    " 5s",
    "5s\n",
    "-5s",
    "1.5h",
    "1h30m",
    "5S",
    "5sec",
    "2w",
    "1y",
    "1e3s",
    "٥s",
    "9007199254740992ms",
    "104249992d",
    `${"9".repeat(10_000)}d`,
  ])("%j is no duration", (text) => {
    expect(() => parseDuration(text)).toThrow(
      new RangeError('must be a duration such as "500ms", "5s", "10m", "24h" or "90d"'),
    );
  });
});

describe("formatDuration", () => {
  test("the largest unit that divides the duration is used", () => {
    expect(formatDuration(0)).toBe("0s");
    expect(formatDuration(1)).toBe("1ms");
    expect(formatDuration(1_500)).toBe("1500ms");
    expect(formatDuration(120_000)).toBe("2m");
    expect(formatDuration(86_400_000)).toBe("1d");
  });

  test.each([-1, 0.5, Number.NaN])("%d is a bug, not a duration", (duration_ms) => {
    expect(() => formatDuration(duration_ms)).toThrow(RangeError);
  });

  test("formatted text parses to the same duration", () => {
    for (let duration_ms = 1, step = 0; step < 20_000; step++) {
      duration_ms = (duration_ms * 48_271) % 2_147_483_647;
      for (const scale of [1, 1_000, 60_000]) {
        expect(parseDuration(formatDuration(duration_ms * scale))).toBe(duration_ms * scale);
      }
    }
  });
});
