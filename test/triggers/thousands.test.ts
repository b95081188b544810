// Tests thousands of triggers due at one instant: all of them fire, and callers are served.

import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { sql, store } from "../../src/database/index.ts";
import { triggerStore } from "../../src/triggers/store/index.ts";
import { create as createAgent } from "../store/agent-cases.ts";
import { bindStores } from "../store/cases.ts";
import { storeAccount, storeKey } from "../support/access.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { countRounds } from "../support/rounds.ts";
import { makeTrigger } from "../support/triggers.ts";

const ACCOUNTS = 50;
const TRIGGERS = countRounds(2_000);
const HOUR_MS = 3_600_000;
/** The runs start one after the other: their work does not matter here. */
const SETTINGS = `
[limits]
active_runs = 1_000
concurrent_runs = 1
requests_per_minute = 100_000
`;

const Counted = Type.Object({ fires: Type.Integer(), triggers: Type.Integer() });
const reader = store(
  "fire-reader",
  {
    count: async (db) =>
      (await db.one(
        Counted,
        sql`SELECT COUNT(*) AS fires, COUNT(DISTINCT trigger_id) AS triggers FROM fires
            WHERE outcome = 'started'`,
      ))!,
  },
  {},
);

/** Due an hour after the start, each with an agent of its account. */
async function fill({ app, clock }: TestApp): Promise<void> {
  const stores = bindStores(app.database);
  const triggers = app.database.bind(triggerStore);
  const now = clock.now();
  for (let n = 0; n < ACCOUNTS; n++) {
    const account = await storeAccount(app.access, `account-${n}`);
    const { key } = await storeKey(app.access, { account_id: account.id, scopes: ["agents"] });
    const agent_id = `agent-${n}`;
    await createAgent(stores, agent_id, { account_id: account.id });
    for (let at = 0; at < TRIGGERS / ACCOUNTS; at++) {
      const row = makeTrigger(`t-${n}-${at}`, {
        ...{ account_id: account.id, agent_id, key_id: key.id, cron: "0 * * * *" },
        ...{ next_fire_at: now + HOUR_MS, created_at: now, updated_at: now },
      });
      await triggers.create(row, null, TRIGGERS);
    }
  }
}

test("agents.does.trigger: all fire once, and chats are answered in between", async () => {
  const app = await startApp({ settings: SETTINGS, listens: true });
  const fires = app.app.database.bind(reader);
  await fill(app);
  await app.clock.advance(HOUR_MS);
  /** The number of fires when a chat was answered. */
  const seen: number[] = [];
  for (let fired = 0; fired < TRIGGERS; ) {
    const reply = await app.chat("Hello");
    expect(reply.status).toBe(201);
    await reply.arrayBuffer();
    fired = (await fires.count()).fires;
    seen.push(fired);
  }
  const between = seen.filter((fired) => fired > 0 && fired < TRIGGERS);
  expect(new Set(between).size).toBeGreaterThan(TRIGGERS / 40);
  await app.clock.advance(HOUR_MS / 2);
  expect(await fires.count()).toEqual({ fires: TRIGGERS, triggers: TRIGGERS });
  await app.stop();
});
