// The shared capacities of a process by service, so that another process can decide on their slots.
import type { Capacity } from "./capacity.ts";

export type SlotCounts = Readonly<Record<string, number>>;

interface SlotLeader {
  take(service: string, max: number): Promise<boolean>;
  release(service: string): void;
}

export class CapacityGroup {
  readonly #capacities: Readonly<Record<string, Capacity>>;
  #isShared = false;

  constructor(capacities: Readonly<Record<string, Capacity>>) {
    this.#capacities = capacities;
  }

  export(): SlotCounts {
    const entries = Object.entries(this.#capacities);
    return Object.fromEntries(entries.map(([name, one]) => [name, one.status().inUse]));
  }

  /** Sets the slots that the process before uses. */
  import(counts: SlotCounts): void {
    for (const [name, one] of Object.entries(this.#capacities)) one.import(counts[name] ?? 0);
  }

  /** Takes a slot for another process. */
  take(service: string): boolean {
    return this.#capacities[service]?.takeElsewhere() ?? true;
  }

  release(service: string): void {
    this.#capacities[service]?.releaseElsewhere();
  }

  /** Takes slots where all processes do; a takeover changes nothing then. */
  share(leader: SlotLeader): void {
    this.#isShared = true;
    for (const [name, one] of Object.entries(this.#capacities)) {
      const take = (max: number) => leader.take(name, max);
      one.follow({ take, release: () => leader.release(name) }, true);
    }
  }

  /** Lets another process decide on the slots of this one; null decides here again. */
  follow(
    leader: { take(service: string): Promise<boolean>; release(service: string): void } | null,
  ): void {
    if (this.#isShared) return;
    for (const [name, one] of Object.entries(this.#capacities)) {
      one.follow(leader && { take: () => leader.take(name), release: () => leader.release(name) });
    }
  }
}
