// The rows of the list of runs: active ones, then pages of ended ones, kept in place while held.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type ApiFailure, get } from "../api.ts";
import { useResource } from "../live.ts";

/** A run as the operator API lists it. */
export interface RunItem {
  id: string;
  account: string;
  agent_id: string;
  agent_name: string | null;
  version: number;
  title: string;
  status: string;
  error_code: string | null;
  trigger_kind: "manual" | "cron" | "webhook";
  rounds: number;
  total_tokens: number;
  cost: string | null;
  created_at: string;
  finished_at: string | null;
  queued_ms: number;
  worked_ms: number;
  waited_ms: number;
}

const ACTIVE_ROWS_MAX = 1_000;
const ENDED_ROWS = 200;
/** Rows that the list shows at most; a filter finds older ones. */
export const ROWS_MAX = 10_000;
/** Runs that ended between two reads, and are looked up one by one. */
const VANISHED_MAX = 20;

const byNewest = (one: RunItem, other: RunItem) => (one.id < other.id ? 1 : -1);

interface Loaded {
  /** The search that they match. */
  search: string;
  active: readonly RunItem[];
  /** Newest first, without gaps down to the oldest. */
  ended: readonly RunItem[];
  /** There may be older ones. */
  hasMore: boolean;
}

export interface RunList {
  /** Rows to show; null before the first read. */
  rows: readonly RunItem[] | null;
  failure: ApiFailure | null;
  /** Rows that wait until the reader lets them in. */
  newRows: number;
  hasMore: boolean;
  /** The rows are still those of an earlier search. */
  isBusy: boolean;
  showMore(): Promise<void>;
}

/**
 * Reads the runs of a search, as a query of the API. While `isHeld`, rows change in place but none
 * comes or goes.
 */
export function useRunList(search: string, since: string, isHeld: boolean): RunList {
  const active = useResource<RunItem[]>(`/runs?stage=active&limit=${ACTIVE_ROWS_MAX}&${search}`, [
    "runs",
  ]);
  const endedPath = `/runs?stage=ended&${since}${search}`;
  const ended = useResource<RunItem[]>(`${endedPath}&limit=${ENDED_ROWS}`, ["runs"]);
  const loaded = useSignal<Loaded | null>(null);
  /** Ids in the order in which they are shown; null: as they were loaded. */
  const held = useSignal<readonly string[] | null>(null);
  const isLoading = useSignal(false);
  const key = `${since}${search}`;
  const read = useRef<Partial<Record<"active" | "ended", SearchAnswer>>>({});
  useEffect(() => {
    // The answers of an earlier search stay until both of the new one are there.
    note(read.current, "active", active.value.data, key);
    note(read.current, "ended", ended.value.data, key);
    const { active: running, ended: page } = read.current;
    if (running?.search !== key || page?.search !== key) return;
    const last = loaded.peek()?.search === key ? loaded.peek() : null;
    loaded.value = merge(key, last, running.rows, page.rows);
    if (last) void lookUpVanished(last.active);
  }, [active.value.data, ended.value.data]);
  useEffect(() => {
    held.value = isHeld && loaded.peek() ? listIds(loaded.peek()!) : null;
  }, [isHeld, key]);

  const add = (rows: readonly RunItem[], hasMore: boolean) => {
    const { value } = loaded;
    if (!value || value.search !== key) return;
    loaded.value = { ...value, ended: join(value.ended, rows), hasMore };
    if (held.value) held.value = [...new Set([...held.value, ...rows.map(({ id }) => id)])];
  };
  /** A run that has just ended may be older than the first page of ended ones. */
  const lookUpVanished = async (before: readonly RunItem[]) => {
    const { active: now, ended: known } = loaded.peek()!;
    const ids = new Set([...now, ...known].map(({ id }) => id));
    const oldest = known.at(-1)?.id ?? "";
    for (const { id } of before.filter((row) => !ids.has(row.id)).slice(0, VANISHED_MAX)) {
      if (id < oldest && !held.peek()?.includes(id)) continue;
      const found = await get<RunItem[]>(`/runs?text=${id}&limit=1`).catch(() => []);
      add(found, loaded.peek()!.hasMore);
    }
  };
  const rows = useComputed(() => {
    const { value } = loaded;
    if (!value) return null;
    const all = [...value.active, ...value.ended];
    if (!held.value) return all;
    const known = new Map(all.map((row) => [row.id, row]));
    return held.value.flatMap((id) => known.get(id) ?? []);
  });
  return {
    rows: rows.value,
    failure: active.value.failure ?? ended.value.failure,
    newRows: held.value
      ? listIds(loaded.value!).filter((id) => !held.value!.includes(id)).length
      : 0,
    hasMore: (loaded.value?.hasMore ?? false) && (rows.value?.length ?? 0) < ROWS_MAX,
    isBusy: loaded.value?.search !== key,
    async showMore() {
      const last = loaded.peek()?.ended.at(-1);
      if (!last || isLoading.peek()) return;
      isLoading.value = true;
      const path = `${endedPath}&limit=${ENDED_ROWS}&before=${last.id}`;
      const older = await get<RunItem[]>(path).catch(() => null);
      isLoading.value = false;
      if (older) add(older, older.length === ENDED_ROWS);
    },
  };
}

interface SearchAnswer {
  search: string;
  rows: readonly RunItem[];
}

function note(
  read: Partial<Record<"active" | "ended", SearchAnswer>>,
  part: "active" | "ended",
  rows: readonly RunItem[] | null,
  search: string,
): void {
  if (rows && read[part]?.rows !== rows) read[part] = { search, rows };
}

function listIds({ active, ended }: Loaded): string[] {
  return [...active, ...ended].map(({ id }) => id);
}

function merge(
  search: string,
  last: Loaded | null,
  active: readonly RunItem[],
  page: readonly RunItem[],
): Loaded {
  const isFull = page.length === ENDED_ROWS;
  const known = new Set(last?.ended.map(({ id }) => id));
  // Without a row in common, runs between the two pages are unknown.
  const isJoined =
    last !== null && last.ended.length > page.length && page.some(({ id }) => known.has(id));
  const ended = isJoined ? join(last.ended, page) : page;
  const live = new Set(ended.map(({ id }) => id));
  return {
    search,
    active: active.filter(({ id }) => !live.has(id)),
    ended,
    hasMore: isJoined ? last.hasMore : isFull,
  };
}

function join(known: readonly RunItem[], more: readonly RunItem[]): RunItem[] {
  const all = new Map([...known, ...more].map((row) => [row.id, row]));
  return [...all.values()].sort(byNewest);
}
