// Tests which failures make the database unreliable, and what proves its recovery.
import { expect, test } from "bun:test";
import { GuardedEngine } from "../../src/database/health.ts";
import {
  type DatabaseLocation,
  DatabaseUnavailable,
  omitUnavailable,
  retryUnavailable,
} from "../../src/database/index.ts";
import { createManualClock } from "../support/clock.ts";
import { failureOf, openFiles, openTestDatabase } from "../support/database.ts";
import { makeTrial, trialStore } from "../support/trial.ts";

const full = () => Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });

function createTrial() {
  const clock = createManualClock();
  const writes: string[] = [];
  const reports: string[] = [];
  const trial = {
    ...{ clock, writes, reports, recoveries: 0 },
    failure: null as unknown,
    /** Runs before a read or write that starts now. */
    pause: Promise.resolve(),
    guarded: null as unknown as GuardedEngine,
  };
  const answer = async () => {
    await trial.pause;
    if (trial.failure !== null) throw trial.failure;
    return 1 as never;
  };
  const engine = {
    name: "sqlite" as const,
    read: answer,
    write: (name: string, method: string) => {
      writes.push(`${name}.${method}`);
      return answer();
    },
    close: async () => {},
  };
  trial.guarded = new GuardedEngine(
    engine,
    { kind: "sqlite", file: "/data/wadi.db" },
    {
      clock,
      onFailure: ({ message }) => void reports.push(message),
      onRecovery: () => void trial.recoveries++,
    },
  );
  return trial;
}

test("a full disk becomes a sentence for writes and reads, and a bug stays unchanged", async () => {
  const trial = createTrial();
  const engine = trial.guarded;
  for (const failure of [full(), Object.assign(new Error(""), { code: "SQLITE_IOERR_FSYNC" })]) {
    trial.failure = failure;
    for (const work of [engine.write("runs", "note", []), engine.read(async () => 1)]) {
      const said = await failureOf(work);
      expect(said).toBeInstanceOf(DatabaseUnavailable);
      expect(said.message).toStartWith("the disk of /data ");
      expect(said.cause).toBe(failure);
    }
  }
  const bug = new TypeError("a bug");
  trial.failure = bug;
  expect(await failureOf(engine.write("runs", "note", []))).toBe(bug);
});

test("a recovery is reported where its failure was, and only there", async () => {
  const trial = createTrial();
  const fail = async () => {
    trial.failure = full();
    await failureOf(trial.guarded.write("runs", "note", []));
    trial.failure = null;
    await trial.guarded.write("runs", "note", []);
    return [trial.reports.length, trial.recoveries];
  };
  expect(await fail()).toEqual([1, 1]);
  // Failures are reported once a second.
  await trial.clock.advance(999);
  expect(await fail()).toEqual([1, 1]);
  await trial.clock.advance(1);
  expect(await fail()).toEqual([2, 2]);
});

test.each(["ERR_POSTGRES_CONNECTION_CLOSED", "ERR_POSTGRES_CONNECTION_REFUSED", "57P01", "53100"])(
  "an unreachable PostgreSQL is distinguished from a bug by %s",
  async (code) => {
    const failure = Object.assign(new Error("secret"), { code });
    const place = { kind: "postgres", url: "postgres://ann:secret@db/wadi", connectionsMax: 2 };
    const answer = () => Promise.reject(failure);
    const engine = new GuardedEngine(
      { name: "postgres", read: answer, write: answer, close: async () => {} },
      place as DatabaseLocation,
      { clock: createManualClock(), onFailure() {} },
    );
    const said = await failureOf(engine.read(async () => 1));
    expect(said).toBeInstanceOf(DatabaseUnavailable);
    expect(said.message).toStartWith("PostgreSQL at db ");
    await engine.close();
    // After the end the database stays failing, so that no caller retries.
    expect(await failureOf(engine.read(async () => 1))).toBe(failure);
  },
);

test("a call that fails during the close of its database is not to be repeated", async () => {
  const closed = Promise.withResolvers<void>();
  const failure = full();
  const fail = () => Promise.reject(failure);
  const engine = new GuardedEngine(
    { name: "sqlite", read: fail, write: fail, close: () => closed.promise },
    { kind: "sqlite", file: "/data/wadi.db" },
    { clock: createManualClock(), onFailure: () => expect.unreachable() },
  );
  const closing = engine.close();
  expect(await failureOf(engine.write("runs", "note", []))).toBe(failure);
  closed.resolve();
  await closing;
});

test("errors of a failing database are not logged again, and all others are", () => {
  const lines: string[] = [];
  const tell = (message: string) => void lines.push(message);
  const log = omitUnavailable({ info: tell, warn: tell, error: tell });
  const error = new DatabaseUnavailable("the disk is full");
  log.warn("a sweep failed", { error });
  log.error("runs could not be claimed", { error });
  log.error("a bug", { error: new TypeError("a bug") });
  log.error("the database failed", { error: error.message });
  log.info("it works again");
  expect(lines).toEqual(["a bug", "the database failed", "it works again"]);
});

test("failures are reported at most once a second", async () => {
  const failing = createTrial();
  failing.failure = full();
  const failOften = () =>
    Promise.all(
      Array.from({ length: 100 }, () => failureOf(failing.guarded.write("runs", "note", []))),
    );
  await failOften();
  expect(failing.reports).toHaveLength(1);
  await failing.clock.advance(1_000);
  await failOften();
  expect(failing.reports).toHaveLength(2);
});

test("after a failure the probe writes as much as a caller does, and its success is the recovery", async () => {
  const trial = createTrial();
  const engine = trial.guarded;
  await engine.probe();
  expect(trial.writes.splice(0)).toEqual(["probe.touch"]);
  trial.failure = full();
  await failureOf(engine.write("runs", "note", []));
  expect(await failureOf(engine.probe())).toBeInstanceOf(DatabaseUnavailable);
  trial.failure = null;
  trial.writes.length = 0;
  await engine.probe();
  expect(trial.writes.splice(0)).toEqual(["probe.fill", "probe.touch"]);
  expect(trial.recoveries).toBe(1);
  await engine.probe();
  expect(trial.writes).toEqual(["probe.touch"]);
});

test("a small write that began before the failure proves nothing", async () => {
  const trial = createTrial();
  const engine = trial.guarded;
  const pause = Promise.withResolvers<void>();
  trial.pause = pause.promise;
  const probing = engine.probe();
  trial.pause = Promise.resolve();
  trial.failure = full();
  await failureOf(engine.write("runs", "note", []));
  trial.failure = null;
  pause.resolve();
  await probing;
  expect(trial.recoveries).toBe(0);
});

test("a caller's committed write ends the failure", async () => {
  const trial = createTrial();
  const engine = trial.guarded;
  trial.failure = full();
  await failureOf(engine.write("runs", "note", []));
  trial.failure = null;
  await engine.write("runs", "note", []);
  expect(trial.recoveries).toBe(1);
  trial.writes.length = 0;
  await engine.probe();
  expect(trial.writes).toEqual(["probe.touch"]);
});

test("a file that cannot grow is not ready until it can, even if small writes succeed", async () => {
  const ground = openFiles();
  const database = await openTestDatabase(await ground.makePlace());
  const trials = database.bind(trialStore);
  await trials.fillDisk();
  const large = makeTrial("t-1", { text: "x".repeat(1_000_000) });
  expect(await failureOf(trials.create(large))).toBeInstanceOf(DatabaseUnavailable);
  expect(await failureOf(database.probe())).toBeInstanceOf(DatabaseUnavailable);
  expect(database.failures).toHaveLength(1);
  await trials.freeDisk();
  await database.probe();
  expect(await trials.create(large)).toBe(true);
  await database.close();
  await ground.release();
});

test("a repeated write knows that an attempt before it may have been committed", async () => {
  const { clock } = createTrial();
  const attempts: boolean[] = [];
  const done = retryUnavailable(clock, async (isAgain) => {
    attempts.push(isAgain);
    if (attempts.length < 3) throw new DatabaseUnavailable("lost");
    return "done";
  });
  while (Bun.peek.status(done) === "pending") await clock.advance(1_000);
  expect([await done, attempts]).toEqual(["done", [false, true, true]]);
  const bug = retryUnavailable(clock, () => Promise.reject(new Error("a bug")));
  await expect(bug).rejects.toThrow("a bug");
});
