// Recomputes schedules after the wall clock went back, so that triggers do not wait for it to catch
// up.
import type { Bound } from "../database/index.ts";
import { type Clock, yieldToEventLoop } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { recomputeDue } from "./due.ts";
import type { DuePosition, Realignment } from "./store/due.ts";
import type { triggerStore } from "./store/index.ts";

/** Minimum jump; smaller ones are corrections by a time server and cannot skip a fire. */
const JUMP_MS_MIN = 1_000;
const TRIGGERS_A_WRITE = 100;
/** The second pass finds instants computed before the jump but written after the first pass. */
const PASSES_MAX = 2;

export interface ClockAdjustmentOptions {
  triggers: Pick<Bound<typeof triggerStore>, "listTimed" | "realign">;
  clock: Clock;
  log: Log;
  isStopping(): boolean;
}

/** A new process assumes that the clock went back, since it saw nothing of what came before. */
export class ClockAdjustment {
  readonly #options: ClockAdjustmentOptions;
  #seen: { wall: number; monotonic: number } | undefined;
  /** Earliest time to which the clock may have gone back; undefined once all is recomputed. */
  #since: number | undefined;

  constructor(options: ClockAdjustmentOptions) {
    this.#options = options;
  }

  /** Reads the clocks; false while schedules have to be recomputed. */
  checkClock(): boolean {
    const { clock, log } = this.#options;
    const [wall, monotonic] = [clock.now(), clock.monotonic()];
    if (!this.#seen) {
      this.#since = wall;
    } else {
      const elapsedMs = monotonic - this.#seen.monotonic;
      if (this.#seen.wall + elapsedMs - wall > JUMP_MS_MIN) {
        log.warn("triggers: the wall clock went back, schedules continue from its new time");
        // The exact moment of the jump is unknown, so no instant since the last check is skipped.
        this.#since = Math.min(this.#since ?? wall, Math.floor(wall - elapsedMs));
      }
    }
    this.#seen = { wall, monotonic };
    return this.#since === undefined;
  }

  async apply(): Promise<void> {
    const { isStopping } = this.#options;
    for (let pass = 1; !this.checkClock() && pass <= PASSES_MAX && !isStopping(); pass++) {
      const realigned = await this.#realignAll(this.#since!);
      if (isStopping()) return;
      if (realigned === 0 || pass === PASSES_MAX) this.#since = undefined;
    }
  }

  async #realignAll(since: number): Promise<number> {
    const { triggers, clock, isStopping } = this.#options;
    let realigned = 0;
    let position: DuePosition | undefined = { next_fire_at: clock.now() + 1, id: "" };
    while (position && !isStopping()) {
      const page = await triggers.listTimed(position, TRIGGERS_A_WRITE);
      const changes = page.flatMap(({ next_fire_at, ...trigger }): Realignment[] => {
        if (next_fire_at === null) return [];
        const to = recomputeDue({ ...trigger, next_fire_at }, since, clock.now());
        return to === null ? [] : [{ trigger_id: trigger.id, from: next_fire_at, to }];
      });
      if (changes.length > 0) await triggers.realign(changes);
      realigned += changes.length;
      const last = page[TRIGGERS_A_WRITE - 1];
      position = last && { next_fire_at: last.next_fire_at!, id: last.id };
      await yieldToEventLoop();
    }
    return realigned;
  }
}
