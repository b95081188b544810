// Streams without sockets: slow readers, and the cost of many listeners.
import { expect, test } from "bun:test";
import { newsFrames } from "../../../../src/agents/runs/events/frames.ts";
import { RunStreams, type RunStreamsOptions } from "../../../../src/agents/runs/events/streams.ts";
import type { EventStream } from "../../../../src/http/index.ts";
import { createManualClock } from "../../../support/clock.ts";

const RUN = { id: "r", status: "running", last_seq: 0, started_at: 1 };
const turn = () => new Promise(setImmediate);

/** One run in memory, whose writes notify like commits. */
function openRun() {
  const run = { ...RUN };
  const steps: { seq: number }[] = [];
  const add = (count: number) => {
    for (let i = 0; i < count; i++) {
      const seq = ++run.last_seq;
      steps.push({ ...{ seq, id: `s${seq}`, run_id: "r", kind: "system", round: 0 }, ...STEP });
    }
  };
  const listeners = new Map<string, (id: string | null) => void>();
  const reads = { standings: 0, steps: 0 };
  const log: unknown[] = [];
  const clock = createManualClock();
  let isBroken = false;
  let isRevoked = false;
  let meanwhile = () => {};
  let behindPosition: (() => Promise<void>) | undefined;
  const options = {
    runs: {
      async findPosition() {
        reads.standings++;
        if (isBroken) throw new Error("the disk is gone");
        const found = { ...run };
        const joining = behindPosition;
        behindPosition = undefined;
        await joining?.();
        return found;
      },
      async listSteps(_: string, after: number, limit: number) {
        reads.steps++;
        meanwhile();
        meanwhile = () => {};
        return steps.filter(({ seq }) => seq > after).slice(0, limit);
      },
    },
    database: {
      listen(channel: string, listener: (id: string | null) => void) {
        listeners.set(channel, listener);
        return () => listeners.delete(channel);
      },
    },
    findCaller: async () => (isRevoked ? null : {}),
    clock,
    log: { error: (...line: unknown[]) => log.push(line) },
  };
  return {
    ...{ reads, log, clock },
    revoke: () => {
      isRevoked = true;
    },
    streams: new RunStreams(options as unknown as RunStreamsOptions),
    break: () => {
      isBroken = true;
    },
    /** Deletes the steps, and keeps the run's position. */
    forget: () => steps.splice(0),
    /** Adds steps before the next read of steps, without a notification. */
    writeMeanwhile(count: number) {
      meanwhile = () => add(count);
    },
    /** Adds a step and does this once the next read has found the run's position. */
    writeBehindPosition(join: () => Promise<void>) {
      behindPosition = () => {
        add(1);
        return join();
      };
    },
    /** Adds steps and notifies; a null `id` means that the change is unknown. */
    async write(count: number, id: string | null = "r") {
      add(count);
      listeners.get("run")!(id);
      await turn();
    },
    row: () => ({ ...run }),
    listened: () => [...listeners.keys()],
  };
}
const STEP = { created_at: 0, data: { event: "budget", message: "x" }, status: "running" };

/** A stream that records its output; `unread` bytes wait for its reader. */
function openStream(turns: Promise<void>[] = []) {
  const leaving = new AbortController();
  const opened = { frames: "", unread: 0, isOpen: true, leave: () => leaving.abort() };
  const stream = {
    pass(frames: string) {
      if (opened.isOpen) opened.frames += frames;
      return turns.shift();
    },
    comment() {},
    close() {
      opened.isOpen = false;
    },
    left: leaving.signal,
    countUnread: () => opened.unread,
  };
  return Object.assign(opened, { stream: stream as unknown as EventStream });
}

/** Waits until no work is pending. */
const settle = async () => {
  for (let i = 0; i < 20; i++) await turn();
};
const listSeqs = ({ frames }: { frames: string }) =>
  [...frames.matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq));
const count = (to: number) => Array.from({ length: to }, (_, i) => i + 1);
const countSteps = ({ frames }: { frames: string }) => frames.split("step.completed").length - 1;

test("closes a stream with a megabyte unread, and keeps the others", async () => {
  const { streams, row, write } = openRun();
  const [slow, quick] = [openStream(), openStream()];
  for (const { stream } of [slow, quick]) streams.open("k", row() as never, () => stream);
  await turn();
  slow.unread = 1024 * 1024;
  await write(1);
  expect([slow.isOpen, countSteps(slow)]).toEqual([true, 1]);
  slow.unread++;
  await write(1);
  expect([slow.isOpen, countSteps(slow)]).toEqual([false, 1]);
  expect([quick.isOpen, countSteps(quick)]).toEqual([true, 2]);
});

test("a bug in one stream is logged, and ends only that stream", async () => {
  const { streams, row, write, log } = openRun();
  const [broken, sound] = [openStream(), openStream()];
  for (const { stream } of [broken, sound]) streams.open("k", row() as never, () => stream);
  await turn();
  broken.stream.countUnread = () => {
    throw new Error("a bug");
  };
  await write(1);
  await write(1);
  expect([broken.isOpen, sound.isOpen, countSteps(sound)]).toEqual([false, true, 2]);
  expect(log).toHaveLength(1);
});

test("a step is read once for all listeners, and not at all without one", async () => {
  const { streams, row, write, reads } = openRun();
  await write(1);
  expect(reads).toEqual({ standings: 0, steps: 0 });
  const opened = Array.from({ length: 20 }, () => openStream());
  for (const { stream } of opened) streams.open("k", row() as never, () => stream);
  await turn();
  const before = { ...reads };
  await write(1);
  await write(1, null);
  expect(reads).toEqual({ standings: before.standings + 2, steps: before.steps + 2 });
  for (const one of opened) expect(countSteps(one)).toBe(3);
  for (const one of opened) one.leave();
  await write(1);
  expect(reads.standings).toBe(before.standings + 2);
});

test("steps beyond one page are streamed in order, to each listener that lacks them", async () => {
  const { streams, row, write } = openRun();
  const [early, late] = [openStream(), openStream()];
  streams.open("k", row() as never, () => early.stream);
  await turn();
  // No listener is notified before the second joins: one lacks all steps, the other none.
  await write(250, "another run");
  streams.open("k", row() as never, () => late.stream);
  await settle();
  for (const one of [early, late]) expect(listSeqs(one)).toEqual(count(250));
  await write(5);
  for (const one of [early, late]) expect(listSeqs(one)).toEqual(count(255));
});

test("a step written during a read is streamed once", async () => {
  const { streams, row, write, writeMeanwhile } = openRun();
  await write(2);
  const before = row();
  await write(2);
  const one = openStream();
  // The request had read two of four steps.
  streams.open("k", before as never, () => one.stream);
  await settle();
  expect(listSeqs(one)).toEqual(count(4));
  writeMeanwhile(1);
  await write(1);
  expect(listSeqs(one)).toEqual(count(5));
  await write(1);
  expect(listSeqs(one)).toEqual(count(7));
});

test("a stream that joins during an older read gets each step once", async () => {
  const { streams, row, write, writeBehindPosition } = openRun();
  const [one, two] = [openStream(), openStream()];
  streams.open("k", row() as never, () => one.stream);
  await settle();
  writeBehindPosition(async () => {
    streams.open("k", row() as never, () => two.stream);
    await settle();
  });
  await write(1);
  await settle();
  await settle();
  await write(1);
  await settle();
  expect([listSeqs(one), listSeqs(two)]).toEqual([count(3), count(3)]);
});

test("a stream whose steps are deleted ends without a log line", async () => {
  const { streams, row, write, forget, log } = openRun();
  const early = openStream();
  streams.open("k", row() as never, () => early.stream);
  await settle();
  await write(2, "another run");
  forget();
  const late = openStream();
  streams.open("k", row() as never, () => late.stream);
  await settle();
  expect([early.isOpen, late.isOpen]).toEqual([true, false]);
  await write(0);
  expect([early.isOpen, log]).toEqual([false, []]);
});

test("a replay reads the next page after its reader consumed the last", async () => {
  const { streams, row, write, reads } = openRun();
  await write(250);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The status is sent at once.
  const slow = openStream([Promise.resolve(), first.promise, second.promise]);
  streams.open("k", row() as never, () => slow.stream);
  for (const [turns, steps] of [[first, 100] as const, [second, 200] as const]) {
    await settle();
    expect([countSteps(slow), reads.steps]).toEqual([steps, steps / 100]);
    turns.resolve();
  }
  await settle();
  expect(countSteps(slow)).toBe(250);
});

test("if the run cannot be read, its streams end, and the log records it", async () => {
  const run = openRun();
  const one = openStream();
  run.streams.open("k", run.row() as never, () => one.stream);
  await turn();
  run.break();
  await run.write(1);
  expect([one.isOpen, run.log.length]).toEqual([false, 1]);
});

test("a key is checked every five seconds while it has a stream", async () => {
  const { streams, row, clock, revoke } = openRun();
  const one = openStream();
  streams.open("k", row() as never, () => one.stream);
  await clock.advance(5_000);
  await clock.advance(5_000);
  expect(one.isOpen).toBe(true);
  revoke();
  await clock.advance(5_000);
  expect([one.isOpen, clock.pending()]).toEqual([false, 0]);
});

test("agents.limits.stream_lifetime a stream lives for an hour, to the millisecond", async () => {
  const { streams, row, clock } = openRun();
  const one = openStream();
  streams.open("k", row() as never, () => one.stream);
  await clock.advance(3_600_000 - 1);
  expect(one.isOpen).toBe(true);
  await clock.advance(1);
  expect([one.isOpen, clock.pending()]).toEqual([false, 0]);
});

test("a stopping server ends its streams, listens no more, and opens none", async () => {
  const { streams, row, listened } = openRun();
  expect(listened().toSorted()).toEqual(["key", "run"]);
  const one = openStream();
  streams.open("k", row() as never, () => one.stream);
  await streams.stop();
  expect([one.isOpen, listened()]).toEqual([false, []]);
  const open = () => streams.open("k", row() as never, () => openStream().stream);
  expect(open).toThrow(expect.objectContaining({ code: "service_unavailable" }));
});

test("agents.limits.open_event_streams a refused stream is never opened", async () => {
  const { streams, row, clock } = openRun();
  let opened = 0;
  const open = () =>
    streams.open("k", row() as never, () => {
      opened++;
      return openStream().stream;
    });
  for (let n = 0; n < 20; n++) open();
  const timers = clock.pending();
  expect(open).toThrow(expect.objectContaining({ code: "too_many_streams" }));
  expect([opened, clock.pending()]).toEqual([20, timers]);
  streams.stop();
  expect(open).toThrow(expect.objectContaining({ code: "service_unavailable" }));
  expect([opened, clock.pending()]).toEqual([20, 0]);
});

test("a step's status is reported before the step", () => {
  const step = { ...STEP, ...{ seq: 1, id: "s1", run_id: "r", kind: "system", round: 0 } };
  const now = { status: "succeeded", last_seq: 1, started_at: 1 } as const;
  const waiting = { ...step, status: "waiting_approval" };
  const frames = newsFrames({ status: "queued", seq: 0 }, [waiting as never], now);
  expect(
    [...frames.matchAll(/"(?:status":"(\w+)|type":"(step))/g)].map(([found]) => found),
  ).toEqual(['"status":"waiting_approval', '"type":"step', '"status":"succeeded']);
});

test("a reader that leaves during a replay causes no further reads", async () => {
  const { streams, row, write, reads } = openRun();
  await write(250);
  const held = Promise.withResolvers<void>();
  const one = openStream([Promise.resolve(), held.promise]);
  streams.open("k", row() as never, () => one.stream);
  await settle();
  one.leave();
  held.resolve();
  await settle();
  // The read in flight is the last.
  expect(reads).toEqual({ standings: 0, steps: 2 });
  expect(countSteps(one)).toBe(100);
});

test("a reader that left before its stream opens, or at the end of its replay, receives nothing", async () => {
  const { streams, row, write, reads } = openRun();
  await write(1);
  const gone = openStream();
  gone.leave();
  streams.open("k", row() as never, () => gone.stream);
  expect(gone.isOpen).toBe(false);
  const held = Promise.withResolvers<void>();
  const late = openStream([Promise.resolve(), held.promise]);
  streams.open("k", row() as never, () => late.stream);
  await settle();
  late.leave();
  held.resolve();
  await settle();
  await write(1);
  expect([countSteps(late), reads.standings]).toEqual([1, 0]);
});
