// Tests how the lock of the data is taken from a process that ends.
import { expect, test } from "bun:test";
import { DatabaseInUse } from "../../src/database/index.ts";
import { wait } from "../../src/platform/clock.ts";
import { createHandover, type HandoverParts } from "../../src/takeover/handover.ts";
import { createManualClock } from "../support/clock.ts";

/** A handover whose lock fails so often with this. */
function open(failure: Error, times: number) {
  const clock = createManualClock();
  const events: string[] = [];
  let tries = 0;
  const server = { isLeaving: false };
  const parts = {
    ...{ clock, predecessor: { epoch: 1 }, limits: {}, installation: "i", server },
    database: {
      async lock() {
        if (++tries <= times) throw failure;
        events.push("locks");
      },
    },
    services: {
      pause: async () => void events.push("pauses"),
      resume: () => void events.push("resumes"),
    },
    process: {
      epoch: 2,
      spare: (spares: (epoch: number) => boolean) => events.push(`${spares(1)}`),
    },
    // Clients that open them again need another connection.
    endStreams: () => void events.push(server.isLeaving ? "ends streams" : "too early"),
    keepServers: (isKept: boolean) => void events.push(isKept ? "keeps" : "stops keeping"),
    slots: { import: (counts: object) => void events.push(`slots ${JSON.stringify(counts)}`) },
    async settle(until: number) {
      const servedMs = clock.now() - until;
      await wait(clock, 10);
      events.push(`settles ${servedMs}`);
    },
  };
  const handover = createHandover(parts as unknown as HandoverParts);
  events.length = 0;
  const inherit = async () => {
    const done = handover.inherit().then(
      () => "done",
      (error: Error) => error.message,
    );
    while (Bun.peek.status(done) === "pending") await clock.advance(10);
    return done;
  };
  return { handover, inherit, events, server, countTries: () => tries };
}

test("a process that has ended leaves its lock, model servers, slots and budgets to this one", async () => {
  const { inherit, events } = open(new DatabaseInUse("x"), 2);
  expect(await inherit()).toBe("done");
  expect(events).toEqual(["locks", "false", "stops keeping", "slots {}", "settles 100"]);
});

test("a drained server begins no more work, also after a takeover that has failed", async () => {
  const { handover, events, server } = open(new DatabaseInUse("x"), 0);
  await handover.drain();
  expect(events.splice(0)).toEqual(["ends streams", "keeps", "pauses"]);
  expect(server.isLeaving).toBe(true);
  handover.leave(false);
  handover.resume();
  expect(events).toEqual([]);
  expect(server.isLeaving).toBe(true);
});

test("a server whose drain is undone works again, but not beside one that takes over", async () => {
  const { handover, inherit, events, server } = open(new DatabaseInUse("x"), 0);
  await inherit();
  handover.resume();
  await handover.drain();
  events.length = 0;
  handover.undrain();
  expect([events.splice(0), server.isLeaving]).toEqual([["resumes", "stops keeping"], false]);
  handover.leave(true);
  await handover.pause();
  await handover.drain();
  events.length = 0;
  handover.undrain();
  expect([events.splice(0), server.isLeaving]).toEqual([[], true]);
  handover.leave(false);
  handover.resume();
  expect([events, server.isLeaving]).toEqual([["resumes", "stops keeping"], false]);
});

test("a drain that is undone while the server pauses lets nothing begin", async () => {
  const { handover, inherit, events } = open(new DatabaseInUse("x"), 0);
  await inherit();
  handover.resume();
  events.length = 0;
  const pausing = handover.pause();
  handover.undrain();
  await pausing;
  expect(events).toEqual(["keeps", "pauses"]);
});

test("model servers are kept while two processes may use them, and no longer", async () => {
  const { handover, inherit, events } = open(new DatabaseInUse("x"), 0);
  handover.resume();
  expect(events.splice(0)).toEqual(["resumes", "keeps"]);
  await inherit();
  events.length = 0;
  await handover.pause();
  expect(events.splice(0)).toEqual(["keeps", "pauses"]);
  handover.resume();
  expect(events).toEqual(["resumes", "stops keeping"]);
});

test("a lock that stays taken is tried a hundred times, and any other failure once", async () => {
  const taken = open(new DatabaseInUse("x"), 100);
  expect(await taken.inherit()).toContain("x");
  const broken = open(new Error("the disk is gone"), 100);
  expect(await broken.inherit()).toBe("the disk is gone");
  expect([taken.countTries(), broken.countTries()]).toEqual([100, 1]);
  expect([taken.events, broken.events]).toEqual([[], []]);
});
