// Tests of writes that PostgreSQL commits in groups, by one process and by two at once.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { SQL } from "bun";
import { runStore } from "../../src/agents/runs/store/index.ts";
import { processStore } from "../../src/cluster/store.ts";
import { DatabaseUnavailable } from "../../src/database/index.ts";
import {
  failureOf,
  type Ground,
  openServer,
  openTestDatabase,
  type TestDatabase,
} from "../support/database.ts";
import { rootedTrialStore } from "../support/rooted-trials.ts";
import { BEGIN, FREE, makePreparedRun, makeRecord } from "../support/runs.ts";
import { emptyTables, makeTrial, trialStore } from "../support/trial.ts";
import { codeOf, count, ended } from "./run-acts.ts";

const address = process.env.WADI_TEST_POSTGRES;
if (address) testGroups(address);
else test.skip("groups: skipped, since WADI_TEST_POSTGRES names no server", () => {});

function testGroups(server: string): void {
  let ground: Ground;
  let looker: SQL;
  let databases: TestDatabase[];
  beforeAll(async () => {
    ground = openServer(server);
    const place = await ground.makePlace();
    if (place.kind !== "postgres") throw new Error("not PostgreSQL");
    databases = [await openTestDatabase(place), await openTestDatabase(place)];
    looker = new SQL({ url: place.url, max: 1 });
  });
  beforeEach(() => emptyTables(databases[0]!));
  afterAll(async () => {
    await looker.close();
    for (const database of databases) await database.close();
    await ground.release();
  });
  const trials = (at = 0) => databases[at]!.bind(rootedTrialStore);
  const countTransactions = async () =>
    (await looker`SELECT COUNT(DISTINCT xmin::text)::int AS n FROM trials`)[0].n as number;
  const listIds = async () =>
    ((await looker`SELECT id FROM trials ORDER BY id`) as { id: string }[]).map(({ id }) => id);

  test("calls of one turn share a transaction, which holds at most 64", async () => {
    await Promise.all(count(64).map((n) => trials().add(`t-${n}`)));
    expect(await countTransactions()).toBe(1);
    await Promise.all(count(65).map((n) => trials().add(`u-${n}`)));
    expect(await countTransactions()).toBe(3);
    expect(await listIds()).toHaveLength(129);
  });

  test("calls of one root see each other's changes in order", async () => {
    await trials().add("one");
    const values = await Promise.all(count(100).map(() => trials().increment("one")));
    expect(values).toEqual(count(100));
  });

  test("a call that is refused before it writes fails alone, in the same transaction", async () => {
    const heard: (string | null)[] = [];
    const stop = databases[0]!.listen("trial", (id) => void heard.push(id));
    const refused = failureOf(trials().refuse("no"));
    await Promise.all([trials().add("a"), refused, trials().add("b")]);
    stop();
    expect(await refused).toMatchObject({ code: "thread_busy" });
    expect(await listIds()).toEqual(["a", "b"]);
    expect(await countTransactions()).toBe(1);
    expect(heard).toEqual(["a", "b"]);
  });

  test("a call that fails after it wrote leaves nothing, and the others are stored", async () => {
    const heard: (string | null)[] = [];
    const stop = databases[0]!.listen("trial", (id) => void heard.push(id));
    const broken = failureOf(trials().break("no"));
    const twice = failureOf(
      trials()
        .add("a")
        .then(() => trials().add("a")),
    );
    await Promise.all([trials().add("b"), broken, twice, trials().add("c")]);
    stop();
    expect((await broken).message).toBe("a bug at no");
    expect((await twice).message).toContain("duplicate key");
    expect(await listIds()).toEqual(["a", "b", "c"]);
    expect(heard.toSorted()).toEqual(["a", "b", "c"]);
  });

  test("a server, which commits early, stores nothing of a call that fails after it wrote", async () => {
    const place = await ground.makePlace();
    const own = await openTestDatabase({ ...place, isShared: true } as typeof place, true);
    const rooted = own.bind(rootedTrialStore);
    const broken = [await failureOf(rooted.break("alone"))];
    const beside = failureOf(rooted.break("beside"));
    await Promise.all([rooted.add("a"), beside, rooted.add("b")]);
    broken.push(await beside);
    expect(broken.map(({ message }) => message)).toEqual(["a bug at alone", "a bug at beside"]);
    const ids = (await own.bind(trialStore).list()).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(["a", "b"]);
    await own.close();
  });

  test("nobody is told of a write whose commit fails, by itself or in a group", async () => {
    await looker.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE EXCEPTION 'no commit'; END $$`);
    await looker.unsafe(`CREATE CONSTRAINT TRIGGER refusing AFTER INSERT ON trials
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`);
    const heard: (string | null)[] = [];
    const stop = databases[0]!.listen("trial", (id) => void heard.push(id));
    const failures = [
      await failureOf(trials().add("a")),
      await failureOf(databases[0]!.bind(trialStore).createAll([makeTrial("b")])),
    ];
    await looker`DROP TRIGGER refusing ON trials`;
    for (const { message } of failures) expect(message).toContain("no commit");
    expect([await listIds(), heard]).toEqual([[], []]);
    await trials().add("c");
    expect(heard).toEqual(["c"]);
    stop();
  });

  test("two processes that change one root lose no change", async () => {
    await trials().add("one");
    const both = [0, 1].flatMap((at) => count(50).map(() => trials(at).increment("one")));
    expect((await Promise.all(both)).toSorted((a, b) => a - b)).toEqual(count(100));
  });

  test("two processes that change the same roots in other orders end without a deadlock", async () => {
    const ids = count(20).map((n) => `t-${n}`);
    for (const id of ids) await trials().add(id);
    const changes = [ids, ids.toReversed()].flatMap((order, at) =>
      order.map((id) => trials(at).increment(id)),
    );
    await Promise.all(changes);
    const rows = (await looker`SELECT whole::int AS whole FROM trials`) as { whole: number }[];
    expect(rows.map(({ whole }) => whole)).toEqual(ids.map(() => 2));
  });

  test("a group whose turn does not come is refused as a whole, and loses nothing later", async () => {
    const place = await ground.makePlace();
    if (place.kind !== "postgres") throw new Error("not PostgreSQL");
    const database = await openTestDatabase({ ...place, isShared: true });
    const counters = database.bind(rootedTrialStore);
    await counters.add("a");
    const watcher = new SQL({ url: place.url, max: 1 });
    await watcher.begin(async (lock) => {
      await lock`SELECT pg_advisory_xact_lock(7241988)`;
      const refused = await Promise.all(count(5).map(() => failureOf(counters.increment("a"))));
      for (const failure of refused) expect(failure).toBeInstanceOf(DatabaseUnavailable);
    });
    expect(await counters.increment("a")).toBe(1);
    await watcher.close();
    await database.close();
  });

  test("groups of several processes take turns, and one that waits for its turn holds no row", async () => {
    const place = await ground.makePlace();
    if (place.kind !== "postgres") throw new Error("not PostgreSQL");
    const shared = { ...place, isShared: true };
    const both = [await openTestDatabase(shared), await openTestDatabase(shared)];
    const [one, other] = both.map((database) => database.bind(rootedTrialStore));
    const ids = ["a", "b", "c"];
    for (const id of ids) await one!.add(id);
    const watcher = new SQL({ url: place.url, max: 1 });
    let changed: Promise<unknown> | undefined;
    await watcher.begin(async (lock) => {
      await lock`SELECT pg_advisory_xact_lock(7241988)`;
      changed = Promise.all([
        ...ids.map((id) => one!.increment(id)),
        ...ids.toReversed().map((id) => other!.increment(id)),
      ]);
      const [{ pid }] = await lock`SELECT pg_backend_pid() AS pid`;
      // Outside of the transaction, which would see the same list again.
      const countWaiting = async () =>
        (
          await looker`SELECT COUNT(*)::int AS n FROM pg_stat_activity
            WHERE ${pid} = ANY(pg_blocking_pids(pid))`
        )[0].n;
      while ((await countWaiting()) < 2) await Promise.resolve();
      await lock`SELECT id FROM trials FOR UPDATE NOWAIT`;
    });
    expect(((await changed) as number[]).toSorted()).toEqual([1, 1, 1, 2, 2, 2]);
    await watcher.close();
    for (const database of both) await database.close();
  });

  test("the end of a database waits for the writes of its groups", async () => {
    const place = await ground.makePlace();
    const own = await openTestDatabase(place);
    const written = Promise.all(count(70).map((n) => own.bind(rootedTrialStore).add(`t-${n}`)));
    await own.close();
    expect(await written).toHaveLength(70);
  });

  const runs = (at = 0) => databases[at]!.bind(runStore);
  const readCounts = async () =>
    (await looker`SELECT started::int AS started, active::int AS active FROM run_counts`)[0];

  test("starts of one account by two processes get each number once", async () => {
    const started = await Promise.all(
      count(60).map((n) => runs(n % 2).start(makePreparedRun(`r-${n}`))),
    );
    const numbers = started.map(({ run }) => run.number);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(count(60));
    expect(await readCounts()).toEqual({ started: 60, active: 60 });
  });

  test("the limit of active runs holds for starts by two processes", async () => {
    const limits = { ...FREE, active_runs: 7 };
    const results = await Promise.all(
      count(40).map((n) => codeOf(runs(n % 2).start(makePreparedRun(`r-${n}`, {}, { limits })))),
    );
    expect(results.filter((one) => one === "accepted")).toHaveLength(7);
    expect(new Set(results)).toEqual(new Set(["accepted", "active_runs_limit"]));
    expect(await readCounts()).toEqual({ started: 7, active: 7 });
  });

  test("one key starts one run, whichever of two processes is asked", async () => {
    const idempotency = { key: "once", body_hash: "h" };
    const results = await Promise.all(
      count(20).map((n) => runs(n % 2).start(makePreparedRun(`r-${n}`, {}, { idempotency }))),
    );
    expect(new Set(results.map(({ run }) => run.id)).size).toBe(1);
    expect(results.filter(({ isNew }) => isNew)).toHaveLength(1);
  });

  test("a run is claimed by one of two processes, and not by one declared dead", async () => {
    const processes = databases[0]!.bind(processStore);
    const epochs = [await processes.register(BEGIN), await processes.register(BEGIN)];
    await Promise.all(count(40).map((n) => runs().start(makePreparedRun(`r-${n}`))));
    const turn = [{ account_id: "a-1", runsMax: 5 }];
    const claimed = await Promise.all(
      count(16).map((n) => runs(n % 2).claim(epochs[n % 2]!, turn, BEGIN)),
    );
    const ids = claimed.flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(40);
    await processes.end(epochs[0]!, BEGIN);
    await runs().start(makePreparedRun("late"));
    expect(await runs().claim(epochs[0]!, turn, BEGIN)).toEqual([]);
  });

  test("a run that another transaction has locked is left, and told to be claimed again", async () => {
    const epoch = await databases[0]!.bind(processStore).register(BEGIN);
    await Promise.all(["r-1", "r-2"].map((id) => runs().start(makePreparedRun(id))));
    const turn = [{ account_id: "a-1", runsMax: 5 }];
    const heard: (string | null)[] = [];
    const stop = databases[0]!.listen("runs.queued", (id) => void heard.push(id));
    await looker.begin(async (locker) => {
      await locker`SELECT id FROM runs WHERE id = 'r-1' FOR UPDATE`;
      const claimed = await runs().claim(epoch, turn, BEGIN);
      expect(claimed.map(({ id }) => id)).toEqual(["r-2"]);
    });
    expect(heard).toEqual(["a-1"]);
    expect((await runs().claim(epoch, turn, BEGIN)).map(({ id }) => id)).toEqual(["r-1"]);
    expect(heard).toEqual(["a-1"]);
    stop();
  });

  test("a cancel that is stored before an intent leaves nothing to send", async () => {
    const epoch = await databases[0]!.bind(processStore).register(BEGIN);
    const ids = count(30).map((n) => `r-${n}`);
    await Promise.all(ids.map((id) => runs().start(makePreparedRun(id))));
    await runs().claim(epoch, [{ account_id: "a-1", runsMax: 100 }], BEGIN);
    const outcomes = await Promise.all(
      ids.flatMap((id) => [
        runs(1).cancel(id, "a-1", [`step of ${id}`], BEGIN),
        runs(0).intend(makeRecord(id, { epoch, steps: [] }), "a-1", []),
      ]),
    );
    const intents = outcomes.filter((_, at) => at % 2 === 1) as { kind: string }[];
    for (const [at, { kind }] of intents.entries()) {
      const run = await runs().find(ids[at]!, null);
      expect(run!.cancel_requested).toBe(true);
      expect(["written", "cancelled"]).toContain(kind);
      expect((await runs(0).intend(makeRecord(ids[at]!, { epoch }), "a-1", [])).kind).toBe(
        "cancelled",
      );
    }
  });

  test("ends of runs by two processes are all counted", async () => {
    const processes = databases[0]!.bind(processStore);
    const epochs = [await processes.register(BEGIN), await processes.register(BEGIN)];
    await Promise.all(count(40).map((n) => runs().start(makePreparedRun(`r-${n}`))));
    const turn = [{ account_id: "a-1", runsMax: 20 }];
    const held = [
      await runs(0).claim(epochs[0]!, turn, BEGIN),
      await runs(1).claim(epochs[1]!, turn, BEGIN),
    ];
    const finishes = held.flatMap((rows, at) =>
      rows.map(({ id }) =>
        runs(at).finish(
          makeRecord(id, { epoch: epochs[at]! }),
          ended("succeeded", `event of ${id}`),
        ),
      ),
    );
    expect(await Promise.all(finishes)).toEqual(finishes.map(() => true));
    expect(await readCounts()).toEqual({ started: 40, active: 0 });
    const [day] = await looker`SELECT SUM(runs)::int AS runs FROM run_days`;
    expect(day.runs).toBe(40);
  });
}
