// Triggers of every account, for operators: lists, lookups, pause and resume.
import type { TriggersDeps } from "./deps.ts";
import type { FireRow } from "./fire.ts";
import { triggerStore } from "./store/index.ts";
import type { FireFilter, TriggerFilter } from "./store/lookup.ts";
import type { FoundTrigger } from "./trigger.ts";
import { changeStatus } from "./triggers.ts";
import { type DescribedTrigger, describeTrigger } from "./view.ts";

/** Maximum triggers read at once: the input of one may take 400 KB. */
const TRIGGERS_AT_ONCE = 50;
const FIRES_AT_ONCE = 500;

export function createTriggerQueries({
  database,
  clock,
}: Pick<TriggersDeps, "database" | "clock">) {
  const store = database.bind(triggerStore);
  const describe = (found: FoundTrigger) => describeTrigger(found, clock.now());
  const setStatus = async (id: string, status: FoundTrigger["status"]) => {
    const found = await store.find(id);
    if (!found) return undefined;
    const pausedBy = "It was paused by the operator.";
    const change = { status, fields: {}, key_id: null, pausedBy };
    return describe(await changeStatus(store, clock, found, change));
  };
  return {
    /** Newest first, without their input. */
    async list(account_id: string | null): Promise<DescribedTrigger[]> {
      const listed: DescribedTrigger[] = [];
      for (let before: TriggerFilter["before"] = null; ; ) {
        const rows = await store.list({ account_id, before, limit: TRIGGERS_AT_ONCE });
        listed.push(...rows.map((row) => describe({ ...row, input: null })));
        if (rows.length < TRIGGERS_AT_ONCE) return listed;
        const { created_at: at, id } = rows.at(-1)!;
        before = { at, id };
      }
    },
    async find(id: string): Promise<DescribedTrigger | undefined> {
      const found = await store.find(id);
      return found && describe(found);
    },
    /** Newest first; empty for an unknown trigger. */
    async listFires(trigger_id: string, limit: number): Promise<FireRow[]> {
      const listed: FireRow[] = [];
      let before: FireFilter["before"] = null;
      while (listed.length < limit) {
        const wanted = Math.min(limit - listed.length, FIRES_AT_ONCE);
        const rows = await store.listFires({ trigger_id, outcome: null, before, limit: wanted });
        listed.push(...rows);
        if (rows.length < wanted) break;
        const { created_at: at, id } = rows.at(-1)!;
        before = { at, id };
      }
      return listed;
    },
    pause: (id: string): Promise<DescribedTrigger | undefined> => setStatus(id, "paused"),
    /** Runs keep acting for the trigger's key; throws `agent_archived`. */
    resume: (id: string): Promise<DescribedTrigger | undefined> => setStatus(id, "active"),
  };
}
