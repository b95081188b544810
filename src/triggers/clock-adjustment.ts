// Keeps schedules with the wall clock: one that goes back comes by instants that lie ahead of it
// again, and triggers must not wait until it has caught up.

import type { Bound } from "../database/index.ts";
import { type Clock, nextTurn } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { recomputeDue } from "./due.ts";
import type { DuePosition, Realignment } from "./store/due.ts";
import type { triggerStore } from "./store/index.ts";

/** Time servers put clocks right by less, as they go; no instant is passed over by that. */
const STEP_MS = 1_000;
const TRIGGERS_A_WRITE = 100;
/** The second time for what was reckoned before the clock went back, and written behind that. */
const PASSES_MAX = 2;

export interface ClockAdjustmentOptions {
  triggers: Pick<Bound<typeof triggerStore>, "listTimed" | "realign">;
  clock: Clock;
  log: Log;
  isStopping(): boolean;
}

export interface ClockAdjustment {
  /** False: the clock has gone back since the triggers were reckoned. */
  isKept(): boolean;
  /** Reckons anew what lies ahead, where that is needed. */
  keep(): Promise<void>;
}

/** Nobody knows what the clock did before: at first it is held for one that has gone back. */
export function createClockAdjustment({
  triggers,
  clock,
  log,
  isStopping,
}: ClockAdjustmentOptions): ClockAdjustment {
  let seen: { wall: number; monotonic: number } | null = null;
  /** Where the clock may have stood when it went back; null: all is reckoned by it. */
  let since: number | null = null;

  const isKept = () => {
    const [wall, monotonic] = [clock.now(), clock.monotonic()];
    const passed_ms = monotonic - (seen?.monotonic ?? monotonic);
    if (!seen) since = wall;
    else if (seen.wall + passed_ms - wall > STEP_MS) {
      log.warn("the wall clock went back: schedules go on from where it stands now");
      // When exactly nobody saw: no instant since then may be left out.
      since = Math.min(since ?? wall, Math.floor(wall - passed_ms));
    }
    seen = { wall, monotonic };
    return since === null;
  };
  const alignAll = async (from: number): Promise<number> => {
    let aligned = 0;
    let place: DuePosition | undefined = { next_fire_at: clock.now() + 1, id: "" };
    while (place && !isStopping()) {
      const page = await triggers.listTimed(place, TRIGGERS_A_WRITE);
      const changes = page.flatMap(({ next_fire_at, ...trigger }): Realignment[] => {
        if (next_fire_at === null) return [];
        const to = recomputeDue({ ...trigger, next_fire_at }, from, clock.now());
        return to === null ? [] : [{ trigger_id: trigger.id, from: next_fire_at, to }];
      });
      if (changes.length > 0) await triggers.realign(changes);
      aligned += changes.length;
      const last = page[TRIGGERS_A_WRITE - 1];
      place = last && { next_fire_at: last.next_fire_at!, id: last.id };
      await nextTurn();
    }
    return aligned;
  };
  return {
    isKept,
    async keep() {
      for (let passes = 0; !isKept() && passes < PASSES_MAX && !isStopping(); passes++) {
        const aligned = await alignAll(since!);
        if (isStopping()) return;
        if (aligned === 0 || passes === PASSES_MAX - 1) since = null;
      }
    },
  };
}
