// Sums of usage in the database: one row for each half hour, later each day, and group.
import { type Static, Type } from "@sinclair/typebox";
import {
  createInsertion,
  type Db,
  type DeletedPart,
  inLockOrder,
  none,
  type Sql,
  splitRows,
  sql,
  type Tx,
  type WalkPart,
} from "../../../database/index.ts";
import { Money, maybe, writeRow } from "../../../platform/schema.ts";
import type { LogEntry } from "../entry.ts";

/** Groups of usage that are columns; days depend on a time zone. */
export type UsageColumn = "account" | "key" | "model" | "route" | "agent" | "version";

const GROUP = {
  /** "" for a key without an owner: in a unique key no null equals another. */
  account_id: Type.String(),
  key_id: Type.String(),
  /** "" for a request that was refused before its model was known. */
  model: Type.String(),
  route: Type.String(),
  /** "" and 0 for a request that is no run's. */
  agent_id: Type.String(),
  agent_version: Type.Integer(),
};

const SUMS = {
  requests: Type.Integer(),
  /** Requests that ended with an error code, also inside a stream. */
  failed: Type.Integer(),
  callers_left: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  /** Requests whose tokens are an estimate, and these tokens. */
  estimated: Type.Integer(),
  estimated_prompt_tokens: Type.Integer(),
  estimated_completion_tokens: Type.Integer(),
  cost: maybe(Money("Of the requests with a known one.")),
  /** The part of `cost` that was calculated from estimated tokens, in micro-SAR. */
  estimated_cost: Type.Integer(),
  /** Requests that used tokens at an unknown cost, and those of them with an estimate. */
  unpriced: Type.Integer(),
  unpriced_estimated: Type.Integer(),
};
const SUM_NAMES = Object.keys(SUMS) as (keyof typeof SUMS)[];

/** Groups that were not asked for are empty. */
export const GroupSum = Type.Object({ ...GROUP, ...SUMS });
export type GroupSum = Static<typeof GroupSum>;

export const SlotSum = Type.Object({
  /** Half hours since 1970. */
  slot: Type.Integer(),
  ...GROUP,
  ...SUMS,
});
export type SlotSum = Static<typeof SlotSum>;

/** Every zone of today differs from UTC by half hours or, in a few places, quarters of an hour. */
export const SLOT_MS = 1_800_000;
const SLOTS_A_DAY = 48;
/** Slot of a whole day in UTC: noon lies on the same day almost everywhere. */
const NOON = 24;

const NO_TEXT = sql`CAST('' AS TEXT)`;
const Extent = Type.Object({ first: maybe(Type.Integer()), last: maybe(Type.Integer()) });
const Requests = Type.Object({ requests: SUMS.requests });
const Slot = Type.Object({ slot: maybe(Type.Integer()) });

/** Which sums are read; what is undefined matches all. */
export interface UsageFilter {
  account_id?: string | undefined;
  key_id?: string | undefined;
  model?: string | undefined;
  agent_id?: string | undefined;
}

/** Slots from `from` until before `to`. */
export interface SlotRange {
  from: number;
  to: number;
}

/** Sums the slots of a range, by these columns. */
export function sumSlots(
  db: Db,
  by: readonly UsageColumn[],
  { from, to }: SlotRange,
  { account_id, key_id, model, agent_id }: UsageFilter,
): Promise<GroupSum[]> {
  const text = (column: UsageColumn, name: Sql) => (by.includes(column) ? name : NO_TEXT);
  const version = by.includes("version") ? sql`agent_version` : sql`CAST(0 AS BIGINT)`;
  return db.all(
    GroupSum,
    sql`SELECT ${text("account", sql`account_id`)} AS account_id,
          ${text("key", sql`key_id`)} AS key_id, ${text("model", sql`model`)} AS model,
          ${text("route", sql`route`)} AS route, ${text("agent", sql`agent_id`)} AS agent_id,
          ${version} AS agent_version, SUM(requests) AS requests, SUM(failed) AS failed,
          SUM(callers_left) AS callers_left, SUM(prompt_tokens) AS prompt_tokens,
          SUM(completion_tokens) AS completion_tokens, SUM(estimated) AS estimated,
          SUM(estimated_prompt_tokens) AS estimated_prompt_tokens,
          SUM(estimated_completion_tokens) AS estimated_completion_tokens,
          SUM(cost) AS cost, SUM(estimated_cost) AS estimated_cost, SUM(unpriced) AS unpriced,
          SUM(unpriced_estimated) AS unpriced_estimated
        FROM usage_sums WHERE slot >= ${from} AND slot < ${to}
          ${account_id === undefined ? none : sql`AND account_id = ${account_id}`}
          ${key_id === undefined ? none : sql`AND key_id = ${key_id}`}
          ${model === undefined ? none : sql`AND model = ${model}`}
          ${agent_id === undefined ? none : sql`AND agent_id = ${agent_id}`}
        GROUP BY 1, 2, 3, 4, 5, 6`,
  );
}

/** The first and last slots with sums; null: there are none. */
export function findExtent(db: Db) {
  // Both in one SELECT would read every row.
  return db.one(
    Extent,
    sql`SELECT (SELECT MIN(slot) FROM usage_sums) AS first,
          (SELECT MAX(slot) FROM usage_sums) AS last`,
  );
}

/** Selects each slot while `goesOn`, by one search of the index for each. */
const walkSlots = (goesOn: Sql) => sql`WITH RECURSIVE slots (slot) AS (
    SELECT MIN(slot) FROM usage_sums UNION ALL
    SELECT (SELECT MIN(sums.slot) FROM usage_sums AS sums WHERE sums.slot > slots.slot)
    FROM slots WHERE ${goesOn}
  )`;

/** Counts an account's requests by their sums, which have no index of accounts. */
export async function sumRequests(db: Db, account_id: string): Promise<number> {
  const found = await db.one(
    Requests,
    sql`${walkSlots(sql`slots.slot IS NOT NULL`)}
        SELECT COALESCE(SUM(usage_sums.requests), 0) AS requests
        FROM slots CROSS JOIN usage_sums
        WHERE usage_sums.slot = slots.slot AND usage_sums.account_id = ${account_id}`,
  );
  return found!.requests;
}

/** Adds up the oldest day that has half hours before `until`; returns how many rows it had. */
export async function foldDay(tx: Tx, until: number): Promise<number> {
  const found = await tx.one(
    Slot,
    // One step per slot: a folded day has one slot, however many rows it has.
    sql`${walkSlots(sql`slots.slot % ${SLOTS_A_DAY} = ${NOON}`)}
        SELECT MAX(slot) AS slot FROM slots`,
  );
  const first = found?.slot ?? null;
  if (first === null || first >= until || first % SLOTS_A_DAY === NOON) return 0;
  const midnight = first - (first % SLOTS_A_DAY);
  const noon = midnight + NOON;
  const halfHours = sql`FROM usage_sums WHERE slot >= ${midnight}
    AND slot < ${midnight + SLOTS_A_DAY} AND slot <> ${noon}`;
  const sums = await tx.all(SlotSum, sql`SELECT * ${halfHours}`);
  await tx.run(sql`DELETE ${halfHours}`);
  await Promise.all(addSums(tx, mergeSums(sums.map((sum) => ({ ...sum, slot: noon })))));
  return sums.length;
}

const insertSums = createInsertion(
  SlotSum,
  "INSERT INTO usage_sums",
  // An unknown cost leaves the sum as it is.
  `ON CONFLICT (slot, account_id, key_id, model, route, agent_id, agent_version) DO UPDATE SET
    cost = COALESCE(usage_sums.cost + excluded.cost, usage_sums.cost, excluded.cost),
    ${SUM_NAMES.filter((name) => name !== "cost")
      .map((name) => `${name} = usage_sums.${name} + excluded.${name}`)
      .join(", ")}`,
);

/** Sends all of it at once. */
export function addSums(tx: Tx, sums: readonly SlotSum[]): Promise<number>[] {
  return [...splitRows(sums)].map((group) =>
    tx.run(insertSums(group.map((sum) => writeRow(SlotSum, sum)))),
  );
}

export function sumEntries(entries: readonly LogEntry[]): SlotSum[] {
  return mergeSums(entries.map(makeSum));
}

/** One statement cannot change a row twice. */
function mergeSums(sums: readonly SlotSum[]): SlotSum[] {
  const merged = new Map<string, SlotSum>();
  for (const sum of sums) {
    const { slot, key_id, route, model, agent_id, agent_version } = sum;
    // A key never changes its account.
    const name = `${slot} ${key_id} ${route} ${agent_id} ${agent_version} ${model}`;
    const found = merged.get(name);
    if (found) addSum(found, sum);
    else merged.set(name, sum);
  }
  return inLockOrder(merged).map(([, sum]) => sum);
}

function makeSum(entry: LogEntry): SlotSum {
  const { cost, code, usage_estimated } = entry;
  const prompt_tokens = entry.prompt_tokens ?? 0;
  const completion_tokens = entry.completion_tokens ?? 0;
  const hasLeft = code === "client_closed_request";
  const estimated = usage_estimated ? 1 : 0;
  const unpriced = entry.prompt_tokens !== null && cost === null ? 1 : 0;
  return {
    slot: Math.floor(entry.at / SLOT_MS),
    account_id: entry.account_id ?? "",
    key_id: entry.key_id,
    model: entry.model ?? "",
    route: entry.route,
    agent_id: entry.agent_id ?? "",
    agent_version: entry.agent_version ?? 0,
    requests: 1,
    failed: code === null || hasLeft ? 0 : 1,
    callers_left: hasLeft ? 1 : 0,
    prompt_tokens,
    completion_tokens,
    estimated,
    estimated_prompt_tokens: estimated * prompt_tokens,
    estimated_completion_tokens: estimated * completion_tokens,
    cost,
    estimated_cost: estimated * (cost ?? 0),
    unpriced,
    unpriced_estimated: estimated * unpriced,
  };
}

type AddedSums = Pick<SlotSum, keyof typeof SUMS>;

/** Adds `other` to `sum`; an unknown cost leaves the sum as it is. */
export function addSum(sum: AddedSums, other: AddedSums): void {
  const cost = other.cost === null ? sum.cost : (sum.cost ?? 0) + other.cost;
  for (const name of SUM_NAMES) sum[name] = (sum[name] ?? 0) + (other[name] ?? 0);
  sum.cost = cost;
}

/** Part of a transaction: deletes an account's sums of the next day behind the slot `after`. */
export async function deleteSums(
  tx: Tx,
  { account_id, after }: Omit<WalkPart, "limit">,
): Promise<DeletedPart> {
  const found = await tx.one(
    Slot,
    sql`SELECT MIN(slot) AS slot FROM usage_sums WHERE slot > ${after === "" ? -1 : Number(after)}`,
  );
  if (!found || found.slot === null) return { rows: 0, next: null };
  const end = found.slot + SLOTS_A_DAY;
  const rows = await tx.run(
    sql`DELETE FROM usage_sums
        WHERE slot >= ${found.slot} AND slot < ${end} AND account_id = ${account_id}`,
  );
  return { rows, next: String(end - 1) };
}
