// Pauses the triggers of archived agents: at the start, and whenever an agent is archived.
import type { Bound, Database } from "../database/index.ts";
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

export class ArchivedAgentsWatch implements Service {
  readonly name = "triggers of archived agents";
  readonly #options: ArchivedAgentsOptions;
  readonly #triggers: Bound<typeof triggerStore>;
  readonly #loop: WorkerLoop;
  #unlisten: (() => void) | undefined;

  constructor(options: ArchivedAgentsOptions) {
    const { database, clock, log } = options;
    this.#options = options;
    this.#triggers = database.bind(triggerStore);
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: async (stopping) => {
        for (const id of await this.#triggers.listArchived()) {
          if (stopping.aborted) break;
          await this.#triggers.pauseArchived(id, clock.now());
        }
        return "on_wake";
      },
      onError: (error) =>
        log.error("triggers: those of an archived agent could not be paused", { error }),
    });
  }

  start(): void {
    this.#unlisten = this.#options.database.listen("agents.archived", () => this.#loop.wake());
    this.#loop.wake();
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#unlisten?.();
    await settlesWithin(this.#options.clock, deadlineMs, this.#loop.stop());
  }
}
