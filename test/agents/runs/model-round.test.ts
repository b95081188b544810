// Retries of a failed model.
import { describe, expect, test } from "bun:test";
import { planRetry } from "../../../src/agents/runs/model-round.ts";

const first = { attempts: 1, elapsedMs: 0 };

describe("a model that failed", () => {
  test("is retried after one second, then two, four, half a minute at most", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7].map((attempts) =>
      planRetry({ code: "model_offline" }, { attempts, elapsedMs: 0 }, 0.5),
    );
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test("is retried with a jitter of a quarter either way", () => {
    expect(planRetry({ code: "upstream_error" }, first, 0)).toBe(750);
    expect(planRetry({ code: "upstream_error" }, first, 0.999)).toBe(1_250);
  });

  test("is not retried before its Retry-After, and not at all if that is too long", () => {
    const failure = { code: "upstream_rate_limited", retry_after_ms: 42_000 } as const;
    expect(planRetry(failure, first, 0)).toBe(42_000);
    expect(planRetry({ ...failure, retry_after_ms: 600_000 }, first, 0)).toBe(600_000);
    expect(planRetry({ ...failure, retry_after_ms: 600_001 }, first, 0)).toBeNull();
    expect(planRetry({ code: "upstream_error", retry_after_ms: 30_001 }, first, 0)).toBeNull();
  });

  test.each(["upstream_error", "upstream_timeout", "model_unavailable", "internal_error"] as const)(
    "with %s is tried four times within half a minute",
    (code) => {
      expect(planRetry({ code }, { attempts: 3, elapsedMs: 3_000 }, 0)).toBe(3_000);
      expect(planRetry({ code }, { attempts: 4, elapsedMs: 3_000 }, 0)).toBeNull();
      expect(planRetry({ code }, { attempts: 2, elapsedMs: 29_000 }, 0)).toBeNull();
    },
  );

  test.each(["upstream_rate_limited", "no_model_available", "capacity_exceeded"] as const)(
    "with %s is retried for ten minutes",
    (code) => {
      expect(planRetry({ code }, { attempts: 30, elapsedMs: 560_000 }, 0)).toBe(22_500);
      expect(planRetry({ code }, { attempts: 30, elapsedMs: 590_000 }, 0)).toBeNull();
    },
  );

  test("waits for a limit as long as its period lasts, and never for one that is final", () => {
    const DAY_MS = 86_400_000;
    const limit = { code: "rate_limit_exceeded", retry_after_ms: 30 * DAY_MS } as const;
    expect(planRetry(limit, { attempts: 9, elapsedMs: DAY_MS }, 0)).toBe(30 * DAY_MS);
    expect(planRetry({ ...limit, retry_after_ms: 1_000 }, { attempts: 9, elapsedMs: 0 }, 0)).toBe(
      22_500,
    );
    expect(planRetry({ ...limit, isFinal: true }, first, 0)).toBeNull();
  });

  test.each(["invalid_request", "model_not_found", "permission_denied"] as const)(
    "with %s is not retried",
    (code) => expect(planRetry({ code }, first, 0)).toBeNull(),
  );
});
