// Tests of a PostgreSQL that stops answering, behind a proxy that swallows its bytes.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { SQL } from "bun";
import { DatabaseUnavailable } from "../../src/database/index.ts";
import { lockPostgres } from "../../src/database/lock.ts";
import { PostgresConnections } from "../../src/database/postgres-connections.ts";
import { stateOf } from "../../src/database/postgres-failures.ts";
import { createSystemClock } from "../../src/platform/clock.ts";
import { createManualClock } from "../support/clock.ts";
import { failureOf, openServer, openTestDatabase } from "../support/database.ts";
import { createEmptyDatabase, dropDatabase } from "../support/postgres.ts";
import { rootedTrialStore } from "../support/rooted-trials.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const address = process.env.WADI_TEST_POSTGRES;
if (address) testSilence(address);
else test.skip("silence: skipped, since WADI_TEST_POSTGRES names no server", () => {});

function testSilence(server: string): void {
  let proxy: TcpProxy;
  let clock: ReturnType<typeof createManualClock>;
  let connections: PostgresConnections;
  let pools: SQL[];
  beforeEach(() => {
    const { hostname, port } = new URL(server);
    proxy = startTcpProxy(hostname, Number(port || 5432));
    const url = new URL(server);
    url.hostname = "127.0.0.1";
    url.port = String(proxy.port);
    clock = createManualClock();
    pools = [];
    const onOpen = (pool: SQL) => void pools.push(pool);
    connections = new PostgresConnections({ url: url.href, connectionsMax: 2, clock, onOpen });
  });
  afterEach(async () => {
    await connections.close();
    proxy.stop();
  });
  const ask = (text = "SELECT 1 AS one") =>
    connections.use(async (runner) => (await runner.unsafe(text))[0]);
  /** Moves the clock by steps until the work has ended; the network takes its own time. */
  const passUntilOver = async <T>(work: Promise<T>, stepMs: number): Promise<T> => {
    let isOver = false;
    const ended = work.finally(() => {
      isOver = true;
    });
    ended.catch(() => {});
    while (!isOver) await clock.advance(stepMs);
    return ended;
  };
  /** Waits for the answer of a look: from then on only the work under way has a timer. */
  const passUntilLooked = async () => {
    do await ask();
    while (clock.pending() > 1);
  };
  const SILENT = { code: "ERR_POSTGRES_CONNECTION_SILENT" };

  test("a server that is silent fails what is under way, and new work at once", async () => {
    await ask();
    proxy.swallow();
    const began = clock.monotonic();
    expect(await passUntilOver(failureOf(ask()), 100)).toMatchObject(SILENT);
    expect(clock.monotonic() - began).toBeGreaterThanOrEqual(2_000);
    const at = clock.monotonic();
    expect(await failureOf(ask())).toMatchObject(SILENT);
    expect(clock.monotonic()).toBe(at);
  });

  test("work goes on when the server answers again, on a pool of its own", async () => {
    await ask();
    proxy.swallow();
    await passUntilOver(failureOf(ask()), 100);
    proxy.heal();
    // Past the look that is lost, and to the next one, which the server answers in its own time.
    await clock.advance(750);
    let isBack = false;
    while (!isBack) {
      await clock.advance(0);
      isBack = await ask().then(
        () => true,
        () => false,
      );
    }
    expect(pools.length).toBeGreaterThan(1);
    expect(await ask()).toEqual({ one: 1 });
  });

  test("work that waited for a connection fails with that which held it", async () => {
    await Promise.all([ask(), ask()]);
    proxy.swallow();
    const works = [ask(), ask(), ask(), ask()].map((work) => failureOf(work));
    for (const failure of await passUntilOver(Promise.all(works), 100)) {
      expect(failure).toMatchObject(SILENT);
    }
  });

  test("one connection that is lost fails its own work only", async () => {
    await ask();
    proxy.swallowLast();
    const lost = failureOf(ask());
    for (let looks = 0; looks < 2; looks++) {
      await clock.advance(1_500);
      await passUntilLooked();
    }
    expect(await passUntilOver(lost, 0)).toMatchObject(SILENT);
    expect(await ask()).toEqual({ one: 1 });
    expect(pools).toHaveLength(1);
  });

  test("work between two statements goes on", async () => {
    const next = Promise.withResolvers<void>();
    const work = connections.use(async (runner) => {
      await runner.unsafe("SELECT 1");
      await next.promise;
      return (await runner.unsafe("SELECT 3 AS three"))[0];
    });
    await ask();
    await clock.advance(1_500);
    await passUntilLooked();
    next.resolve();
    expect(await passUntilOver(work, 0)).toEqual({ three: 3 });
  });

  test("work that the server is busy with goes on", async () => {
    const locker = new SQL({ url: server, max: 1 });
    const held = await locker.reserve();
    await held.unsafe("SELECT pg_advisory_lock(2511)");
    const slow = ask("SELECT 2 AS two FROM pg_advisory_lock(2511)");
    const waiting = "SELECT 1 FROM pg_locks WHERE objid = 2511 AND NOT granted";
    while ((await held.unsafe(waiting)).length === 0);
    await clock.advance(1_500);
    await passUntilLooked();
    await held.unsafe("SELECT pg_advisory_unlock(2511)");
    expect(await passUntilOver(slow, 0)).toEqual({ two: 2 });
    expect(pools).toHaveLength(1);
    await locker.close({ timeout: 0 });
  });

  test("a group whose commit was not answered fails, and no call of it runs again", async () => {
    const ground = openServer(server);
    const place = await ground.makePlace();
    if (place.kind !== "postgres") throw new Error("not PostgreSQL");
    const url = new URL(place.url);
    url.port = String(proxy.port);
    const database = await openTestDatabase({ ...place, url: url.href });
    const trials = database.bind(rootedTrialStore);
    await trials.add("one");
    // The begin of the transaction is answered with its end.
    proxy.cutAt("COMMIT\0");
    const works = [trials.increment("one"), trials.increment("one")].map(failureOf);
    for (const failure of await Promise.all(works)) {
      expect(failure).toBeInstanceOf(DatabaseUnavailable);
    }
    // Both had been committed.
    expect(await trials.increment("one")).toBe(3);
    await database.close();
    await ground.release();
  });

  const PID = "SELECT pg_backend_pid() AS pid";
  const write = () =>
    connections.transact("READ COMMITTED", ({ runner }) => runner.unsafe("CREATE TABLE t ()"));
  const READ_ONLY = { code: "25006" };

  test("connections that take no writes are ended, and reads under way go on", async () => {
    const before = await Promise.all([ask(PID), ask(PID)]);
    const refused = Promise.withResolvers<void>();
    const reading = connections.use(async (runner) => {
      await refused.promise;
      return (await runner.unsafe(PID))[0];
    });
    await ask("SET default_transaction_read_only = on");
    expect(stateOf(await failureOf(write()))).toBe("25006");
    refused.resolve();
    expect(before).toContainEqual(await reading);
    expect(pools).toHaveLength(1);
    const after = await Promise.all([ask(PID), ask(PID)]);
    expect(after.filter((one) => before.some(({ pid }) => pid === one.pid))).toHaveLength(1);
  });

  test("a leader that is a standby now is as good as away, until a leader answers", async () => {
    const standby = await openStandby(server);
    const url = new URL(standby.url);
    url.port = String(proxy.port);
    await connections.close();
    const onOpen = (pool: SQL) => void pools.push(pool);
    const real = createSystemClock();
    connections = new PostgresConnections({
      ...{ url: url.href, connectionsMax: 2, clock: real, onOpen },
    });
    const before = await Promise.all([ask(PID), ask(PID)]);
    await standby.demote();
    await ask("SET default_transaction_read_only = on");
    expect(stateOf(await failureOf(write()))).toBe("25006");
    // Reads would be answered from what the standby had.
    expect(await failureOf(ask())).toMatchObject(READ_ONLY);
    let isBack = false;
    while (!isBack) {
      await standby.promote();
      isBack = (await ask().catch(() => null)) !== null;
    }
    for (const one of await Promise.all([ask(PID), ask(PID)])) {
      expect(before).not.toContainEqual(one);
    }
    // The next pool listens again.
    expect(pools).toHaveLength(3);
    await connections.close();
    await standby.release();
  });

  test("a leader whose commits no standby confirms is as good as away, until one does", async () => {
    const standby = await openStandby(server);
    await connections.close();
    const onOpen = (pool: SQL) => void pools.push(pool);
    connections = new PostgresConnections({ url: standby.url, connectionsMax: 2, clock, onOpen });
    const commit = failureOf(ask("SELECT pg_sleep(600)"));
    await standby.confirm(false);
    await clock.advance(1_500);
    expect(await passUntilOver(commit, 0)).toMatchObject(SILENT);
    // The server answers every attempt in its own time.
    const pass = async (isConfirmed: boolean) => {
      await standby.confirm(isConfirmed);
      await clock.advance(10);
    };
    for (let passed = 0; passed < 100; passed++) await pass(false);
    expect(await failureOf(ask())).toMatchObject(SILENT);
    do await pass(true);
    while ((await ask().catch(() => null)) === null);
    expect(pools).toHaveLength(3);
    await connections.close();
    await standby.release();
  });

  test("the lock of a server is not taken at a standby, and its session is ended", async () => {
    const standby = await openStandby(server);
    await standby.demote();
    const lost = () => {};
    const refused = await failureOf(lockPostgres(standby.url, lost));
    // The end of the session may come before its answer.
    expect(stateOf(refused)).toMatch(/^(25006|57P01|ERR_POSTGRES_CONNECTION_CLOSED)$/);
    await standby.promote();
    await (await lockPostgres(standby.url, lost))();
    await standby.release();
  });

  test("the lock's session is probed, so that the lock of a lost machine ends with it", async () => {
    const release = await lockPostgres(server, () => {});
    const holder = await ask(`SELECT query, application_name FROM pg_locks
      JOIN pg_stat_activity USING (pid) JOIN pg_database ON pg_database.oid = pg_locks.database
      WHERE locktype = 'advisory' AND objid = 7241987 AND pg_database.datname = current_database()`);
    expect(holder).toMatchObject({ application_name: "wadi" });
    for (const [name, value] of Object.entries({ idle: 5, interval: 5, count: 2 })) {
      expect(holder.query).toContain(`set_config('tcp_keepalives_${name}', '${value}', false)`);
    }
    await release();
  });

  test("a transaction that fails leaves nothing, and its connection is used again", async () => {
    const before = await ask("SELECT pg_backend_pid() AS pid");
    const failing = connections.transact("READ COMMITTED", async ({ runner }) => {
      await runner.unsafe("CREATE TEMP TABLE gone (n INT)");
      throw new Error("a bug");
    });
    expect((await failureOf(failing)).message).toBe("a bug");
    const found = await ask("SELECT to_regclass('gone') AS gone");
    expect(found).toEqual({ gone: null });
    expect(await ask("SELECT pg_backend_pid() AS pid")).toEqual(before);
  });

  test("a transaction of a process that stops is ended by the server", async () => {
    const bounds = await connections.transact("SERIALIZABLE", async ({ runner }) => {
      const [row] = await runner.unsafe(
        "SELECT current_setting('idle_in_transaction_session_timeout') AS idle, " +
          "current_setting('lock_timeout') AS lock, current_setting('transaction_isolation') AS level",
      );
      return row;
    });
    expect(bounds).toEqual({ idle: "5s", lock: "2s", level: "serializable" });
    // The session is bound: no transaction sends the bounds again.
    const after = await ask("SELECT current_setting('lock_timeout') AS lock");
    expect(after).toEqual({ lock: "2s" });
  });
}

/** A database whose server says that it is a standby, without being one. */
async function openStandby(server: string) {
  const url = await createEmptyDatabase(server);
  const sql = new SQL({ url, max: 1 });
  const say = (isStandby: boolean) =>
    sql.unsafe(`CREATE OR REPLACE FUNCTION said.pg_is_in_recovery() RETURNS BOOLEAN
      LANGUAGE sql AS 'SELECT ${isStandby}'`);
  /** What the server says of its processes: a commit of each waits for a standby, or none. */
  const confirm = (isConfirmed: boolean) =>
    sql.unsafe(`CREATE OR REPLACE VIEW said.pg_stat_activity AS SELECT datname, pid, state,
      state_change - INTERVAL '1 minute' AS state_change,
      CASE WHEN ${isConfirmed} THEN wait_event ELSE 'SyncRep' END AS wait_event
      FROM pg_catalog.pg_stat_activity`);
  await sql.unsafe("CREATE SCHEMA said");
  await say(false);
  await confirm(true);
  const name = new URL(url).pathname.slice(1);
  await sql.unsafe(`ALTER DATABASE ${name} SET search_path = said, pg_catalog, public`);
  return {
    url,
    demote: () => say(true),
    promote: () => say(false),
    confirm,
    async release() {
      await sql.close({ timeout: 0 });
      await dropDatabase(server, url);
    },
  };
}
