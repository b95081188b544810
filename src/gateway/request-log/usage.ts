// Reads the sums of usage by days of a time zone and by columns, a day at a time.
import type { Bound, Database } from "../../database/index.ts";
import { listDays, nextDay } from "../../platform/calendar.ts";
import { yieldToEventLoop } from "../../platform/clock.ts";
import { startOfDay, writeDayIn } from "../../platform/zone.ts";
import { requestLogStore } from "./store/index.ts";
import {
  addSum,
  type GroupSum,
  SLOT_MS,
  type SlotRange,
  type UsageColumn,
  type UsageFilter,
} from "./store/usage-sums.ts";

export type UsageGrouping = "day" | "hour" | UsageColumn;

export interface UsageQuery {
  by: readonly UsageGrouping[];
  /** Days such as `2026-11-20`, both included. */
  from: string;
  to: string;
  /** Name of a known time zone. */
  zone: string;
  filter: UsageFilter;
}

/** `day` and `hour`, its first instant, are empty unless they were asked for. */
export type Usage = GroupSum & { day: string; hour: string };

const SLOTS_AN_HOUR = 2;

export class UsageReader {
  readonly #store: Bound<typeof requestLogStore>;

  constructor(database: Database) {
    this.#store = database.bind(requestLogStore);
  }

  /** Sorted by day, then by each other group. */
  async sum({ by, from, to, zone, filter }: UsageQuery): Promise<Usage[]> {
    const extent = await this.#store.findExtent();
    if (!extent || extent.first === null || extent.last === null) return [];
    const first = writeDayIn(extent.first * SLOT_MS, zone);
    const last = writeDayIn(extent.last * SLOT_MS, zone);
    const groups = new Map<string, Usage>();
    const columns = by.filter((one) => one !== "day" && one !== "hour");
    for (const day of listDays(from < first ? first : from, to > last ? last : to)) {
      const shown = by.includes("day") ? day : "";
      const whole = { from: findSlot(day, zone), to: findSlot(nextDay(day), zone) };
      for (const range of by.includes("hour") ? splitHours(whole) : [whole]) {
        const hour = by.includes("hour") ? new Date(range.from * SLOT_MS).toISOString() : "";
        for (const sum of await this.#store.sum(columns, range, filter)) {
          addUsage(groups, { day: shown, hour }, sum);
        }
      }
      await yieldToEventLoop();
    }
    return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, usage]) => usage);
  }
}

/** A half hour counts to the day in which it begins. */
function findSlot(day: string, zone: string): number {
  return Math.ceil(startOfDay(day, zone) / SLOT_MS);
}

/** Hours of the day's zone, whose first may begin at half past an hour of UTC. */
function splitHours({ from, to }: SlotRange): SlotRange[] {
  const hours = Math.ceil((to - from) / SLOTS_AN_HOUR);
  return Array.from({ length: hours }, (_, at) => {
    const start = from + at * SLOTS_AN_HOUR;
    return { from: start, to: Math.min(start + SLOTS_AN_HOUR, to) };
  });
}

function addUsage(
  groups: Map<string, Usage>,
  time: Pick<Usage, "day" | "hour">,
  sum: GroupSum,
): void {
  const { account_id, key_id, model, route, agent_id, agent_version } = sum;
  const version = String(agent_version).padStart(9, "0");
  const name = [time.day, time.hour, account_id, key_id, model, route, agent_id, version].join(
    "\n",
  );
  const found = groups.get(name);
  if (found) addSum(found, sum);
  else groups.set(name, { ...sum, ...time });
}
