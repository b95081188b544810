// Holds as the operator puts them on agents and accounts, and takes them off.

import type { Bound } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { HoldKind, HoldRow } from "./hold.ts";
import type { holdStore } from "./store.ts";

/** In force from the next start of a run on. */
export function createHolds(store: Bound<typeof holdStore>, clock: Clock) {
  return {
    /** Again: another reason for the hold that is there. */
    hold: (wish: Omit<HoldRow, "since">): Promise<HoldRow> =>
      store.hold({ ...wish, since: clock.now() }),
    /** False: it was not held. */
    release: (kind: HoldKind, id: string): Promise<boolean> => store.release(kind, id),
    find: (kind: HoldKind, id: string): Promise<HoldRow | undefined> => store.find(kind, id),
    list: (): Promise<HoldRow[]> => store.list(),
  };
}
