// The engine whose work goes through a pgbouncer in transaction mode, where one is installed.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { DatabaseInUse, type DatabaseLocation } from "../../src/database/index.ts";
import { createAgent, readJson, startService } from "../spec/agents/service.ts";
import { failureOf, type Ground, openServer, openTestDatabase } from "../support/database.ts";
import { PGBOUNCER, type Pgbouncer, startPgbouncer } from "../support/pgbouncer.ts";
import { rootedTrialStore } from "../support/rooted-trials.ts";
import { makeTrial, trialStore } from "../support/trial.ts";
import { testEngine } from "./conformance.ts";
import { count } from "./run-acts.ts";

/** Fewer than the connections of one process, so that transactions share sessions. */
const SESSIONS = 3;

const address = process.env.WADI_TEST_POSTGRES;
if (address && PGBOUNCER) {
  testEngine("PostgreSQL behind pgbouncer", () => openPooled(address), false);
  describe("behind pgbouncer", () => testPooled(address));
} else test.skip("pgbouncer: skipped, since it or WADI_TEST_POSTGRES is missing", () => {});

async function openPooled(server: string): Promise<Ground> {
  const ground = openServer(server);
  const pooler = await startPgbouncer(server, SESSIONS);
  return {
    makePlace: async () => pool(await ground.makePlace(), pooler),
    async release() {
      await pooler[Symbol.asyncDispose]();
      await ground.release();
    },
  };
}

function pool(place: DatabaseLocation, pooler: Pgbouncer) {
  if (place.kind !== "postgres") throw new Error("not PostgreSQL");
  return { ...place, pooler: pooler.through(place.url) };
}

function testPooled(server: string): void {
  let ground: Ground;
  let place: Extract<DatabaseLocation, { kind: "postgres" }>;
  beforeAll(async () => {
    ground = await openPooled(server);
    place = (await ground.makePlace()) as typeof place;
  });
  afterAll(() => ground.release());

  test("reads, groups and transactions of two processes share few sessions", async () => {
    const shared = { ...place, isShared: true };
    const both = [await openTestDatabase(shared, true), await openTestDatabase(shared, true)];
    const work = both.flatMap((database, at) => [
      ...count(100).map((n) => database.bind(rootedTrialStore).add(`g-${at}-${n}`)),
      ...count(40).map((n) => database.bind(trialStore).create(makeTrial(`a-${at}-${n}`))),
      ...count(100).map(() => database.bind(trialStore).count()),
    ]);
    await Promise.all(work);
    expect(await both[0]!.bind(trialStore).count()).toBe(280);
    const looker = new SQL({ url: place.url, max: 1 });
    const [sessions] = await looker`SELECT COUNT(*)::int AS n FROM pg_stat_activity
      WHERE datname = current_database() AND query NOT LIKE '%pg_stat_activity%'
        AND query NOT LIKE 'LISTEN%' AND query NOT LIKE '%advisory%'`;
    expect(sessions.n).toBeLessThanOrEqual(SESSIONS);
    await looker.close();
    for (const database of both) await database.close();
  });

  test("the lock of a lone process holds, and processes hear each other", async () => {
    const lone = await openTestDatabase(place, true);
    expect(await failureOf(openTestDatabase(place, true))).toBeInstanceOf(DatabaseInUse);
    const told = Promise.withResolvers<string | null>();
    lone.listen("trial", told.resolve);
    const command = await openTestDatabase(place);
    await command.bind(trialStore).createAll([makeTrial("told")]);
    expect(await told.promise).toBe("told");
    for (const database of [command, lone]) await database.close();
  });

  test("a chat and a run are served", async () => {
    const app = await startService({ place: (await ground.makePlace())!, listens: true });
    expect((await app.chat("Hello")).status).toBe(201);
    const agent = await createAgent(app);
    const body = { input: { message: "!say Hi" } };
    const { id } = await readJson(await app.post(`/v1/agents/${agent.id}/runs`, body), 202);
    const events = await app.get(`/v1/runs/${id}/events`);
    expect(await events.text()).toContain('"succeeded"');
    await app.stop();
  });
}
