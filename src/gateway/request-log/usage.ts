// Reads the sums of usage by days of a time zone and by columns, a day at a time.
import type { Bound, Database } from "../../database/index.ts";
import { listDays, nextDay } from "../../platform/calendar.ts";
import { yieldToEventLoop } from "../../platform/clock.ts";
import { startOfDay, writeDayIn } from "../../platform/zone.ts";
import { requestLogStore } from "./store/index.ts";
import { addSum, type GroupSum, SLOT_MS, type UsageColumn } from "./store/usage-sums.ts";

export type UsageGrouping = "day" | UsageColumn;

export interface UsageQuery {
  by: readonly UsageGrouping[];
  /** Days such as `2026-11-20`, both included. */
  from: string;
  to: string;
  /** Name of a known time zone. */
  zone: string;
}

/** `day` is empty unless it was asked for. */
export type Usage = GroupSum & { day: string };

export class UsageReader {
  readonly #store: Bound<typeof requestLogStore>;

  constructor(database: Database) {
    this.#store = database.bind(requestLogStore);
  }

  /** Sorted by day, then by each other group. */
  async sum({ by, from, to, zone }: UsageQuery): Promise<Usage[]> {
    const extent = await this.#store.findExtent();
    if (!extent || extent.first === null || extent.last === null) return [];
    const first = writeDayIn(extent.first * SLOT_MS, zone);
    const last = writeDayIn(extent.last * SLOT_MS, zone);
    const groups = new Map<string, Usage>();
    const columns = by.filter((one) => one !== "day");
    for (const day of listDays(from < first ? first : from, to > last ? last : to)) {
      const shown = by.includes("day") ? day : "";
      const [start, end] = [day, nextDay(day)].map((one) => findSlot(one, zone));
      for (const sum of await this.#store.sum(columns, start!, end!)) addUsage(groups, shown, sum);
      await yieldToEventLoop();
    }
    return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, usage]) => usage);
  }
}

/** A half hour counts to the day in which it begins. */
function findSlot(day: string, zone: string): number {
  return Math.ceil(startOfDay(day, zone) / SLOT_MS);
}

function addUsage(groups: Map<string, Usage>, day: string, sum: GroupSum): void {
  const { account_id, key_id, model, route, agent_id, agent_version } = sum;
  const version = String(agent_version).padStart(9, "0");
  const name = [day, account_id, key_id, model, route, agent_id, version].join("\n");
  const found = groups.get(name);
  if (found) addSum(found, sum);
  else groups.set(name, { ...sum, day });
}
