// Round trips to PostgreSQL that a run and a chat of a lone caller take.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startPostgresProxy } from "../../../scripts/bench/postgres-proxy.ts";
import { createAgent, readJson, SETTINGS, startService } from "../../spec/agents/service.ts";
import type { TestApp } from "../../support/app.ts";
import { type Ground, openServer } from "../../support/database.ts";

const address = process.env.WADI_TEST_POSTGRES;
if (address) describe("of a lone caller", () => testTrips(address));
else test.skip("round trips: skipped, since WADI_TEST_POSTGRES names no server", () => {});

/** Three rounds of the model, and two calls of a tool. */
const MESSAGE = [
  ...["Calculate.", '!tool calculator {"expression":"2 + 3"}', "!next"],
  ...['!tool calculator {"expression":"5 * 7"}', "!next", "!say It is 5, and then 35."],
].join("\n");
/** Statements are prepared on each connection once, which costs a round trip each. */
const WARMED = 3;
/** Work of the server's own, such as a heartbeat, falls into some of them. */
const COUNTED = 5;

/** Reads of the start: the key with the states of its models, and the agent. */
const READS = 2;
/** The start locks the account's counters, and then writes. */
const START = 2;
const CLAIM = 1;
/** Each reply that asks for a call, and each result. */
const RECORDS = 4;
/** The end updates the run, and then writes what its row says. */
const END = 2;
/** Other processes hear of a commit with it, except of a claim whose run waits for its model. */
const NOTIFY = 1;

function testTrips(server: string): void {
  let ground: Ground;
  let app: TestApp;
  let agent: string;
  let isOver = false;
  const { hostname, port } = new URL(server);
  const proxy = startPostgresProxy(hostname, Number(port || 5_432));
  beforeAll(async () => {
    ground = openServer(server);
    const place = await ground.makePlace();
    if (place.kind !== "postgres") throw new Error("not PostgreSQL");
    const url = new URL(place.url);
    Object.assign(url, { hostname: "127.0.0.1", port: String(proxy.port) });
    app = await startService({
      ...{ place: { ...place, url: url.href }, settings: SETTINGS, listens: true },
    });
    app.app.database.listen("run.ended", () => {
      isOver = true;
    });
    agent = (await createAgent(app, { tools: ["calculator"], model: "own" })).id as string;
  });
  afterAll(async () => {
    await app.stop();
    proxy.stop();
    await ground.release();
  });

  async function run(): Promise<void> {
    isOver = false;
    const input = { message: MESSAGE };
    await readJson(await app.post(`/v1/agents/${agent}/runs`, { input }), 202);
    while (!isOver) await app.clock.advance(0);
  }

  async function count(work: () => Promise<unknown>): Promise<number> {
    for (let n = 0; n < WARMED; n++) await work();
    let fewest = Number.POSITIVE_INFINITY;
    for (let n = 0; n < COUNTED; n++) {
      const before = proxy.countTrips();
      await work();
      fewest = Math.min(fewest, proxy.countTrips() - before);
    }
    return fewest;
  }

  test("a run of three rounds and two calls: its reads, and one for nearly every write", async () => {
    const most = READS + START + CLAIM + RECORDS + END + NOTIFY;
    expect(await count(run)).toBeLessThanOrEqual(most);
  });

  test("a chat: its key, with the states of its models", async () => {
    const chat = async () => (await app.chat("Hi")).text();
    expect(await count(chat)).toBe(1);
  });
}
