// One suite for every engine: each store method, and the guarantees of the engine itself.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { WROTE } from "../../src/database/index.ts";
import { ApiError } from "../../src/platform/errors.ts";
import { stores } from "../../src/stores.ts";
import {
  failureOf,
  type Ground,
  openTestDatabase,
  type TestDatabase,
} from "../support/database.ts";
import { takeTold } from "../support/told.ts";
import { emptyTables, makeTrial, type Trial, trialStore } from "../support/trial.ts";
import { bindStores, cases } from "./cases.ts";
import { TOLD } from "./told.ts";

/**
 * Declares the tests of one engine, each on an empty database; `openGround` is called once.
 * `hasStores` is false where another engine of the same dialect runs the stores' cases.
 */
export function testEngine(
  name: string,
  openGround: () => Promise<Ground> | Ground,
  hasStores = true,
): void {
  let ground: Ground;
  /** Runs `body` on a fresh database. */
  const on = (body: (database: TestDatabase) => Promise<void>) => async () => {
    const database = await openTestDatabase(await ground.makePlace());
    try {
      await body(database);
    } finally {
      await database.close();
    }
  };
  describe(name, () => {
    beforeAll(async () => {
      ground = await openGround();
    });
    afterAll(() => ground.release());
    if (hasStores) describe("stores", () => testStores(() => ground.makePlace()));
    testWrites(on);
    testNotifications(on);
    testValues(on);
  });
}

/** Waits for `work` to fail with a message that holds `text`. */
async function expectFailure(work: Promise<unknown>, text: string): Promise<void> {
  expect((await failureOf(work)).message).toContain(text);
}

type On = (body: (database: TestDatabase) => Promise<void>) => () => Promise<void>;

/** All cases share one database, emptied for each, since opening takes most of the time. */
function testStores(makePlace: Ground["makePlace"]): void {
  let database: TestDatabase;
  /** Not in a Worker, where nobody records, nor on PostgreSQL, which repeats writes in conflict. */
  let isRecorded = false;
  beforeAll(async () => {
    const place = await makePlace();
    database = await openTestDatabase(place);
    const hasWorker = place.kind === "sqlite" && place.writer !== undefined;
    isRecorded = !hasWorker && database.engine !== "postgres";
  });
  afterAll(() => database.close());
  beforeEach(() => emptyTables(database));

  test("every read and write of every store has a case", () => {
    const methods = stores.flatMap((store) =>
      [...Object.keys(store.reads), ...Object.keys(store.writes)].map(
        (method) => `${store.name}.${method}`,
      ),
    );
    expect(new Set(cases.map((one) => one.method))).toEqual(new Set(methods));
  });

  test("every write of every store is named with what it tells", () => {
    const writes = stores.flatMap((store) =>
      Object.keys(store.writes).map((method) => `${store.name}.${method}`),
    );
    expect(new Set(Object.keys(TOLD))).toEqual(new Set(writes));
    const titles = new Set(cases.map(({ method, title }) => `${method} ${title}`));
    const named = Object.entries(TOLD).flatMap(([method, told]) =>
      Object.keys(told).map((title) => `${method} ${title}`),
    );
    expect(named.filter((title) => !titles.has(title))).toEqual([]);
  });

  for (const { method, title, setup, act, check } of cases) {
    test(`${method} ${title}`, async () => {
      const stores = bindStores(database);
      await setup?.(stores);
      takeTold(method);
      await check(await act(stores), stores);
      if (isRecorded) expect(takeTold(method)).toEqual([...(TOLD[method]?.[title] ?? [])]);
    });
  }
}

function testWrites(on: On): void {
  test(
    "a refused write changes nothing, and its error arrives with code and details",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const failure = await failureOf(trials.refuse(makeTrial("t-1")));
      expect(failure).toBeInstanceOf(ApiError);
      expect(failure).toMatchObject({
        code: "thread_busy",
        details: { param: "thread_id", headers: { "retry-after": "7" } },
      });
      expect(await trials.count()).toBe(0);
    }),
  );

  test(
    "a bug in a write changes nothing, and its error arrives with its message",
    on(async (database) => {
      const trials = database.bind(trialStore);
      await expectFailure(trials.break(makeTrial("t-1")), "a bug at t-1");
      expect(await trials.count()).toBe(0);
    }),
  );

  test(
    "a failed write does not affect concurrent writes",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const settled = await Promise.allSettled(
        Array.from({ length: 60 }, (_, i) => {
          const trial = makeTrial(`t-${i}`);
          return [trials.create, trials.refuse, trials.break][i % 3]!(trial);
        }),
      );
      expect(settled.map((one) => one.status === "fulfilled")).toEqual(
        Array.from({ length: 60 }, (_, i) => i % 3 === 0),
      );
      const kept = (await trials.list()).map((trial) => trial.id);
      expect(new Set(kept)).toEqual(new Set(Array.from({ length: 20 }, (_, i) => `t-${i * 3}`)));
    }),
  );

  test(
    "of 200 writes for one unique name exactly one wins",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const made = await Promise.all(
        Array.from({ length: 200 }, (_, i) => trials.create(makeTrial("t-1", { whole: i }))),
      );
      expect(made.filter(Boolean)).toHaveLength(1);
      expect((await trials.find("t-1"))!.whole).toBe(made.indexOf(true));
    }),
  );

  test(
    "16 concurrent writers increment two counters exactly",
    on(async (database) => {
      const trials = database.bind(trialStore);
      await trials.createAll([makeTrial("t-1"), makeTrial("t-2")]);
      const raise = async () => {
        for (let i = 0; i < 5; i++) await trials.increment(["t-1", "t-2"]);
      };
      await Promise.all(Array.from({ length: 16 }, raise));
      expect((await trials.list()).map((trial) => trial.whole)).toEqual([80, 80]);
    }),
  );

  test(
    "16 concurrent claims never return the same row",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const ids = Array.from({ length: 16 }, (_, i) => `t-${i}`);
      await trials.createAll(ids.map((id) => makeTrial(id)));
      const claimed = await Promise.all(ids.map(() => trials.claim()));
      expect(claimed.toSorted()).toEqual(ids.toSorted());
      expect(await trials.claim()).toBeUndefined();
    }),
  );

  test(
    "a read never sees half of a write",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const writes = Array.from({ length: 100 }, (_, i) => {
        return trials.createAll([makeTrial(`a-${i}`), makeTrial(`b-${i}`)]);
      });
      // Read between any two steps of a write in this thread.
      const counts = Array.from({ length: 1_000 }, async (_, steps) => {
        for (let step = 0; step < steps; step++) await null;
        return trials.count();
      });
      for (const count of await Promise.all(counts)) expect(count % 2).toBe(0);
      // Read while another thread or process writes.
      let isWriting = true;
      const written = Promise.all(writes).then(() => {
        isWriting = false;
      });
      while (isWriting) {
        expect((await trials.count()) % 2).toBe(0);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await written;
      expect(await trials.count()).toBe(200);
    }),
  );

  test(
    "a store that is not named in stores.ts cannot write",
    on(async (database) => {
      const stranger = { ...trialStore, name: "strangers" };
      await expectFailure(database.bind(stranger).claim(), "strangers.claim");
    }),
  );

  test(
    "the readiness probe writes, and a closed database refuses at once",
    on(async (database) => {
      const trials = database.bind(trialStore);
      await database.probe();
      const last = trials.create(makeTrial("t-1"));
      await database.close();
      expect(await last).toBe(true);
      expect(await failureOf(database.probe())).toBeInstanceOf(Error);
      expect(await failureOf(trials.create(makeTrial("t-2")))).toBeInstanceOf(Error);
    }),
  );
}

function testNotifications(on: On): void {
  test(
    "a notified listener reads the committed row, and a failed write notifies none",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const found: Promise<Trial | undefined>[] = [];
      database.listen("trial", (id) => void found.push(trials.find(id!)));
      await trials.refuse(makeTrial("t-1")).catch(() => {});
      await trials.break(makeTrial("t-2")).catch(() => {});
      await trials.createAll([makeTrial("t-3"), makeTrial("t-4")]);
      const ids = (await Promise.all(found)).map((trial) => trial?.id);
      expect(ids).toEqual(["t-3", "t-4"]);
    }),
  );

  test(
    "a listener receives its own channel only, and nothing after it leaves",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const received: unknown[] = [];
      const leave = database.listen("trial", (id, isOwn) => void received.push(isOwn && id));
      database.listen("another", () => void received.push("another"));
      await trials.createAll([makeTrial("t-1")]);
      leave();
      await trials.createAll([makeTrial("t-2")]);
      expect(received).toEqual(["t-1"]);
    }),
  );

  test(
    "every write is told by its name, whatever it tells itself, and a failed one is not",
    on(async (database) => {
      const trials = database.bind(trialStore);
      await trials.create(makeTrial("t-1"));
      const written: unknown[] = [];
      const leave = database.listen(WROTE, (name) => void written.push(name));
      await trials.break(makeTrial("t-2")).catch(() => {});
      await trials.create(makeTrial("t-3"));
      await trials.createAll([makeTrial("t-4"), makeTrial("t-5")]);
      leave();
      await trials.create(makeTrial("t-6"));
      expect(written).toEqual(["trials.create", "trials.createAll"]);
    }),
  );

  test(
    "a listener's bug is reported, and other listeners are still notified",
    on(async (database) => {
      const received: unknown[] = [];
      database.listen("trial", () => {
        throw new Error("deaf");
      });
      database.listen("trial", (id) => void received.push(id));
      await database.bind(trialStore).createAll([makeTrial("t-1")]);
      expect(received).toEqual(["t-1"]);
      expect(database.failures).toEqual([{ failure: new Error("deaf"), isFatal: false }]);
    }),
  );
}

/** Texts that a careless layer would truncate, alter or execute. */
const HOSTILE = [
  "",
  " ",
  "'); DROP TABLE trials; --",
  '"quoted" `ticked` $1 ? :name @name %s \\ \\0',
  "é 😀 \u{10FFFF} \u202E \uFEFF",
  "line\r\nline\ttab\u0001\u001F\u007F",
  "x".repeat(100_000),
];

function testValues(on: On): void {
  test(
    "every column type survives a round trip",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const full = makeTrial("t-1", {
        whole: Number.MAX_SAFE_INTEGER,
        flag: true,
        choice: "right",
        data: { list: [1, 1.5, true, null, "é\u0000\ud800"], nested: { "a.b": {} } },
        amount: Number.MAX_SAFE_INTEGER,
        usage: { rounds: 2 ** 31, cost: 2 ** 40, note: null },
      });
      const empty = makeTrial("t-2", {
        whole: Number.MIN_SAFE_INTEGER,
        data: null,
        at: -1,
        text_or_null: null,
        whole_or_null: null,
        flag_or_null: null,
        data_or_null: null,
        amount_or_null: null,
        at_or_null: null,
      });
      await trials.createAll([full, empty]);
      expect(await trials.list()).toEqual([full, empty]);
    }),
  );

  test(
    "hostile text is stored and found unchanged",
    on(async (database) => {
      const trials = database.bind(trialStore);
      await trials.createAll(HOSTILE.map((text, i) => makeTrial(`t-${i}`, { text })));
      expect((await trials.list()).map((trial) => trial.text)).toEqual(HOSTILE);
      for (const text of HOSTILE) expect(await trials.countText(text)).toBe(1);
    }),
  );

  test.each([
    ["NUL", "a\0b"],
    ["half a surrogate pair", "a\ud800b"],
  ])("a text with %s is refused, since engines store it differently", (_, text) =>
    on(async (database) => {
      const trials = database.bind(trialStore);
      await expectFailure(trials.create(makeTrial("t-1", { text })), "NUL or half");
      await expectFailure(trials.countText(text), "NUL or half");
      expect(await trials.count()).toBe(0);
    })(),
  );

  test(
    "numbers that engines would alter are refused",
    on(async (database) => {
      const trials = database.bind(trialStore);
      for (const whole of [Number.NaN, Infinity, 2 ** 53]) {
        await expectFailure(trials.create(makeTrial("t-1", { whole })), `${whole}`);
      }
      const nothing = undefined as unknown as string;
      await expectFailure(trials.create(makeTrial("t-1", { text: nothing })), "text");
      const none = null as unknown as string;
      await expectFailure(trials.create(makeTrial("t-1", { text: none })), "text");
      expect(await trials.count()).toBe(0);
    }),
  );

  test(
    "values beyond 32 bits compare and add correctly",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const wholes = [1, 2 ** 31, 2 ** 40, 2 ** 52];
      await trials.createAll(wholes.map((whole, i) => makeTrial(`t-${i}`, { whole })));
      expect(await trials.sumAbove(2 ** 31)).toBe(2 ** 40 + 2 ** 52);
      expect(await trials.sumAbove(2 ** 52)).toBe(0);
    }),
  );

  test(
    "an absent condition filters nothing, and conditions nest",
    on(async (database) => {
      const trials = database.bind(trialStore);
      const choices = ["left", "right"] as const;
      const all = choices.flatMap((choice) =>
        [true, false].map((flag) => makeTrial(`t-${choice}-${flag}`, { choice, flag })),
      );
      await trials.createAll(all);
      const idsOf = async (filter?: Parameters<typeof trials.list>[0]) =>
        (await trials.list(filter)).map((trial) => trial.id);
      expect(await idsOf()).toHaveLength(4);
      expect(await idsOf({ choice: "left" })).toEqual(["t-left-false", "t-left-true"]);
      expect(await idsOf({ flag: false })).toEqual(["t-left-false", "t-right-false"]);
      expect(await idsOf({ flag: true, choice: "right" })).toEqual(["t-right-true"]);
    }),
  );

  test(
    "a row that lacks a column of its schema is a bug, never a null",
    on(async (database) => {
      const trials = database.bind(trialStore);
      await trials.create(makeTrial("t-1"));
      await expectFailure(trials.misread(), "was not selected");
    }),
  );
}
