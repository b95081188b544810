// Usage by group: the largest five and the others, each with its sums in whole and by time.
import { shortenId } from "../format.ts";
import { t } from "../texts.ts";

export const MEASURES = ["cost", "tokens", "requests", "runs"] as const;
export type UsageMeasure = (typeof MEASURES)[number];
export const STACKS = ["account", "key", "model", "agent"] as const;
export type UsageStack = (typeof STACKS)[number];

export interface ReportRow {
  date?: string;
  hour?: string;
  account_id?: string | null;
  account?: string | null;
  key_id?: string;
  key?: string | null;
  model?: string | null;
  agent_id?: string | null;
  agent?: string | null;
  requests?: number;
  failed: number;
  prompt_tokens?: number;
  completion_tokens?: number;
  cost?: string | null;
  unpriced?: number;
  runs?: number;
}

/** Micro-units of money, so that sums are exact. */
const MICRO = 1_000_000;

export interface GroupSums {
  requests: number;
  failed: number;
  tokens: number;
  /** In millionths; the part that is known. */
  cost: number;
  unpriced: number;
  runs: number;
}

export const NO_USE: GroupSums = {
  ...{ requests: 0, failed: 0, tokens: 0, cost: 0, unpriced: 0, runs: 0 },
};

export interface UsageGroup {
  id: string;
  name: string;
  sums: GroupSums;
  byTime: ReadonlyMap<string, GroupSums>;
}

const readSums = (row: ReportRow): GroupSums => ({
  requests: row.requests ?? 0,
  failed: row.failed,
  tokens: (row.prompt_tokens ?? 0) + (row.completion_tokens ?? 0),
  cost: Math.round(Number(row.cost ?? 0) * MICRO),
  unpriced: row.unpriced ?? 0,
  runs: row.runs ?? 0,
});

export const writeMicro = (micro: number): string => (micro / MICRO).toFixed(6);

export function addSums(a: GroupSums, b: GroupSums): GroupSums {
  const names = Object.keys(NO_USE) as (keyof GroupSums)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as never;
}

const LARGEST = 5;

/** Groups by their size in the measure, the others as the last. */
export function groupRows(
  rows: readonly ReportRow[],
  stack: UsageStack,
  measure: UsageMeasure,
): UsageGroup[] {
  const groups = new Map<string, UsageGroup & { byTime: Map<string, GroupSums> }>();
  for (const row of rows) {
    const id = String((stack === "model" ? row.model : row[`${stack}_id`]) ?? "");
    const group = groups.get(id) ?? {
      ...{ id, name: nameGroup(row, stack, id), sums: NO_USE, byTime: new Map() },
    };
    const time = row.hour ?? row.date ?? "";
    const sums = readSums(row);
    group.sums = addSums(group.sums, sums);
    group.byTime.set(time, addSums(group.byTime.get(time) ?? NO_USE, sums));
    groups.set(id, group);
  }
  const sorted = [...groups.values()].sort((a, b) => b.sums[measure] - a.sums[measure]);
  if (sorted.length <= LARGEST + 1) return sorted;
  return [...sorted.slice(0, LARGEST), mergeGroups(sorted.slice(LARGEST))];
}

function mergeGroups(groups: readonly UsageGroup[]): UsageGroup {
  const byTime = new Map<string, GroupSums>();
  for (const group of groups) {
    for (const [time, sums] of group.byTime) {
      byTime.set(time, addSums(byTime.get(time) ?? NO_USE, sums));
    }
  }
  const sums = groups.map((group) => group.sums).reduce(addSums);
  return { id: "others", name: t("usage.others", groups.length), sums, byTime };
}

function nameGroup(row: ReportRow, stack: UsageStack, id: string): string {
  const name = stack === "model" ? row.model : row[stack];
  return name ?? (id === "" ? t(`usage.without.${stack}`) : t("usage.deleted", shortenId(id)));
}
