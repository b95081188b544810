// Turns pending events into deliveries for the endpoints that selected them; accounts take turns.
import type { Bound } from "../database/index.ts";
import { outboxStore } from "../outbox/index.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import type { WebhookDeps } from "./deps.ts";
import type { Backlog, FanOutBatch } from "./store/fan-out.ts";
import type { webhookStore } from "./store/index.ts";

const EVENTS_A_BATCH = 200;

const RETRY_MS = 1_000;
/** Interval of lists among several processes: a notification of another one may be lost. */
const LIST_EVERY_MS = 60_000;

export function createBatch({
  ids,
  clock,
  settings,
}: Pick<WebhookDeps, "ids" | "clock" | "settings">): FanOutBatch {
  const { waiting_deliveries: waitingMax } = settings().limits;
  return { limit: EVENTS_A_BATCH, firstId: ids.uuid(), now: clock.now(), waitingMax };
}

/** Repeats a write that must fan out pending events first, until none are left. */
export async function fanOutFirst<T extends { kind: string }>(
  write: () => Promise<T | Backlog>,
): Promise<T> {
  for (;;) {
    const written = await write();
    if (written.kind !== "backlog") return written as T;
  }
}

type FanOutDeps = Pick<WebhookDeps, "database" | "clock" | "ids" | "log" | "process" | "settings">;
type FanOutStore = Pick<Bound<typeof webhookStore>, "fanOut">;

export class FanOutWorker {
  readonly #deps: FanOutDeps;
  readonly #outbox: Pick<Bound<typeof outboxStore>, "listWaiting">;
  readonly #store: FanOutStore;
  readonly #loop: WorkerLoop;
  readonly #accounts = new Set<string>();
  #isListingDue = true;
  #listAt = Number.POSITIVE_INFINITY;
  readonly #unlisten: (() => void)[] = [];

  constructor(deps: FanOutDeps, store: FanOutStore) {
    const { database, clock, log } = deps;
    this.#deps = deps;
    this.#outbox = database.bind(outboxStore);
    this.#store = store;
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: () => this.#pass(),
      onError: (error) => log.error("webhooks: events could not be fanned out", { error }),
    });
  }

  start(): void {
    const { database, process } = this.#deps;
    const look = () => {
      this.#isListingDue = true;
      this.#loop.wake();
    };
    this.#unlisten.push(
      process.members.onChange(look),
      database.listen("outbox", (accountId) => {
        if (accountId === null) return look();
        if (!process.members.owns(accountId)) return;
        this.#accounts.add(accountId);
        this.#loop.wake();
      }),
    );
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    await this.#loop.stop();
  }

  pause(): Promise<void> {
    return this.#loop.pause();
  }

  resume(): void {
    this.#loop.resume();
  }

  async #pass(): Promise<NextPass> {
    const now = this.#deps.clock.monotonic();
    if (this.#isListingDue || now >= this.#listAt) await this.#list();
    const [accountId] = this.#accounts;
    if (accountId === undefined) {
      return this.#deps.database.isShared ? { inMs: this.#listAt - now } : "on_wake";
    }
    // Removed before the write, which may miss events announced from now on.
    this.#accounts.delete(accountId);
    let isDone = false;
    try {
      isDone = await this.#store.fanOut(accountId, createBatch(this.#deps));
    } finally {
      if (!isDone) this.#accounts.add(accountId);
    }
    return "now";
  }

  async #list(): Promise<void> {
    const { clock, database, process } = this.#deps;
    this.#isListingDue = false;
    if (database.isShared) this.#listAt = clock.monotonic() + LIST_EVERY_MS;
    try {
      const waiting = await this.#outbox.listWaiting();
      for (const id of waiting) if (process.members.owns(id)) this.#accounts.add(id);
    } catch (error) {
      this.#isListingDue = true;
      throw error;
    }
  }
}
