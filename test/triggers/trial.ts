// Schedulers on a database in memory and a stopped clock; runs are only started.
import type { Caller } from "../../src/access/index.ts";
import { agentStore } from "../../src/agents/definitions/store.ts";
import { runStore } from "../../src/agents/runs/store/index.ts";
import {
  type Bound,
  type Database,
  type DatabaseLocation,
  openDatabase,
} from "../../src/database/index.ts";
import { outboxStore } from "../../src/outbox/store.ts";
import type { Service } from "../../src/platform/service.ts";
import { stores } from "../../src/stores.ts";
import { findNext } from "../../src/triggers/due.ts";
import type { FireRow } from "../../src/triggers/fire.ts";
import { createFireRun } from "../../src/triggers/fire-run.ts";
import { Scheduler } from "../../src/triggers/scheduler.ts";
import { triggerStore } from "../../src/triggers/store/index.ts";
import type { TriggerRow } from "../../src/triggers/trigger.ts";
import { create as createAgent } from "../store/agent-cases.ts";
import type { Stores } from "../store/cases.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { placeInMemory } from "../support/memory.ts";
import { makePreparedRun } from "../support/runs.ts";
import { makeTrigger } from "../support/triggers.ts";

export type TriggerWrites = Bound<typeof triggerStore>;

export interface KeeperOptions {
  /** The process whose clock may be wrong. */
  process?: { isSkewed: boolean };
  /** Wraps the store: a failing database, or a process that is cut off. */
  wrap?(store: TriggerWrites): TriggerWrites;
}

export type Trial = Awaited<ReturnType<typeof openTrial>>;

const LIMITS = { active_runs: 1_000_000, daily_runs: 1_000_000, stored_bytes: 1e9 };
/** A poll takes a few turns for each batch. */
const TURNS = 40;
const STEP_MS = 15_000;

/** `start_ms` is the initial wall time. */
export async function openTrial(
  start_ms: number,
  { seed = 1, place }: { seed?: number; place?: DatabaseLocation } = {},
) {
  const clock = createManualClock(start_ms);
  const ids = createSeededIds(seed);
  const lines: { message: string; trigger_id?: string }[] = [];
  const note = (message: string, fields: object = {}) => void lines.push({ message, ...fields });
  const log = { info() {}, warn: note, error: note };
  const database = await openDatabase({
    ...{ place: place ?? (await placeInMemory()), stores, clock },
    onFailure(failure) {
      throw failure;
    },
  });
  const triggers = database.bind(triggerStore);
  const agents = database.bind(agentStore);
  const settings = { agents: { open: true, triggers: true } };
  const accounts = new Set<string>();
  const caller = { account_id: "a-1", key_id: "k-1" } as Caller;
  const keepers: Service[] = [];

  const turn = async (turns = TURNS) => {
    for (let n = 0; n < turns; n++) await clock.advance(0);
  };
  return {
    ...{ clock, database, triggers, settings, lines, turn },
    /** Many turns: a real server takes time. */
    async until(isThere: () => Promise<boolean>): Promise<void> {
      for (let turns = 0; turns < 100_000; turns++) {
        if (await isThere()) return;
        await clock.advance(0);
      }
      throw new Error("what was waited for did not come");
    },
    runs: database.bind(runStore),
    outbox: database.bind(outboxStore),
    /** A schedule of the account's one agent, from now on. */
    async add(id: string, cron: string, fields: Partial<TriggerRow> = {}): Promise<TriggerRow> {
      const { time_zone = "UTC", account_id = "a-1" } = fields;
      const agent_id = `agent of ${account_id}`;
      if (!accounts.has(account_id)) {
        await createAgent({ agents } as Stores, agent_id, { account_id });
      }
      accounts.add(account_id);
      const now = clock.now();
      const row = makeTrigger(id, {
        ...{ agent_id, cron, overlap: "allow", created_at: now, updated_at: now },
        next_fire_at: findNext({ cron, time_zone }, now),
        ...fields,
      });
      await triggers.create(row, null, LIMITS.active_runs);
      return row;
    },
    /** Starts another scheduler, like another process. */
    async start({
      wrap = (store) => store,
      process = { isSkewed: false },
    }: KeeperOptions = {}): Promise<Service> {
      const store = wrap(triggers);
      const seen: Pick<Database, "bind" | "listen"> = { ...database, bind: () => store as never };
      const fire = createFireRun({
        ...{ triggers: store, clock, ids },
        findCaller: async () => caller,
        prepareRun: async (_caller, agent_id, { trigger }) => {
          const account_id = agent_id.slice("agent of ".length);
          const { kind: trigger_kind, id: trigger_id, fire_id } = trigger!;
          const id = ids.uuid();
          const run = { agent_id, account_id, trigger_kind, trigger_id, fire_id };
          return makePreparedRun(id, { ...run, created_at: clock.now() }, { limits: LIMITS });
        },
      });
      const keeper = new Scheduler({
        ...{ database: seen, fire, clock, log, process },
        settings: () => settings as never,
      });
      keepers.push(keeper);
      keeper.start();
      await turn();
      return keeper;
    },
    /** Advances the time, in which the schedulers poll. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= STEP_MS) {
        await clock.advance(Math.min(left, STEP_MS));
        await turn();
      }
    },
    /** The clock is set to another time. */
    async shift(ms: number) {
      clock.shiftWall(ms);
      // No notification: the next poll notices it.
      for (let passed = 0; passed < 30_000; passed += 1_000) {
        await clock.advance(1_000);
        await turn();
      }
    },
    /** Oldest first. */
    async listFires(trigger_id: string): Promise<FireRow[]> {
      const filter = { trigger_id, outcome: null, before: null, limit: 100_000 };
      return (await triggers.listFires(filter)).reverse();
    },
    async close() {
      for (const keeper of keepers) await keeper.stop(0);
      await database.close();
    },
  };
}

/** A fire as one line: its instant, its outcome, and the number of missed ones before it. */
export function showFire({ scheduled_at, outcome, missed_count }: FireRow): string {
  const at = new Date(scheduled_at!).toISOString().slice(5, 16);
  return missed_count === 0 ? `${at} ${outcome}` : `${at} ${outcome} -${missed_count}`;
}
