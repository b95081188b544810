// Writes what attempts came to: whatever is ready together, one write at a time, until it is kept.
import type { Bound } from "../platform/database/index.ts";
import type { Around } from "./around.ts";
import type { webhookStore } from "./store/index.ts";
import type { Hopeless, Settlement } from "./store/settle.ts";

/** A write of more would hold others up. */
const GROUP_MAX = 256;
/** A write that failed is tried again. */
const AGAIN_MS = 1_000;

export interface SettlingOptions {
  around: Pick<Around, "clock" | "log">;
  store: Pick<Bound<typeof webhookStore>, "settle">;
  /** These are kept now. */
  onSettled(group: readonly Settlement[], hopeless: readonly Hopeless[]): void;
}

export interface Settling {
  add(settlement: Settlement): void;
  /** How many are not kept yet. */
  count(): number;
}

export function createSettling({ around, store, onSettled }: SettlingOptions): Settling {
  const { clock, log } = around;
  let waiting: Settlement[] = [];
  let group_max = GROUP_MAX;
  let writing = 0;
  let isResting = false;

  const write = async (group: readonly Settlement[]) => {
    try {
      const hopeless = await store.settle(group, clock.now());
      group_max = Math.min(2 * group_max, GROUP_MAX);
      writing = 0;
      onSettled(group, hopeless);
    } catch (error) {
      log.error("what webhooks came to could not be written", { error });
      // One that can never be written must hold up no other: in the end each goes alone.
      group_max = Math.max(1, Math.floor(group.length / 2));
      writing = 0;
      waiting.push(...group);
      isResting = true;
      clock.after(AGAIN_MS, () => {
        isResting = false;
        look();
      });
    }
    look();
  };
  const look = () => {
    if (writing > 0 || isResting || waiting.length === 0) return;
    const group = waiting.slice(0, group_max);
    waiting = waiting.slice(group_max);
    writing = group.length;
    void write(group);
  };
  return {
    add(settlement) {
      waiting.push(settlement);
      look();
    },
    count: () => waiting.length + writing,
  };
}
