// A store of processes whose database has the clock of the test.
import type { Clock } from "../../src/platform/clock.ts";

interface Beating {
  beat(epoch: number): Promise<number | null>;
}

/** Leaves other stores as they are. */
export function keepTime<T extends object>(store: T, clock: Clock): T {
  if (!("beat" in store)) return store;
  const { beat } = store as unknown as Beating;
  return {
    ...store,
    beat: async (epoch: number) => ((await beat(epoch)) === null ? null : clock.now()),
  };
}
