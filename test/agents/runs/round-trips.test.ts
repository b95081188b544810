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

/** Reads of the start: the key, the agent and the model. */
const READS = 3;
/** The start locks the account's counters, and then writes. */
const START = 2;
const CLAIM = 1;
/** Each round reads whether the model may be asked. */
const ROUNDS = 3;
/** Each reply that asks for a call, and each result. */
const RECORDS = 4;
/** The end updates the run, and then writes what its row says. */
const END = 2;
/** Rows of the request log are of many runs together; here one a round at most. */
const BATCHES = 3;

/** Messages to other processes gather by the clock, and are not counted: their channel is bound. */
const isMessage = (bytes: Uint8Array) => Buffer.from(bytes).includes("\0\0\0\x04wadi\0");

function testTrips(server: string): void {
  let ground: Ground;
  let app: TestApp;
  let agent: string;
  let isOver = false;
  const { hostname, port } = new URL(server);
  const proxy = startPostgresProxy(hostname, Number(port || 5_432), (bytes) => !isMessage(bytes));
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
    const most = READS + START + CLAIM + ROUNDS + RECORDS + END + BATCHES;
    expect(await count(run)).toBeLessThanOrEqual(most);
  });

  test("a chat: its key and its model", async () => {
    const chat = async () => (await app.chat("Hi")).text();
    expect(await count(chat)).toBeLessThanOrEqual(2 + BATCHES);
  });
}
