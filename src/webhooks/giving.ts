// Gives events to the endpoints that selected them, as soon as they happen; accounts take turns.
import type { Bound } from "../platform/database/index.ts";
import { outboxStore } from "../platform/outbox/store.ts";
import type { Around } from "./around.ts";
import { createFans } from "./fanning.ts";
import type { webhookStore } from "./store/index.ts";

/** What failed is tried again. */
const AGAIN_MS = 1_000;

export interface GivingOptions {
  around: Pick<Around, "database" | "clock" | "ids" | "log" | "settings">;
  store: Pick<Bound<typeof webhookStore>, "fanOut">;
}

export interface Giving {
  start(): void;
  /** Resolves once nothing is being written. */
  stop(): Promise<void>;
}

export function createGiving({ around, store }: GivingOptions): Giving {
  const { database, clock, log } = around;
  const outbox = database.bind(outboxStore);
  const makeFan = createFans(around);
  /** In the order of their turns. */
  const accounts = new Set<string>();
  let leave: (() => void) | null = null;
  let working: Promise<void> | null = null;
  let isResting = false;
  let isOver = false;

  const giveSome = async (account_id: string) => {
    // Told of from now on: it may have come too late for this write.
    accounts.delete(account_id);
    try {
      if (!(await store.fanOut(account_id, makeFan()))) accounts.add(account_id);
    } catch (error) {
      accounts.add(account_id);
      throw error;
    }
  };
  const work = async () => {
    try {
      for (const account_id of accounts) {
        if (isOver) return;
        await giveSome(account_id);
      }
    } catch (error) {
      log.error("events could not be given to webhook endpoints", { error });
      rest();
    }
    working = null;
    begin();
  };
  const begin = () => {
    if (!(working || isResting || isOver || accounts.size === 0)) working = work();
  };
  const rest = () => {
    isResting = true;
    clock.after(AGAIN_MS, () => {
      isResting = false;
      begin();
    });
  };
  const tell = (told: readonly string[]) => {
    for (const account_id of told) accounts.add(account_id);
    begin();
  };
  const look = () => {
    if (isOver) return;
    outbox.listWaiting().then(tell, (error) => {
      log.error("events that wait for webhook endpoints could not be listed", { error });
      // Nobody tells of them a second time.
      clock.after(AGAIN_MS, look);
    });
  };

  return {
    start() {
      leave = database.listen("outbox", (account_id) => {
        if (account_id === null) look();
        else tell([account_id]);
      });
      look();
    },
    async stop() {
      isOver = true;
      leave?.();
      await working;
    },
  };
}
