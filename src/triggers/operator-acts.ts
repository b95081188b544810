// Fires and rotations by operators, on a database that a server may be using.
import { apiError } from "../platform/errors.ts";
import type { TriggersDeps } from "./deps.ts";
import type { FireRow } from "./fire.ts";
import { createFireRun } from "./fire-run.ts";
import { triggerStore } from "./store/index.ts";
import { Triggers } from "./triggers.ts";
import { type DescribedTrigger, describeTrigger, resolveStatus } from "./view.ts";

export type TriggerActsDeps = Pick<
  TriggersDeps,
  "database" | "access" | "prepareRun" | "clock" | "disk" | "ids" | "secrets"
>;

export function createTriggerActs(deps: TriggerActsDeps) {
  const { database, access, prepareRun, clock, disk, ids } = deps;
  const store = database.bind(triggerStore);
  const triggers = new Triggers(deps);
  const fire = createFireRun({
    ...{ triggers: store, findCaller: access.findCaller, prepareRun, clock, ids },
  });
  return {
    /** Fires a trigger by hand; a skipped fire is no failure. Throws `trigger_paused`. */
    async fire(id: string, operator: string): Promise<FireRow> {
      const trigger = await store.find(id);
      if (!trigger) throw apiError("trigger_not_found");
      if (resolveStatus(trigger).status === "paused") throw apiError("trigger_paused");
      disk.require();
      const fired = await fire({ trigger, source: "manual", operator });
      if ("fire" in fired) return fired.fire;
      throw apiError(fired.kind === "gone" ? "trigger_not_found" : "trigger_paused");
    },
    /** The trigger goes on with its keys: no key is shown the secret. */
    async rotate(
      id: string,
      account_id: string,
      overlapMs: number,
    ): Promise<{ trigger: DescribedTrigger; secret: string }> {
      const rotated = await triggers.rotate(id, { account_id, key_id: null }, overlapMs);
      return { trigger: describeTrigger(rotated.trigger, clock.now()), secret: rotated.secret! };
    },
  };
}
