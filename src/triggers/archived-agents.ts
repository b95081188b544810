// Pauses the triggers of archived agents: at the start, and whenever an agent is archived.
import type { Database } from "../database/index.ts";
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { WorkerLoop } from "../platform/worker-loop.ts";
import { triggerStore } from "./store/index.ts";

const RETRY_MS = 30_000;

export interface ArchivedAgentsOptions {
  database: Pick<Database, "bind" | "listen">;
  clock: Clock;
  log: Pick<Log, "error">;
}

export function watchArchivedAgents({ database, clock, log }: ArchivedAgentsOptions): Service {
  const triggers = database.bind(triggerStore);
  const loop = new WorkerLoop({
    clock,
    retryMs: RETRY_MS,
    work: async (stopping) => {
      for (const id of await triggers.listArchived()) {
        if (stopping.aborted) break;
        await triggers.pauseArchived(id, clock.now());
      }
      return "on_wake";
    },
    onError: (error) =>
      log.error("triggers: those of an archived agent could not be paused", { error }),
  });
  let unlisten = () => {};
  return {
    name: "triggers of archived agents",
    start() {
      unlisten = database.listen("agents.archived", () => loop.wake());
      loop.wake();
    },
    async stop(deadlineMs) {
      unlisten();
      await settlesWithin(clock, deadlineMs, loop.stop());
    },
  };
}
