// Streams over sockets whose callers do not read: their content, and the memory they hold.
import { expect, test } from "bun:test";
import { openRaw } from "../../http/raw-client.ts";
import { KEY } from "../../support/app.ts";
import { type Json, makeSteps, type RunsFront, startRuns } from "./runs-front.ts";

const LONG = "x".repeat(300_000);
const STEPS = 60;

const makeLong = (count: number) =>
  makeSteps(count).map((step, n) => ({
    ...step,
    data: { event: "budget", message: `${n} ${LONG}` },
  })) as ReturnType<typeof makeSteps>;

/** It listens on a port, and does not execute its runs. */
async function startListening(): Promise<RunsFront> {
  const front = await startRuns();
  await front.app.server.start();
  return front;
}

/** A caller that reads or does not, and knows what has come. */
async function follow(front: RunsFront, run: Json) {
  const { socket, leave, write } = await openRaw(front.app.server.url);
  const received = { begun: false, steps: 0, done: false, ended: false };
  let wake = () => {};
  let last = "";
  socket.on("data", (bytes) => {
    const text = last + bytes.toString("latin1");
    const [end, ...others] = text.split('"step.completed"').toReversed() as [string, ...string[]];
    received.steps += others.length;
    received.begun ||= text.includes("run.status");
    received.done ||= end.includes("[DONE]");
    received.ended = end.endsWith("\r\n0\r\n\r\n");
    last = end.slice(-40);
    wake();
  });
  write(`GET /v1/runs/${run.id}/events HTTP/1.1\r\nhost: localhost\r\n`);
  write(`authorization: Bearer ${KEY}\r\n\r\n`);
  return {
    ...{ socket, leave, received },
    async until(isTrue: (known: typeof received) => boolean) {
      while (!isTrue(received)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

test("a reader with a megabyte unread is disconnected and reconnects; a prompt reader misses nothing", async () => {
  await using front = await startListening();
  const run = await front.begin();
  const epoch = await front.claim();
  const [slow, quick] = [await follow(front, run), await follow(front, run)];
  for (const one of [slow, quick]) await one.until(({ begun }) => begun);
  slow.socket.pause();
  for (const [n, step] of makeLong(STEPS).entries()) {
    await front.store.note(front.record(run, epoch, { steps: [step] }));
    await quick.until(({ steps }) => steps > n);
  }
  slow.socket.resume();
  await slow.until(({ ended }) => ended);
  expect(slow.received.steps).toBeLessThan(STEPS);
  expect([slow.received.done, quick.received.ended]).toEqual([false, false]);

  const again = await follow(front, run);
  await again.until(({ steps }) => steps === STEPS);
  for (const one of [slow, quick, again]) one.leave();
});

test("agents.events.stream.p4: a replay waits for its reader, and arrives completely", async () => {
  await using front = await startListening();
  const run = await front.begin();
  await front.finish(run, "succeeded", { steps: makeLong(STEPS) });
  const stalled = await Promise.all(Array.from({ length: 5 }, () => follow(front, run)));
  for (const one of stalled) one.socket.pause();
  // Another stream receives everything at the same time.
  const quick = await follow(front, run);
  for (const one of [quick, ...stalled]) {
    one.socket.resume();
    await one.until(({ ended }) => ended);
    expect(one.received).toEqual({ begun: true, steps: STEPS, done: true, ended: true });
    one.leave();
  }
});
