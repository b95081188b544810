// Tests what a metered request costs by its end, and what is recorded of the shared capacity.
import { expect, test } from "bun:test";
import { InFlight } from "../../../src/gateway/in-flight.ts";
import {
  type MeteredContext,
  MeteredExecution,
  type MeteredExecutionOptions,
} from "../../../src/gateway/metered/execution.ts";
import type { MeteredBackend, MeteredPlan } from "../../../src/gateway/metered/service.ts";
import type { RecordedOk } from "../../../src/gateway/request-log/recorder.ts";
import type { CompletionStats, UpstreamError } from "../../../src/models/index.ts";
import { apiError } from "../../../src/platform/errors.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createManualClock, type ManualClock } from "../../support/clock.ts";

type Result = (RecordedOk | UpstreamError) & CompletionStats;

const FAILED: UpstreamError = {
  ...{ ok: false, code: "upstream_error", reason: "it broke off", retryable: true },
};
const USAGE = { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 };

/** Runs one request of a caller with limits, which may use 10 tokens; returns what it settles. */
async function settle(work: (state: { inUse: number; clock: ManualClock }) => Promise<Result>) {
  const clock = createManualClock();
  /** Slots in use. */
  const state = { inUse: 2, clock };
  const settled: unknown[] = [];
  const lines: unknown[] = [];
  const reservation = {
    settle: (used: object, isEstimated: boolean) => void settled.push({ ...used, isEstimated }),
    release: () => void settled.push("released"),
  };
  const execution = new MeteredExecution({
    ...{ clock, running: new InFlight(), route: "r", backendName: "embedder" },
    writeHeaders: () => ({}),
    log: createLog(clock, (line) => void lines.push(JSON.parse(line)), false),
    budgets: { check: async () => {}, reserve: async () => reservation },
    service: {
      async use(_caller: unknown, _signal: unknown, timed: (backend: object) => unknown) {
        await clock.advance(30);
        return timed({});
      },
      ...{ capacity: { status: () => ({ inUse: state.inUse }) }, plan: { max_concurrent: 4 } },
    },
  } as unknown as MeteredExecutionOptions<MeteredPlan, MeteredBackend>);
  const context = {
    ...{ caller: { limits: {} }, signal: new AbortController().signal },
    recorder: { markAsked() {}, setResult() {} },
    charge: { countTokens: () => 10, costOf: (tokens: number) => tokens * 5 },
  } as unknown as MeteredContext<MeteredBackend>;
  const result = await execution.run(context, () => work(state)).catch((bug: Error) => bug.message);
  return { settled, result, lines, execution };
}

const ok = (isEstimated: boolean) =>
  ({ ok: true, usage: USAGE, usageEstimated: isEstimated }) as unknown as Result;

test.each([
  ["a reply, its usage", async () => ok(false), { tokens: 3, cost: 15, isEstimated: false }],
  ["a reply without a count, its estimate", async () => ok(true), { tokens: 3, isEstimated: true }],
  ["a failure after it was sent, its maximum", async () => ({ ...FAILED }), { tokens: 10 }],
  ["a bug, its maximum", () => Promise.reject(new Error("a bug")), { tokens: 10, cost: 50 }],
] as const)("a request is charged after %s", async (_, work, charge) => {
  const { settled } = await settle(work);
  expect(settled).toHaveLength(1);
  expect(settled).toMatchObject([charge]);
});

test("a request that no server was asked for costs nothing", async () => {
  const { settled } = await settle(async () => ({ ...FAILED, attempts: 0 }));
  expect(settled).toEqual(["released"]);
});

test("a result tells how many requests held a slot, and how many may", async () => {
  const { result } = await settle(async () => ok(false));
  expect(result).toMatchObject({ inFlight: 2, inFlightMax: 4 });
});

test("requests that end meanwhile count, and the work itself is no wait", async () => {
  const { result } = await settle(async (state) => {
    state.inUse = 1;
    await state.clock.advance(500);
    return { ...ok(false), waitedMs: 7 };
  });
  expect(result).toMatchObject({ inFlight: 2, waitedMs: 37 });
});

test("gateway.errors.headers.retry_after is never earlier than the server's", async () => {
  const { execution } = await settle(async () => ok(false));
  const busy = { ...FAILED, code: "upstream_rate_limited", retryAfterMs: 1_001 } as const;
  const { headers } = execution.toApiError(busy).details;
  expect(headers).toEqual({ "retry-after": "2" });
});

test.each([
  ["client_closed_request", [{ level: "info", code: "client_closed_request", status: 499 }]],
  ["capacity_exceeded", []],
] as const)("a wait that ends with %s is logged if its caller left", async (code, expected) => {
  const { lines } = await settle(() => Promise.reject(apiError(code)));
  expect(lines).toHaveLength(expected.length);
  expect(lines).toMatchObject([...expected]);
});
