// Triggers of every account, for operators.
import type { TriggersDeps } from "./deps.ts";
import { triggerStore } from "./store/index.ts";
import { readPages } from "./store/lookup.ts";
import type { FoundTrigger } from "./trigger.ts";
import { changeStatus } from "./triggers.ts";
import { type DescribedTrigger, describeTrigger } from "./view.ts";

/** Maximum triggers read at once: the input of one may take 400 KB. */
const TRIGGERS_AT_ONCE = 50;

export function createTriggerQueries({
  database,
  clock,
}: Pick<TriggersDeps, "database" | "clock">) {
  const store = database.bind(triggerStore);
  const describe = (found: FoundTrigger) => describeTrigger(found, clock.now());
  return {
    async list(account_id: string | null): Promise<DescribedTrigger[]> {
      const listed: DescribedTrigger[] = [];
      const pages = readPages(TRIGGERS_AT_ONCE, (page) => store.list({ account_id, ...page }));
      for await (const rows of pages) {
        listed.push(...rows.map((row) => describe({ ...row, input: null })));
      }
      return listed;
    },
    async find(id: string): Promise<DescribedTrigger | undefined> {
      const found = await store.find(id);
      return found && describe(found);
    },
    listFires: (trigger_id: string, limit: number) =>
      store.listFires({ trigger_id, outcome: null, before: null, limit }),
    /** Runs keep acting for the trigger's key; throws `agent_archived`. */
    async setStatus(
      id: string,
      status: FoundTrigger["status"],
    ): Promise<DescribedTrigger | undefined> {
      const found = await store.find(id);
      if (!found) return undefined;
      const pausedBy = "It was paused by the operator.";
      const change = { status, fields: {}, key_id: null, pausedBy };
      return describe(await changeStatus(store, clock, found, change));
    },
  };
}
