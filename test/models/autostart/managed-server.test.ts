// Tests a managed server: shared starts, failures and backoff, idle stops, and its stored state.
import { describe, expect, test } from "bun:test";
import { HealthProbe } from "../../../src/models/autostart/health-probe.ts";
import { findUsualStart, managedServerStore } from "../../../src/models/autostart/store.ts";
import { NOBODY, openBench } from "./bench.ts";

const OFFLINE = "model_offline";
/** A caller who does not leave. */
const STAYS = new AbortController().signal;

describe("a start", () => {
  test("is shared by all waiting callers, who continue in order of arrival", async () => {
    await using bench = await openBench();
    const { clock, server, call, ended } = bench;
    for (let n = 0; n < 5; n++) void call(n);
    await clock.advance(20_000);
    for (let n = 5; n < 10; n++) void call(n);
    await clock.advance(20_000);
    expect([server.starts, ended]).toEqual([1, []]);
    server.isHealthy = true;
    await clock.advance(1_000);
    expect(ended).toEqual(Array.from({ length: 10 }, (_, n) => `${n} up`));
    void call("late");
    await clock.advance(0);
    expect([server.starts, ended.at(-1)]).toEqual([1, "late up"]);
    expect(bench.lines).toEqual([
      "info  autostart: model server is being started upstream=gpu:8000",
      "info  autostart: model server is up upstream=gpu:8000 duration_ms=41000 usual_ms=41000",
    ]);
  });

  test("drops a departed caller at once, and continues without any", async () => {
    await using bench = await openBench();
    const { clock, server, call, ended } = bench;
    const callers = Array.from({ length: 4 }, () => new AbortController());
    for (const [n, { signal }] of callers.entries()) void call(n, signal);
    await clock.advance(5_000);
    callers[2]!.abort();
    callers[0]!.abort();
    await clock.advance(0);
    expect(ended).toEqual(["2 client_closed_request", "0 client_closed_request"]);
    for (const caller of callers) caller.abort();
    server.isHealthy = true;
    await clock.advance(1_000);
    expect([server.starts, bench.managed.isUp, ended.slice(2)]).toEqual([
      1,
      true,
      ["1 client_closed_request", "3 client_closed_request"],
    ]);
  });

  test("does not happen for a caller who has left", async () => {
    await using bench = await openBench();
    await bench.call("gone", AbortSignal.abort());
    await bench.clock.advance(1_000);
    expect([bench.ended, bench.server.starts]).toEqual([["gone client_closed_request"], 0]);
  });

  test("does not happen if the server already runs", async () => {
    await using bench = await openBench({ isHeld: false });
    bench.server.isHealthy = true;
    await bench.call(1);
    expect([bench.ended, bench.server.starts, await bench.state()]).toEqual([["1 up"], 0, "up"]);
  });

  test("without a start action only waits for the server", async () => {
    await using bench = await openBench({ plan: { start: null } });
    void bench.call(1);
    await bench.clock.advance(30_000);
    bench.server.isHealthy = true;
    await bench.clock.advance(1_000);
    expect(bench.ended).toEqual(["1 up"]);
  });

  test("may still run once the server is up: a command may stay in the foreground", async () => {
    await using bench = await openBench();
    let startSignal: AbortSignal | undefined;
    bench.server.start = (signal) => {
      startSignal = signal;
      return new Promise(() => {});
    };
    void bench.call(1);
    await bench.clock.advance(5_000);
    bench.server.isHealthy = true;
    await bench.clock.advance(700_000);
    expect([bench.ended, startSignal!.aborted]).toEqual([["1 up"], false]);
  });

  test("refuses a caller beyond a thousand waiting ones", async () => {
    await using bench = await openBench();
    for (let n = 0; n < 1_000; n++) void bench.call(n);
    await bench.call("one more");
    expect(bench.ended).toEqual(["one more upstream_rate_limited"]);
    bench.server.isHealthy = true;
    await bench.clock.advance(1_000);
    expect(bench.ended).toHaveLength(1_001);
    expect(bench.ended.at(-1)).toBe("999 up");
  });

  test("drops the newest caller of the account with the most for another account", async () => {
    await using bench = await openBench();
    for (let n = 0; n < 998; n++) void bench.call(n);
    const call = (name: string) => void bench.call(name, undefined, "account-2");
    for (const name of ["a", "b", "c"]) call(name);
    await bench.clock.advance(0);
    expect(bench.ended).toEqual(["997 upstream_rate_limited"]);
    bench.server.isHealthy = true;
    await bench.clock.advance(1_000);
    // The accounts take turns.
    expect(bench.ended.slice(1, 6)).toEqual(["0 up", "a up", "1 up", "b up", "2 up"]);
    expect([bench.ended.length, bench.ended.at(-1)]).toEqual([1_001, "996 up"]);
  });
});

describe("a failed start", () => {
  test("gateway.errors.model_offline is reported to all waiting callers, with the reason in the log", async () => {
    await using bench = await openBench();
    bench.server.start = async () => "it answered with status 500";
    for (const n of [1, 2]) void bench.call(n);
    await bench.clock.advance(0);
    expect(bench.ended).toEqual([`1 ${OFFLINE}`, `2 ${OFFLINE}`]);
    expect(bench.why()).toBe("its unit did not start: it answered with status 500");
    expect(bench.lines.at(-1)).toBe(
      "warn  autostart: model server did not start upstream=gpu:8000 code=model_offline" +
        ' reason="it answered with status 500" retry_ms=5000',
    );
    expect(await bench.state()).toBe("failed");
  });

  test("gateway.errors.upstream_timeout is the error of a start that takes too long, which is aborted", async () => {
    await using bench = await openBench({ plan: { timeoutMs: 90_000 } });
    let startSignal: AbortSignal | undefined;
    bench.server.start = (signal) => {
      startSignal = signal;
      return new Promise(() => {});
    };
    void bench.call(1);
    await bench.clock.advance(89_999);
    expect([bench.ended, startSignal!.aborted]).toEqual([[], false]);
    await bench.clock.advance(1);
    expect([bench.ended, startSignal!.aborted]).toEqual([["1 upstream_timeout"], true]);
    expect(bench.why()).toBe("its unit did not start: it was not up within 90s");
  });

  test("is not retried for 5 s, then for twice as long, up to 5 min", async () => {
    await using bench = await openBench();
    const { clock, server, call, ended } = bench;
    server.start = async () => "it answered with status 500";
    const pauses = [5, 10, 20, 40, 80, 160, 300, 300];
    for (const [n, pause] of pauses.entries()) {
      await call(n);
      expect(server.starts).toBe(n + 1);
      await clock.advance(pause * 1_000 - 1);
      await call(n);
      expect([server.starts, bench.why()]).toEqual([
        n + 1,
        "its unit did not start; not tried again for 1 s",
      ]);
      await clock.advance(1);
    }
    expect(new Set(ended.map((one) => one.slice(2)))).toEqual(new Set([OFFLINE]));
    server.start = async () => null;
    server.isHealthy = true;
    await call("up");
    expect(ended.at(-1)).toBe("up up");
    // A success resets the backoff.
    server.isHealthy = false;
    await clock.advance(20_000);
    server.start = async () => "it answered with status 500";
    await call("again");
    await clock.advance(5_000);
    const before = server.starts;
    await call("and again");
    expect(server.starts).toBe(before + 1);
  });

  test("is forgotten as soon as the server is healthy", async () => {
    await using bench = await openBench();
    bench.server.start = async () => "its command exited with 1";
    for (let n = 0; n < 5; n++) {
      await bench.call(n);
      await bench.clock.advance(5_000 * 2 ** n);
    }
    await bench.call("waits 160 s");
    bench.server.isHealthy = true;
    await bench.clock.advance(10_000);
    await bench.call("mended");
    expect(bench.ended.at(-1)).toBe("mended up");
  });

  test("is over: afterwards the server is looked at each ten seconds, and no more each second", async () => {
    await using bench = await openBench();
    const { clock, server, call } = bench;
    server.start = async () => "no memory";
    await call(1);
    const { looks } = server;
    await clock.advance(30_000);
    expect(server.looks - looks).toBe(3);
  });

  test("by a bug counts too, and is logged", async () => {
    await using bench = await openBench();
    bench.server.start = () => Promise.reject(new Error("a bug"));
    await bench.call(1);
    expect(bench.ended).toEqual([`1 ${OFFLINE}`]);
    expect(bench.lines.join("\n")).toContain("Error: a bug");
  });
});

describe("a server that is up", () => {
  test("is asleep after two failed checks in a row, and the next caller starts it", async () => {
    await using bench = await openBench();
    const { clock, server, call } = bench;
    server.isHealthy = true;
    await call(1);
    const blink = async (...healths: boolean[]) => {
      for (const isHealthy of healths) {
        server.isHealthy = isHealthy;
        await clock.advance(10_000);
      }
    };
    await blink(false, true, false, true);
    expect(bench.managed.isUp).toBe(true);
    await blink(false, false);
    expect([bench.managed.isUp, await bench.state()]).toEqual([false, "asleep"]);
    expect(bench.lines.at(-1)).toBe(
      "warn  autostart: model server no longer answers upstream=gpu:8000",
    );
    void call(2);
    await clock.advance(0);
    expect(server.starts).toBe(1);
  });

  test("that has come up again is asleep only after two failed checks of its new time", async () => {
    await using bench = await openBench();
    const { clock, server, call, managed } = bench;
    server.isHealthy = true;
    await call(1);
    server.isHealthy = false;
    await clock.advance(10_000);
    expect(await managed.isGone(STAYS)).toBe(true);
    server.isHealthy = true;
    await call(2);
    server.isHealthy = false;
    await clock.advance(10_000);
    expect(managed.isUp).toBe(true);
    await clock.advance(10_000);
    expect(managed.isUp).toBe(false);
  });

  test("is checked once for all callers in doubt", async () => {
    await using bench = await openBench();
    bench.server.isHealthy = true;
    await bench.call(1);
    expect(await bench.managed.isGone(STAYS)).toBe(false);
    bench.server.isHealthy = false;
    const looks = bench.server.looks;
    const doubts = [bench.managed.isGone(STAYS), bench.managed.isGone(STAYS)];
    expect(await Promise.all(doubts)).toEqual([true, true]);
    expect([bench.server.looks, bench.managed.isUp]).toEqual([looks + 1, false]);
    // The second caller must not put a server to sleep that the first one starts again.
    const lost = "warn  autostart: model server no longer answers upstream=gpu:8000";
    expect(bench.lines.filter((line) => line === lost)).toHaveLength(1);
  });

  test("before this process is recognised before the first caller", async () => {
    await using first = await openBench();
    first.server.isHealthy = true;
    await first.call(1);
    await using second = await openBench({ isHeld: false });
    second.server.isHealthy = true;
    second.managed.hold(NOBODY);
    await second.clock.advance(0);
    expect([second.managed.isUp, second.server.starts]).toEqual([true, 0]);
    const third = await openBench({ database: second.database });
    expect([third.managed.isUp, await third.state()]).toEqual([false, "asleep"]);
  });

  test("notifies its holders when it is up, before any caller continues, and when it is down", async () => {
    await using bench = await openBench({ isHeld: false });
    const { ended, server, clock, managed } = bench;
    const tell = (name: string) => ({
      onUp: () => void ended.push(`${name} hears up`),
      onDown: () => void ended.push(`${name} hears down`),
    });
    const first = tell("first");
    managed.hold(first);
    server.isHealthy = true;
    void bench.call(1);
    await clock.advance(0);
    managed.hold(tell("second"));
    expect(ended).toEqual(["first hears up", "1 up", "second hears up"]);
    managed.release(first);
    server.isHealthy = false;
    await clock.advance(20_000);
    expect(ended.slice(3)).toEqual(["second hears down"]);
  });
});

describe("an idle server", () => {
  const IDLE = { idleStopMs: 60_000, minUpMs: 600_000 };

  test("is stopped after the idle time, and not before its minimum uptime", async () => {
    await using bench = await openBench({ plan: IDLE });
    const { clock, server, call, managed } = bench;
    server.isHealthy = true;
    await call(1);
    await clock.advance(1_000);
    managed.leave();
    await clock.advance(598_999);
    expect(server.stops).toBe(0);
    await clock.advance(1);
    expect([server.stops, managed.isUp, await bench.state()]).toEqual([1, false, "stopped"]);
    // Only the next check waits.
    expect(clock.pending()).toBe(1);
    expect(bench.lines.at(-1)).toBe(
      "info  autostart: idle model server was stopped upstream=gpu:8000",
    );
  });

  test("is not idle while a request is in flight, and its time starts when the last one ends", async () => {
    await using bench = await openBench({ plan: IDLE });
    const { clock, server, call, managed } = bench;
    server.isHealthy = true;
    await call(1);
    await call(2);
    await clock.advance(700_000);
    managed.leave();
    await clock.advance(700_000);
    managed.leave();
    await clock.advance(59_999);
    expect([server.stops, managed.isUp]).toEqual([0, true]);
    // Another request restarts the idle time.
    await call(3);
    managed.leave();
    await clock.advance(59_999);
    expect(server.stops).toBe(0);
    await clock.advance(1);
    expect(server.stops).toBe(1);
  });

  test("that is being stopped lets callers wait, and is started again for them", async () => {
    await using bench = await openBench({ plan: IDLE });
    const { clock, server, call, managed, ended } = bench;
    server.isHealthy = true;
    await call(1);
    managed.leave();
    const stop = Promise.withResolvers<string | null>();
    server.stop = () => stop.promise;
    await clock.advance(600_000);
    expect(server.stops).toBe(1);
    void call(2);
    await clock.advance(5_000);
    expect([server.starts, ended]).toEqual([0, ["1 up"]]);
    stop.resolve(null);
    await clock.advance(1_000);
    expect([server.starts, ended]).toEqual([1, ["1 up", "2 up"]]);
  });

  test("is started by its action even if its health check succeeds meanwhile", async () => {
    await using bench = await openBench({ plan: IDLE });
    const { clock, server, call, managed, ended } = bench;
    server.isHealthy = true;
    await call(1);
    managed.leave();
    await clock.advance(700_000);
    const woken = Promise.withResolvers<string | null>();
    server.start = () => woken.promise;
    void call(2);
    await clock.advance(30_000);
    // It counts as asleep until it is started, whatever its health check returns.
    expect([server.starts, ended]).toEqual([1, ["1 up"]]);
    woken.resolve(null);
    await clock.advance(1_000);
    expect(ended).toEqual(["1 up", "2 up"]);
  });

  test("is remembered by the next process, so that it is started again and not assumed up", async () => {
    await using bench = await openBench({ plan: IDLE });
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    await bench.clock.advance(600_000);
    expect(await bench.state()).toBe("stopped");
    const next = await openBench({ database: bench.database });
    next.server.isHealthy = true;
    expect(next.managed.isUp).toBe(false);
    // Also after a process that ended during that start, or a failed start.
    next.server.start = () => new Promise(() => {});
    void next.call(2);
    await next.clock.advance(30_000);
    expect([next.ended, next.server.starts, await next.state()]).toEqual([[], 1, "starting"]);
    const holder = await openBench({ database: bench.database, isHeld: false });
    holder.server.isHealthy = true;
    holder.managed.hold(NOBODY);
    await holder.clock.advance(0);
    expect(holder.managed.isUp).toBe(false);
    const last = await openBench({ database: bench.database });
    last.server.isHealthy = true;
    void last.call(3);
    await last.clock.advance(1_000);
    expect([last.ended, last.server.starts]).toEqual([["3 up"], 1]);
    const after = await openBench({ database: bench.database, isHeld: false });
    after.server.isHealthy = true;
    await after.call(4);
    expect([after.ended, after.server.starts]).toEqual([["4 up"], 0]);
  });

  test("is up again once it was seen down, although its command stays in the foreground", async () => {
    await using bench = await openBench({ plan: IDLE });
    const { clock, server, managed, call, ended } = bench;
    server.isHealthy = true;
    await call(1);
    managed.leave();
    await clock.advance(600_000);
    expect(await bench.state()).toBe("stopped");
    server.start = () => new Promise(() => {});
    void call(2);
    await clock.advance(5_000);
    expect(ended).toEqual(["1 up"]);
    server.isHealthy = false;
    await clock.advance(1_000);
    server.isHealthy = true;
    await clock.advance(1_000);
    expect(ended).toEqual(["1 up", "2 up"]);
  });

  test("is stopped only once it is stored that it has to be started again", async () => {
    await using bench = await openBench({ plan: IDLE });
    const { clock, server, writes, database } = bench;
    server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    const stored = Promise.withResolvers<void>();
    writes.hold = stored.promise;
    const rows: unknown[] = [];
    server.stop = async () => {
      rows.push(await database.bind(managedServerStore).find("unit-1"));
      return null;
    };
    await clock.advance(600_000);
    expect(server.stops).toBe(0);
    stored.resolve();
    await clock.advance(1);
    expect(server.stops).toBe(1);
    expect(rows).toMatchObject([{ state: "stopping", is_put_down: true }]);
  });

  test("of the process before is started for a caller who comes before its state is read", async () => {
    await using bench = await openBench({ plan: IDLE });
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    await bench.clock.advance(600_000);
    for (const isHeld of [false, true]) {
      const next = await openBench({ database: bench.database, isHeld: false });
      next.server.isHealthy = true;
      next.server.start = () => new Promise(() => {});
      if (isHeld) next.managed.hold(NOBODY);
      void next.call(2);
      await next.clock.advance(0);
      void next.call(3);
      await next.clock.advance(0);
      // One start for both, and its health says nothing yet.
      expect([next.server.starts, next.ended, await next.state()]).toEqual([1, [], "starting"]);
    }
  });

  test("that went down and came back by itself is used again", async () => {
    await using bench = await openBench({ plan: IDLE });
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    await bench.clock.advance(600_000);
    bench.server.isHealthy = false;
    await bench.clock.advance(10_000);
    expect(await bench.state()).toBe("asleep");
    bench.server.isHealthy = true;
    await bench.call(2);
    expect([bench.ended.at(-1), bench.server.starts]).toEqual(["2 up", 0]);
  });

  test("that cannot be stopped keeps serving, and is stopped later", async () => {
    await using bench = await openBench({ plan: IDLE });
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    bench.server.stop = async () => "it answered with status 404";
    await bench.clock.advance(600_000);
    expect([bench.server.stops, bench.managed.isUp]).toEqual([1, true]);
    expect(bench.lines.at(-1)).toBe(
      "warn  autostart: model server could not be stopped upstream=gpu:8000" +
        ' reason="it answered with status 404"',
    );
    await bench.clock.advance(600_000);
    expect(bench.server.stops).toBe(2);
  });

  test("is stopped with the settings at the begin of the stop", async () => {
    await using bench = await openBench({ plan: IDLE });
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    const isUp = async () => true;
    const plan = { ...IDLE, isUp, start: null, stop: null, timeoutMs: 1_000 };
    const stopped = bench.clock.advance(600_000);
    bench.server.stop = async () => {
      bench.managed.follow(plan);
      return null;
    };
    await stopped;
    expect([bench.server.stops, await bench.state()]).toEqual([1, "stopped"]);
  });

  test("that did not answer its stop may sleep, so it is started again", async () => {
    await using bench = await openBench({ plan: IDLE });
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    bench.server.stop = (signal) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve("no answer in time")),
      );
    await bench.clock.advance(660_000);
    expect([bench.server.stops, await bench.state()]).toEqual([1, "stopped"]);
    await Promise.all([bench.call(2), bench.clock.advance(1_000)]);
    expect([bench.ended.at(-1), bench.server.starts]).toEqual(["2 up", 1]);
  });

  test("is not watched when it comes up without a holder", async () => {
    await using bench = await openBench({ isHeld: false });
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    const { looks } = bench.server;
    await bench.clock.advance(900_000);
    expect([bench.managed.isUp, bench.server.looks]).toEqual([true, looks]);
  });

  test("is left alone once it has no holder", async () => {
    await using bench = await openBench({ plan: IDLE, isHeld: false });
    bench.managed.hold(NOBODY);
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.leave();
    expect(bench.clock.pending()).toBe(2);
    bench.managed.release(NOBODY);
    expect(bench.clock.pending()).toBe(0);
    await bench.clock.advance(900_000);
    expect(bench.server.stops).toBe(0);
    bench.managed.hold(NOBODY);
    await bench.clock.advance(0);
    expect(bench.server.stops).toBe(1);
  });
});

describe("a state that changes during a check", () => {
  /** A server whose health checks the test answers. */
  async function openAsked() {
    const checks: ((isHealthy: boolean) => void)[] = [];
    const isUp = () => new Promise<boolean>((resolve) => void checks.push(resolve));
    const bench = await openBench({ plan: { isUp } });
    const answer = async (isHealthy: boolean, check = checks.at(-1)!) => {
      check(isHealthy);
      await bench.clock.advance(0);
    };
    return { bench, checks, answer };
  }

  test("is not up by the check with which its holder began", async () => {
    const { bench, checks, answer } = await openAsked();
    await using _ = bench;
    void bench.call(1);
    await bench.clock.advance(0);
    await answer(false);
    await answer(true, checks[0]);
    expect([bench.managed.isUp, bench.ended, bench.server.starts]).toEqual([false, [], 1]);
  });

  test("stays stopped, although a check from before its stop fails", async () => {
    const { bench, checks, answer } = await openAsked();
    await using _ = bench;
    await answer(true);
    await bench.clock.advance(10_000);
    const check = checks.at(-1)!;
    bench.managed.stopNow();
    expect(await bench.state()).toBe("stopped");
    await answer(false, check);
    expect(await bench.state()).toBe("stopped");
  });

  test("is not lost by the doubt of a caller from before", async () => {
    const { bench, checks, answer } = await openAsked();
    await using _ = bench;
    const { managed, clock } = bench;
    await answer(true);
    const before = managed.isGone(STAYS);
    const doubt = checks.at(-1)!;
    for (let n = 0; n < 2; n++) {
      await clock.advance(10_000);
      await answer(false);
    }
    void bench.call(1);
    await clock.advance(0);
    await answer(true);
    const after = managed.isGone(STAYS);
    await answer(false, doubt);
    await answer(true);
    expect([await before, await after, managed.isUp]).toEqual([true, false, true]);
  });
});

test("a server that sleeps is not asked for its health, which may wake it, by any holder", async () => {
  await using bench = await openBench();
  const { looks } = bench.server;
  await bench.clock.advance(60_000);
  bench.managed.hold({ ...NOBODY });
  await bench.clock.advance(60_000);
  expect([bench.server.looks, await bench.state()]).toEqual([looks, "asleep"]);
});

test("a server on its way up counts as gone without a check", async () => {
  await using bench = await openBench();
  const { clock, server, managed } = bench;
  void bench.call(1);
  await clock.advance(500);
  const { looks } = server;
  expect([await managed.isGone(STAYS), server.looks, await bench.state()]).toEqual([
    ...[true, looks, "starting"],
  ]);
});

test("a server that was started after its stop is used again when it was lost and is back", async () => {
  await using bench = await openBench();
  const { clock, server, managed } = bench;
  server.isHealthy = true;
  await bench.call(1);
  managed.stopNow();
  await clock.advance(0);
  void bench.call(2);
  await clock.advance(1_000);
  expect([bench.ended.at(-1), server.starts]).toEqual(["2 up", 1]);
  server.isHealthy = false;
  expect(await managed.isGone(STAYS)).toBe(true);
  server.isHealthy = true;
  await bench.call(3);
  expect([bench.ended.at(-1), server.starts]).toEqual(["3 up", 1]);
});

test("without a lease a start has failed for all who wait for it", async () => {
  const lease = Promise.withResolvers<never>();
  await using bench = await openBench({ lease: lease.promise });
  for (const n of [1, 2]) void bench.call(n);
  lease.reject(new Error("the database is gone"));
  await bench.clock.advance(0);
  expect(bench.ended).toEqual([`1 ${OFFLINE}`, `2 ${OFFLINE}`]);
  expect(bench.lines.join("\n")).toContain("Error: the database is gone");
});

test("an idle server that was lost while its stop waited for the lease is not stopped", async () => {
  const lease = Promise.withResolvers<void>();
  await using bench = await openBench({ isHeld: false, plan: { idleStopMs: 60_000 } });
  const { clock, server, managed } = bench;
  server.isHealthy = true;
  managed.hold(NOBODY);
  await clock.advance(0);
  bench.wait(lease.promise);
  await clock.advance(60_000);
  server.isHealthy = false;
  expect(await managed.isGone(STAYS)).toBe(true);
  lease.resolve();
  expect([await bench.state(), server.stops]).toEqual(["asleep", 0]);
});

test("a failed start stays one, although the server that was stopped is seen down", async () => {
  await using bench = await openBench();
  const { server, clock, managed } = bench;
  server.isHealthy = true;
  await bench.call(1);
  managed.leave();
  managed.stopNow();
  server.isHealthy = false;
  await clock.advance(0);
  server.start = async () => "it answered with status 500";
  await bench.call(2);
  expect(await bench.state()).toBe("failed");
  await clock.advance(10_000);
  expect(await bench.state()).toBe("failed");
});

test("a check that began in an earlier state does not decide about a later one", async () => {
  const checks: PromiseWithResolvers<boolean>[] = [];
  const check = () => {
    const answer = Promise.withResolvers<boolean>();
    checks.push(answer);
    return answer.promise;
  };
  const probe = new HealthProbe(check, () => {});
  const before = probe.doubt();
  probe.reset();
  const after = [probe.doubt(), probe.doubt()];
  expect(checks).toHaveLength(2);
  checks[0]!.resolve(false);
  expect(await before).toBe(false);
  after.push(probe.doubt());
  checks[1]!.resolve(true);
  expect([await Promise.all(after), checks.length]).toEqual([[true, true, true], 2]);
});

test.each([
  [[], null],
  [[5], 5],
  [[2, 9], 9],
  [[900, 20, 100, 10, 40], 40],
])("of the starts %j the usual one is %p", (recentStartsMs, usual) => {
  expect(findUsualStart(recentStartsMs)).toBe(usual);
});

test("states are stored one after the other, so that the last one stands", async () => {
  await using bench = await openBench();
  const stored = Promise.withResolvers<void>();
  bench.writes.hold = stored.promise;
  void bench.call(1);
  await bench.clock.advance(0);
  bench.server.isHealthy = true;
  await bench.clock.advance(1_000);
  expect([bench.ended, bench.server.starts]).toEqual([["1 up"], 1]);
  stored.resolve();
  expect(await bench.state()).toBe("up");
});

test("a server whose state cannot be stored still serves", async () => {
  await using bench = await openBench();
  await bench.database.close();
  bench.server.isHealthy = true;
  await bench.call(1);
  await bench.clock.advance(0);
  expect(bench.ended).toEqual(["1 up"]);
  expect(bench.lines[0]).toStartWith("error autostart: state could not be stored");
});

test("a holder's callback that throws is logged, and ends nothing else", async () => {
  await using bench = await openBench();
  const bug = new Error("bug 7");
  bench.managed.hold({
    onUp() {
      throw bug;
    },
    onDown() {},
  });
  bench.server.isHealthy = true;
  void bench.call(1);
  await bench.clock.advance(1_000);
  expect(bench.lines.join("\n")).toContain("autostart: a task failed upstream=gpu:8000");
  expect(bench.lines.join("\n")).toContain("bug 7");
});

describe("an operator", () => {
  test("starts a server for no request, and again at once after a failure", async () => {
    await using bench = await openBench();
    const { clock, server, managed } = bench;
    server.start = async () => "no memory";
    expect(managed.startNow()).toBeTrue();
    expect(managed.startNow()).toBeFalse();
    await clock.advance(0);
    expect(await bench.state()).toBe("failed");
    server.start = async () => null;
    expect(managed.startNow()).toBeTrue();
    await clock.advance(0);
    server.isHealthy = true;
    await clock.advance(1_000);
    expect([managed.isUp, server.starts, managed.startNow()]).toEqual([true, 2, false]);
  });

  test("starts a server that has its idle time before it, however long ago its last request", async () => {
    const plan = { idleStopMs: 60_000 };
    await using bench = await openBench({ plan });
    const { clock, server, managed, call } = bench;
    server.isHealthy = true;
    await call(1);
    managed.leave();
    server.stop = async () => {
      server.isHealthy = false;
      return null;
    };
    await clock.advance(3_600_000);
    managed.startNow();
    server.isHealthy = true;
    await clock.advance(59_999);
    expect([managed.isUp, server.stops]).toEqual([true, 1]);
    await clock.advance(2_000);
    expect(server.stops).toBe(2);
  });

  test("stops a server that is up, which the next request starts again", async () => {
    await using bench = await openBench();
    const { clock, server, managed, call, ended } = bench;
    expect(managed.stopNow()).toBeFalse();
    server.isHealthy = true;
    await call(1);
    server.stop = async () => {
      expect([managed.startNow(), managed.stopNow()]).toEqual([false, false]);
      server.isHealthy = false;
      return null;
    };
    expect(managed.stopNow()).toBeTrue();
    await clock.advance(0);
    expect([server.stops, await bench.state()]).toEqual([1, "stopped"]);
    void call(2);
    await clock.advance(0);
    expect(managed.waiting).toBe(1);
    server.isHealthy = true;
    await clock.advance(1_000);
    expect(ended).toEqual(["1 up", "2 up"]);
  });

  test("stops a server no more once its lease is another process's", async () => {
    await using bench = await openBench({ mayAct: async () => false });
    bench.server.isHealthy = true;
    await bench.call(1);
    bench.managed.stopNow();
    await bench.clock.advance(1_000);
    expect([bench.server.stops, bench.managed.isUp]).toEqual([0, true]);
    expect(bench.lines).toContain(
      "warn  autostart: model server could not be stopped upstream=gpu:8000" +
        ' reason="another process has it"',
    );
  });

  test("stops no server without a way to do it", async () => {
    await using bench = await openBench({ plan: { stop: null } });
    bench.server.isHealthy = true;
    await bench.call(1);
    expect([bench.managed.canStop, bench.managed.stopNow()]).toEqual([false, false]);
  });
});
