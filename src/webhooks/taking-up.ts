// Gives back the deliveries that nobody sends any more: those of dead processes, and those of which
// this process never heard that it was given them.
import type { Bound } from "../platform/database/index.ts";
import type { Claimant } from "../platform/processes/process.ts";
import type { Around } from "./around.ts";
import type { DuePlace } from "./store/claim.ts";
import type { webhookStore } from "./store/index.ts";

/** Deliveries that are given back in one transaction. */
const RELEASED_AT_ONCE = 250;

export interface TakingUpOptions {
  around: Pick<Around, "process">;
  store: Pick<Bound<typeof webhookStore>, "listHeld" | "release">;
  /** Deliveries that this process has. */
  held: ReadonlySet<string>;
  /** Something is due here again. */
  onReleased(place: DuePlace): void;
}

export function createTakingUp(options: TakingUpOptions): Claimant["takeUp"] {
  const { around, store, held, onReleased } = options;
  const { process } = around;
  /** Of this process' number, and unknown here, when they were looked at last. */
  let fallen = new Set<string>();

  return async (isDead) => {
    const before = fallen;
    fallen = new Set();
    const lost = (await store.listHeld()).filter(({ id, epoch }) => {
      if (epoch !== process.epoch) return isDead(epoch);
      if (held.has(id)) return false;
      // It may just have been claimed, or just be over: only the second look says that.
      fallen.add(id);
      return before.has(id);
    });
    for (let at = 0; at < lost.length; at += RELEASED_AT_ONCE) {
      const places = await store.release(lost.slice(at, at + RELEASED_AT_ONCE));
      for (const place of places) onReleased(place);
    }
  };
}
