// Fires by operators: what keeps a trigger from firing, before its run is prepared.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { apiError } from "../../src/platform/errors.ts";
import { createTriggerActs, type TriggerActsDeps } from "../../src/triggers/operator-acts.ts";
import { create as createAgent } from "../store/agent-cases.ts";
import { bindStores, type Stores } from "../store/cases.ts";
import { archive } from "../store/trigger-acts.ts";
import { createManualClock } from "../support/clock.ts";
import { failureOf, openTestDatabase, type TestDatabase } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { makePreparedRun } from "../support/runs.ts";
import { makeTrigger } from "../support/triggers.ts";

let database: TestDatabase;
let stores: Stores;
let acts: ReturnType<typeof createTriggerActs>;
let isDiskFull: boolean;
beforeEach(async () => {
  database = await openTestDatabase({ kind: "memory" });
  stores = bindStores(database);
  isDiskFull = false;
  await createAgent(stores, "g-1");
  await stores.triggers.create(makeTrigger("t-1"), null, 9);
  const requireDisk = () => {
    if (isDiskFull) throw apiError("service_unavailable");
  };
  acts = createTriggerActs({
    ...{ database, clock: createManualClock(), ids: createSeededIds() },
    access: { findCaller: async () => ({ account_id: "a-1", key_id: "k-1" }) },
    ...{ prepareRun: async () => makePreparedRun("r-1"), disk: { require: requireDisk } },
  } as unknown as TriggerActsDeps);
});
afterEach(() => database.close());

const fires = () =>
  stores.triggers.listFires({ trigger_id: "t-1", outcome: null, before: null, limit: 9 });
const codeOf = async () => ((await failureOf(acts.fire("t-1", "noura"))) as { code?: string }).code;

test("a nearly full disk refuses a fire by hand, and records none", async () => {
  isDiskFull = true;
  expect([await codeOf(), await fires()]).toEqual(["service_unavailable", []]);
  isDiskFull = false;
  expect(await acts.fire("t-1", "noura")).toMatchObject({ outcome: "started", run_id: "r-1" });
});

test("agents.states.p12: an archived agent's trigger is paused before that is written", async () => {
  await archive(stores);
  expect((await stores.triggers.find("t-1"))!.status).toBe("active");
  expect([await codeOf(), await fires()]).toEqual(["trigger_paused", []]);
});
