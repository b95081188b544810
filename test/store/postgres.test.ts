// The conformance suite on a real PostgreSQL, if configured, and tests that need one.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import {
  DatabaseInUse,
  type DatabaseLocation,
  DatabaseUnusable,
  isLocked,
  openDatabase,
  WROTE,
} from "../../src/database/index.ts";
import { migratePostgres } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";
import { createManualClock } from "../support/clock.ts";
import {
  failureOf,
  type Ground,
  openEmptiedServer,
  openServer,
  openTestDatabase,
  type TestDatabase,
} from "../support/database.ts";
import { rootedTrialStore } from "../support/rooted-trials.ts";
import { makeTrial, trialStore } from "../support/trial.ts";
import { testEngine } from "./conformance.ts";

const address = process.env.WADI_TEST_POSTGRES;

if (address) {
  testEngine("PostgreSQL", () => openEmptiedServer(address));
  describe("two servers on one PostgreSQL", () => testServers(address));
} else {
  test.skip("PostgreSQL: skipped, since WADI_TEST_POSTGRES names no server", () => {});
}

function testServers(server: string): void {
  let ground: Ground;
  let place: DatabaseLocation & { kind: "postgres" };
  beforeAll(async () => {
    ground = openServer(server);
    const made = await ground.makePlace();
    if (made.kind !== "postgres") throw new Error("not PostgreSQL");
    place = made;
  });
  afterAll(() => ground.release());

  test("wake each other's listeners, and their own only once, each told whose write it was", async () => {
    const [writer, reader] = [await openTestDatabase(place), await openTestDatabase(place)];
    const own: unknown[] = [];
    writer.listen("trial", (id, isOwn) => void own.push(isOwn ? id : `other ${id}`));
    const received = receive(reader, "trial", 2);
    await writer.bind(trialStore).createAll([makeTrial("t-1"), makeTrial("t-2")]);
    expect(await received).toEqual(["t-1", "t-2"]);
    expect(await reader.bind(trialStore).count()).toBe(2);
    // A second round trip, after which an echo of the first would have arrived.
    const back = receive(writer, "trial", 1);
    await reader.bind(trialStore).createAll([makeTrial("t-3")]);
    await back;
    expect(own).toEqual(["t-1", "t-2", "other t-3"]);
    const { bytes, wal_bytes } = await writer.measure();
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(wal_bytes).toBeNull();
    for (const database of [writer, reader]) await database.close();
  });

  test("tell a server of each write of a command, and no command of a server's", async () => {
    const [command, server] = [await openTestDatabase(place), await openTestDatabase(place, true)];
    const told = receive(server, WROTE, 1);
    await command.bind(trialStore).create(makeTrial("w-1"));
    expect(await told).toEqual(["trials.create"]);
    const heard: unknown[] = [];
    command.listen(WROTE, (name) => void heard.push(name));
    const own = receive(server, WROTE, 1);
    const through = receive(command, "trial", 1);
    await server.bind(trialStore).createAll([makeTrial("w-2")]);
    expect([await own, await through]).toEqual([["trials.createAll"], ["w-2"]]);
    expect(heard).toEqual([]);
    for (const database of [command, server]) await database.close();
  });

  test("report only that something changed if the list is too long or foreign", async () => {
    const [writer, reader] = [await openTestDatabase(place), await openTestDatabase(place)];
    const many = Array.from({ length: 500 }, (_, i) => makeTrial(`many-${i}-${"x".repeat(20)}`));
    const long = receive(reader, "trial", 1);
    await writer.bind(trialStore).createAll(many);
    expect(await long).toEqual([null]);
    // A list short in characters but too long in bytes.
    const letters = Array.from({ length: 100 }, (_, i) => makeTrial(`${i} ${"ن".repeat(50)}`));
    const wide = receive(reader, "trial", 1);
    await writer.bind(trialStore).createAll(letters);
    expect(await wide).toEqual([null]);
    const strange = receive(reader, "trial", 1);
    await run("SELECT pg_notify('wadi', 'not ours')");
    expect(await strange).toEqual([null]);
    for (const database of [writer, reader]) await database.close();
  });

  test("read again when their listening connection was cut", async () => {
    const database = await openTestDatabase(place);
    const received = receive(database, "trial", 1);
    await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'LISTEN%'`);
    expect(await received).toEqual([null]);
    await database.close();
  });

  test("repeat a read whose connection was cut", async () => {
    const database = await openTestDatabase(place);
    const locker = new SQL({ url: place.url, max: 1 });
    await database.bind(trialStore).createAll([makeTrial("read-1")]);
    let reading: Promise<number> | undefined;
    await locker.begin(async (lock) => {
      await lock.unsafe("LOCK TABLE trials");
      reading = database.bind(trialStore).count();
      // Waits in the server until the read waits.
      await lock.unsafe(`DO $$ BEGIN
        WHILE (
          SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        ) = 0 LOOP
          PERFORM pg_sleep(0.01);
        END LOOP; END $$`);
    });
    expect(await reading).toBeGreaterThan(0);
    for (const one of [locker, database]) await one.close();
  });

  test("report a missing database without the password", async () => {
    const url = new URL(place.url);
    url.pathname = "/nowhere";
    const failure = await failureOf(openTestDatabase({ ...place, url: url.href }, true));
    expect(failure).toBeInstanceOf(DatabaseUnusable);
    expect(failure.message).toBe(
      `PostgreSQL at ${url.host} has no database "nowhere": create it, or correct the name`,
    );
  });

  test("cannot both hold the exclusive lock; the second gets it after the first ends", async () => {
    const first = await openTestDatabase(place, true);
    const failure = await failureOf(openTestDatabase(place, true));
    expect(failure).toBeInstanceOf(DatabaseInUse);
    expect(failure.message).toMatch(/^another wadi process .+ uses the database of [^@]+: stop it/);
    const commandLine = await openTestDatabase(place);
    await commandLine.probe();
    for (const database of [commandLine, first]) await database.close();
    await (await openTestDatabase(place, true)).close();
  });

  describe("of which the settings name a Valkey server", () => {
    test("hold the lock together, and keep off a lone one, which keeps off them", async () => {
      const shared = { ...place, isShared: true };
      const both = [await openTestDatabase(shared, true), await openTestDatabase(shared, true)];
      const alone = await failureOf(openTestDatabase(place, true));
      expect(alone).toBeInstanceOf(DatabaseInUse);
      expect(alone.message).toMatch(
        /^servers that share their limits use the database of [^@]+: set server\.valkey as they do/,
      );
      for (const database of both) await database.close();
      const lone = await openTestDatabase(place, true);
      const refused = await failureOf(openTestDatabase(shared, true));
      expect(refused).toBeInstanceOf(DatabaseInUse);
      expect(refused.message).toMatch(
        /^another wadi process .+ restart it with the same server\.val/,
      );
      await lone.close();
      await (await openTestDatabase(shared, true)).close();
    });

    test("change nothing where an older process has started since they first looked", async () => {
      const own = (await ground.makePlace()) as typeof place;
      const pool = new SQL({ url: own.url, max: 1 });
      const statements = () => ["CREATE TABLE trial (a TEXT)"];
      const contraction: Migration = { number: 9_001, name: "trial", statements };
      let looks = 0;
      const migrating = migratePostgres(pool, {
        ...{ migrations: [...migrations, contraction], now: 0, expandOnly: false },
        hasOlder: async () => ++looks > 1,
      });
      await expect(migrating).rejects.toThrow("stop each server of an older version");
      const [{ made }] = await pool`SELECT to_regclass('trial') AS made`;
      expect([looks, made]).toEqual([2, null]);
      await pool.close();
    });

    test("change a table as soon as others let it go, and hold up nobody for long", async () => {
      const migration: Migration = {
        ...{ number: 9_001, name: "trial", kind: "expansion" },
        statements: () => ["ALTER TABLE agents ADD COLUMN trial TEXT"],
      };
      const own = (await ground.makePlace()) as typeof place;
      const holder = new SQL({ url: own.url, max: 1 });
      const look = new SQL({ url: own.url, max: 1 });
      await holder.unsafe("BEGIN; SELECT 1 FROM agents");
      const countWaiting = async () => {
        const rows = await look`SELECT count(*)::int AS waiting FROM pg_stat_activity
          WHERE wait_event_type = 'Lock' AND query LIKE '%ADD COLUMN trial%'`;
        return rows[0].waiting;
      };
      const clock = createManualClock();
      const opening = openDatabase({
        ...{ place: own, stores: [], clock, migrations: [...migrations, migration] },
        onFailure() {},
      });
      while ((await countWaiting()) === 0);
      // The wait is over before the holder lets go.
      while ((await countWaiting()) > 0);
      expect((await look`SELECT count(*) FROM agents`).length).toBe(1);
      await holder.unsafe("COMMIT");
      await (await opening).close();
      expect(await look`SELECT trial FROM agents`).toEqual([] as never);
      for (const pool of [holder, look]) await pool.close();
    });

    test("tell each other of every write once, and of many in several messages", async () => {
      const shared = { ...place, isShared: true };
      const [writer, reader] = [
        await openTestDatabase(shared, true),
        await openTestDatabase(shared, true),
      ];
      const heard: unknown[] = [];
      reader.listen(WROTE, (name, isOwn) => void heard.push([name, isOwn]));
      const ids = Array.from({ length: 250 }, () => crypto.randomUUID());
      const told = receive(reader, "trial", 250);
      await writer.bind(trialStore).createAll(ids.map((id) => makeTrial(id)));
      expect(await told).toEqual(ids);
      const next = receive(reader, WROTE, 1);
      await writer.bind(trialStore).create(makeTrial("after"));
      expect(await next).toEqual(["trials.create"]);
      expect(heard).toEqual([
        ["trials.createAll", false],
        ["trials.create", false],
      ]);
      for (const database of [writer, reader]) await database.close();
    });

    test("tell each other also of writes that come while others are gathered, or before their end", async () => {
      const shared = { ...place, isShared: true };
      const open = () => openTestDatabase(shared, true);
      const [writer, other, reader] = [await open(), await open(), await open()];
      const heard = new Set<string | null>();
      reader.listen("trial", (id) => void heard.add(id));
      const create = (database: TestDatabase, id: string) =>
        database.bind(trialStore).createAll([makeTrial(id)]);
      const ids = Array.from({ length: 20 }, () => crypto.randomUUID());
      await Promise.all(ids.map((id) => create(writer, id)));
      const last = crypto.randomUUID();
      const writing = writer.bind(rootedTrialStore).add(last);
      await writer.close();
      await writing;
      // Messages come in the order of their commits.
      const markers = new Set<string>();
      while (markers.isDisjointFrom(heard)) {
        const marker = crypto.randomUUID();
        markers.add(marker);
        await create(other, marker);
      }
      expect([...ids, last].filter((id) => !heard.has(id))).toEqual([]);
      for (const database of [other, reader]) await database.close();
    });
  });

  test("take their lock again when its connection was cut", async () => {
    const database = await openTestDatabase(place, true);
    // Only this database's locks; other tests run servers too.
    const lock = `pg_locks WHERE locktype = 'advisory' AND database =
      (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await run(`SELECT pg_terminate_backend(pid) FROM ${lock}`);
    // Waits in the server until the lock is taken again.
    await run(`DO $$ BEGIN
      WHILE NOT EXISTS (SELECT 1 FROM ${lock}) LOOP
        PERFORM pg_sleep(0.01);
      END LOOP; END $$`);
    expect(await failureOf(openTestDatabase(place, true))).toBeInstanceOf(DatabaseInUse);
    expect(database.failures).toEqual([]);
    await database.close();
  });

  test("are seen by a command, which needs no lock for that", async () => {
    expect(await isLocked(place)).toBe(false);
    const database = await openTestDatabase(place, true);
    expect(await isLocked(place)).toBe(true);
    await database.close();
    expect(await isLocked(place)).toBe(false);
    const silent = isLocked({ ...place, url: "postgres://ann:secret@127.0.0.1:9/wadi" });
    expect((await failureOf(silent)).message).toContain("127.0.0.1:9");
  });

  /** Runs a statement on the same database, outside the servers. */
  async function run(text: string): Promise<void> {
    const pool = new SQL({ url: place.url, max: 1 });
    await pool.unsafe(text);
    await pool.close();
  }
}

/** Resolves with the next `count` ids published on `channel`. */
function receive(database: TestDatabase, channel: string, count: number): Promise<unknown[]> {
  const received: unknown[] = [];
  return new Promise((resolve) => {
    database.listen(channel, (id) => {
      if (received.push(id) === count) resolve(received);
    });
  });
}
