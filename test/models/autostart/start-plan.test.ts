// Tests what a start plan sends, and when its start has failed.
import { describe, expect, test } from "bun:test";
import {
  createStartPlan,
  createStubPlan,
  startServer,
} from "../../../src/models/autostart/start-plan.ts";
import { type FetchFailure, OWN_ACCOUNT, type TrustedEgress } from "../../../src/net/index.ts";
import type { StartSettings } from "../../../src/settings/index.ts";
import { createManualClock } from "../../support/clock.ts";

const SETTINGS: StartSettings = {
  request: "",
  command: [],
  health: "http://h/health",
  timeout_ms: 9_000,
  stop: "",
  stop_command: [],
  idle_stop_ms: 8_000,
  min_up_ms: 7_000,
};
const STAYS = new AbortController().signal;

function open(some: Partial<StartSettings>, answer: number | FetchFailure | null = 200) {
  const clock = createManualClock();
  const sent: unknown[] = [];
  const egress: TrustedEgress = {
    open(url, { connectTimeoutMs }) {
      const send: ReturnType<TrustedEgress["open"]>["get"] = (_, listener) => {
        queueMicrotask(() => {
          if (answer === null) return;
          if (typeof answer === "string") return listener.onFailure(answer);
          const head = { length: 0, isChunked: false, isKept: true, header: () => null };
          listener.onHead({ ...head, status: answer });
          listener.onEnd();
        });
        return { cut() {}, pause() {}, resume() {} };
      };
      return {
        post(body, headers, listener, account) {
          sent.push(["POST", url, body, account, connectTimeoutMs]);
          return send(headers, listener, account);
        },
        get(headers, listener, account) {
          sent.push(["GET", url, account, connectTimeoutMs]);
          return send(headers, listener, account);
        },
      };
    },
    close() {},
  };
  return { clock, sent, plan: createStartPlan({ ...SETTINGS, ...some }, { egress, clock }) };
}

describe("a plan", () => {
  test("sends the requests of its settings as the program's own", async () => {
    const { plan, sent, clock } = open({
      request: "POST http://h/up?a",
      stop: "GET http://h/down",
    });
    expect([await plan.start!(STAYS), await plan.stop!(STAYS), await plan.isUp()]).toEqual([
      ...[null, null, true],
    ]);
    expect(sent).toEqual([
      ["POST", "http://h/up?a", "", OWN_ACCOUNT, 5_000],
      ["GET", "http://h/down", OWN_ACCOUNT, 5_000],
      ["GET", "http://h/health", OWN_ACCOUNT, 5_000],
    ]);
    expect(clock.pending()).toBe(0);
    expect(plan).toMatchObject({ timeoutMs: 9_000, idleStopMs: 8_000, minUpMs: 7_000 });
  });

  test("does nothing that its settings do not name", () => {
    const { plan } = open({});
    expect([plan.start, plan.stop]).toEqual([null, null]);
    expect(open({ command: ["true"] }).plan.stop).toBeNull();
    expect(open({ request: "POST http://h/up" }).plan.stop).toBeNull();
  });

  test("runs its own command for each action", async () => {
    const { plan } = open({ command: ["sh", "-c", "exit 3"], stop_command: ["true"] });
    expect(await plan.start!(STAYS)).toBe("its command exited with 3");
    expect(await plan.stop!(STAYS)).toBeNull();
  });

  test.each([
    [199, "it answered with status 199"],
    [299, null],
    [300, "it answered with status 300"],
    ["refused" as const, "the connection was refused"],
  ])("takes %p for %p", async (answer, reason) => {
    const { plan } = open({ request: "POST http://h/up" }, answer);
    expect([await plan.start!(STAYS), await plan.isUp()]).toEqual([reason, reason === null]);
  });

  test("names an action that ran out of time", async () => {
    const { plan } = open({ request: "POST http://h/up" }, null);
    const deadline = new AbortController();
    const started = plan.start!(deadline.signal);
    deadline.abort();
    expect(await started).toBe("no answer in time");
  });
});

describe("a start", () => {
  const start = (plan: Partial<Parameters<typeof startServer>[0]>, trustsHealth = true) => {
    const clock = createManualClock();
    const whole = { isUp: async () => false, start: async () => null, timeoutMs: 5_000, ...plan };
    return { clock, result: startServer(whole, clock, trustsHealth) };
  };

  test("that ends with its time is one that took too long", async () => {
    const { clock, result } = start({
      start: (signal) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve("given up"))),
    });
    await clock.advance(5_000);
    const reason = "it was not up within 5s";
    expect(await result).toEqual({ isUp: false, code: "upstream_timeout", reason });
    expect(clock.pending()).toBe(0);
  });

  test("whose health comes after its time is too late", async () => {
    const health = Promise.withResolvers<boolean>();
    const { clock, result } = start({ isUp: () => health.promise });
    await clock.advance(5_000);
    health.resolve(true);
    expect(await result).toMatchObject({ isUp: false, code: "upstream_timeout" });
  });

  test("by a bug ends its action", async () => {
    let signal: AbortSignal | undefined;
    const { result } = start({
      isUp: () => Promise.reject(new Error("a bug")),
      start: (its) => {
        signal = its;
        return new Promise(() => {});
      },
    });
    expect(await result.catch(({ message }: Error) => message)).toBe("a bug");
    expect(signal!.aborted).toBe(true);
  });

  test("after a stop of ours trusts the health behind its action, or once it was down", async () => {
    const done = Promise.withResolvers<null>();
    const { clock, result } = start({ isUp: async () => true, start: () => done.promise }, false);
    await clock.advance(2_500);
    expect(Bun.peek.status(result)).toBe("pending");
    done.resolve(null);
    await clock.advance(500);
    expect(await result).toEqual({ isUp: true, startMs: 3_000 });
    const seen = [true, false, true];
    const other = start({ isUp: async () => seen.shift()!, start: () => new Promise(() => {}) });
    expect(await other.result).toEqual({ isUp: true, startMs: 0 });
    const down = start(
      { isUp: async () => seen.shift()!, start: () => new Promise(() => {}) },
      false,
    );
    await down.clock.advance(1_000);
    expect(await down.result).toEqual({ isUp: true, startMs: 1_000 });
  });
});

test("the server of a stub is up right after its delay, and has five seconds more", async () => {
  const clock = createManualClock();
  const server = { upAtMs: Number.POSITIVE_INFINITY };
  const plan = createStubPlan(2_000, server, clock);
  expect(plan.timeoutMs).toBe(7_000);
  await plan.start!(STAYS);
  await clock.advance(1_999);
  expect(await plan.isUp()).toBe(false);
  await clock.advance(1);
  expect(await plan.isUp()).toBe(true);
  await plan.stop!(STAYS);
  expect(await plan.isUp()).toBe(false);
});
