// When keys were last used: noted in memory at each request, and written once a minute.
import type { Bound, Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { WorkerLoop } from "../platform/worker-loop.ts";
import { keyStore } from "./store.ts";

const WRITE_EVERY_MS = 60_000;
/** Maximum uses of one write, which takes milliseconds. */
const USES_A_WRITE = 500;

export interface KeyUsesOptions {
  database: Pick<Database, "bind">;
  clock: Clock;
  log: Log;
}

export class KeyUses implements Service {
  readonly name = "uses of keys";
  readonly #store: Pick<Bound<typeof keyStore>, "noteUses">;
  readonly #loop: WorkerLoop;
  #used = new Map<string, number>();
  readonly #clock: Clock;

  constructor({ database, clock, log }: KeyUsesOptions) {
    this.#store = database.bind(keyStore);
    this.#clock = clock;
    this.#loop = new WorkerLoop({
      clock,
      work: async () => {
        await this.#write();
        return { inMs: WRITE_EVERY_MS };
      },
      onError: (error) => log.error("keys: their last uses could not be written", { error }),
      retryMs: WRITE_EVERY_MS,
    });
  }

  readonly note = (key_id: string): void => {
    this.#used.set(key_id, this.#clock.now());
  };

  start(): void {
    this.#loop.wakeWithin(WRITE_EVERY_MS);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#write();
  }

  async #write(): Promise<void> {
    const uses = [...this.#used];
    this.#used = new Map();
    for (let at = 0; at < uses.length; at += USES_A_WRITE) {
      const batch = uses.slice(at, at + USES_A_WRITE);
      try {
        await this.#store.noteUses(
          batch.map(([key_id, last_used_at]) => ({ key_id, last_used_at })),
        );
      } catch (error) {
        // Later uses replace earlier ones.
        this.#used = new Map([...uses.slice(at), ...this.#used]);
        throw error;
      }
    }
  }
}
