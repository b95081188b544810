// Tests that three whole servers on one database keep the limits of their callers together.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { DatabaseLocation } from "../../src/database/index.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { type Ground, openServer } from "../support/database.ts";
import { HAS_VALKEY, startValkey, type TestValkey } from "../support/valkey.ts";

const SERVER = process.env.WADI_TEST_POSTGRES;

if (SERVER && HAS_VALKEY) {
  describe("three servers", () => testServers(SERVER));
} else {
  test.skip("skipped: it needs WADI_TEST_POSTGRES and a Valkey or Redis server", () => {});
}

function testServers(server: string): void {
  let ground: Ground;
  let valkey: TestValkey;
  const apps: TestApp[] = [];
  beforeAll(async () => {
    ground = openServer(server);
    valkey = await startValkey();
    const place = { ...(await ground.makePlace()), isShared: true, connectionsMax: 4 };
    const settings = `[server]\ndatabase = "postgres://h/d"\nvalkey = "${valkey.url}"\n`;
    for (const seed of [1, 2, 3]) {
      const options = { place: place as DatabaseLocation, settings, seed, listens: true };
      // One whose wall clock differs from the database's is not ready.
      apps.push(await startApp({ ...options, start_ms: Date.now() }));
    }
  });
  afterAll(async () => {
    for (const app of apps) await app.stop();
    await valkey.stop();
    await ground.release();
  });

  const readLines = async (app: TestApp) => (await (await app.get("/readyz")).text()).split("\n");
  /** Each server looks once a second of its own clock. */
  const until = async (line: string) => {
    for (const app of apps) {
      while (!(await readLines(app)).includes(line)) {
        for (const { clock } of apps) {
          await clock.advance(500);
          clock.shiftWall(Date.now() - clock.now());
        }
      }
    }
  };

  test("admit exactly 120 requests of an account and route, and 429 says when the next one is", async () => {
    await until("valkey on");
    const asked = Array.from({ length: 150 }, (_, n) => apps[n % 3]!.get("/v1/models"));
    const replies = await Promise.all(asked);
    const counts = Map.groupBy(replies, ({ status }) => status);
    expect([counts.get(200)?.length, counts.get(429)?.length]).toEqual([120, 30]);
    const waits = counts.get(429)!.map(({ headers }) => Number(headers.get("retry-after")));
    expect(waits.every((wait) => wait > 30 && wait <= 60)).toBe(true);
  });

  test("say `valkey down` and stay ready while it is away, and keep what they counted", async () => {
    await valkey.stop();
    await until("valkey down");
    const page = await apps[0]!.get("/readyz");
    expect([page.status, (await page.text()).split("\n")[0]]).toEqual([200, "ready"]);
    // Either one has not reported yet, or the account is closed.
    const replies = await Promise.all(apps.map((app) => app.get("/v1/models")));
    expect(replies.map(({ status }) => status)).toEqual([429, 429, 429]);
    await valkey.start();
    await until("valkey on");
    const later = await Promise.all(apps.map((app) => app.get("/v1/models")));
    expect(later.map(({ status }) => status)).toEqual([429, 429, 429]);
  });
}
