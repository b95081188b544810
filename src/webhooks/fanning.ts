// Gives waiting events in bounded batches, wherever that is done before something else.
import type { Around } from "./around.ts";
import type { FanOut } from "./store/fan-out.ts";

/** Events of one transaction. */
const EVENTS_AT_ONCE = 200;

/** What each batch is done with: a fresh id, the time, and how much may wait now. */
export function createFans({ ids, clock, settings }: Pick<Around, "ids" | "clock" | "settings">) {
  return (): FanOut => ({
    limit: EVENTS_AT_ONCE,
    first_id: ids.uuid(),
    now: clock.now(),
    waiting_max: settings().limits.waiting_deliveries,
  });
}

/**
 * Does a write that first gives what waits of the account, until it could be done: null from it
 * says that a batch was given and others are left.
 */
export async function giveFirst<T>(write: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const done = await write();
    if (done !== null) return done;
  }
}
