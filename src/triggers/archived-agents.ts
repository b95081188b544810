// Pauses the triggers of agents that are archived: a service that hears of it, and looks at its
// start.
import { type Cancel, endsWithin } from "../platform/clock.ts";
import type { Service } from "../platform/service.ts";
import type { TriggersDeps } from "./deps.ts";
import { triggerStore } from "./store/index.ts";

/** What could not be written is tried again so much later. */
const AGAIN_MS = 30_000;

export function createArchivedAgentsWatch({ database, clock, log }: TriggersDeps): Service {
  const triggers = database.bind(triggerStore);
  let working: Promise<void> = Promise.resolve();
  let leave: (() => void) | undefined;
  let cancel: Cancel | undefined;
  let isStopping = false;

  /** null: whichever agents are archived. */
  const pause = async (agent_id: string | null) => {
    if (isStopping) return;
    try {
      const ids = agent_id === null ? await triggers.listArchived() : [agent_id];
      for (const id of ids) await triggers.pauseArchived(id, clock.now());
    } catch (error) {
      log.error("the triggers of an archived agent could not be paused", { error });
      cancel?.();
      if (!isStopping) cancel = clock.after(AGAIN_MS, () => hear(null));
    }
  };
  const hear = (agent_id: string | null) => {
    working = working.then(() => pause(agent_id));
  };
  return {
    name: "triggers of archived agents",
    start() {
      leave = database.listen("agents.archived", hear);
      hear(null);
    },
    async stop(deadline_ms) {
      isStopping = true;
      leave?.();
      cancel?.();
      await endsWithin(clock, deadline_ms, working);
    },
  };
}
