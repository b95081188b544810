// Tests the readiness of a process that shares a PostgreSQL database: its clock must be right.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { createDatabase, dropDatabase } from "../support/postgres.ts";

const postgres = process.env.WADI_TEST_POSTGRES ?? "";
let url = "";
beforeAll(async () => {
  if (postgres !== "") url = await createDatabase(postgres);
});
afterAll(async () => {
  if (url !== "") await dropDatabase(postgres, url);
});

test.skipIf(postgres === "")(
  "a process whose clock is five minutes ahead answers 503 to /readyz until it is right again",
  async () => {
    const place = { kind: "postgres", url, connectionsMax: 4, isShared: true } as const;
    const app = await startApp({ place, start_ms: Date.now(), listens: true });
    /** Waits for that answer; each look may cause a heartbeat. */
    const answers = async (status: number) => {
      let reply = await app.get("/readyz", { key: null });
      while (reply.status !== status) {
        await app.clock.advance(2_000);
        // The manual clock runs ahead of the database's otherwise.
        app.clock.shiftWall(-2_000);
        reply = await app.get("/readyz", { key: null });
      }
      return (await reply.text()).split("\n")[0];
    };
    expect(await answers(200)).toBe("ready");
    app.clock.shiftWall(300_000);
    expect(await answers(503)).toBe("not ready");
    app.clock.shiftWall(-300_000);
    expect(await answers(200)).toBe("ready");
    await app.stop();
  },
);
