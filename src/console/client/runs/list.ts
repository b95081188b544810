// The rows of the list of runs: active ones, then pages of ended ones, kept in place while held.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type ApiFailure, get } from "../api.ts";
import { useResource } from "../live.ts";
import { type HeldRows, useHeldRows, useNewestRows } from "../newest-rows.ts";

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
/** Rows that the list shows at most; a filter finds older ones. */
export const ROWS_MAX = 10_000;
/** Runs that ended between two reads, and are looked up one by one. */
const VANISHED_MAX = 20;

/** Runs of a search in the order of the list. */
interface FoundRuns {
  path: string;
  active: readonly RunItem[];
  rows: readonly RunItem[];
}

export interface RunList extends HeldRows<RunItem> {
  failure: ApiFailure | null;
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
  const activePath = `/runs?stage=active&limit=${ACTIVE_ROWS_MAX}&${search}`;
  const active = useResource<RunItem[]>(activePath, ["runs"]).value;
  const path = `/runs?stage=ended&${since}${search}`;
  const ended = useNewestRows<RunItem>(path, "runs", ROWS_MAX);
  const { loaded } = ended;
  const found = useRef<FoundRuns>(undefined);
  // The rows of an earlier search stay until both parts of the new one are there.
  const isRead = active.data && active.path === activePath && loaded?.path === path;
  useMemo(() => {
    if (isRead) found.current = joinRuns(active.data!, loaded);
  }, [isRead, active.data, loaded]);
  const { current } = found;
  const before = useRef<FoundRuns>(undefined);
  useEffect(() => {
    if (current && before.current?.path === path) void lookUpVanished(before.current.active);
    before.current = current;
  }, [active.data, loaded]);
  const held = useHeldRows(current?.path ?? "", current?.rows ?? null, isHeld);
  /** A run that has just ended may be older than the first page of ended ones. */
  const lookUpVanished = async (earlier: readonly RunItem[]) => {
    const known = new Set(current!.rows.map(({ id }) => id));
    const oldest = current!.rows.at(-1)?.id ?? "";
    const shown = new Set(held.rows?.map(({ id }) => id));
    const vanished = earlier.filter(({ id }) => !known.has(id));
    for (const { id } of vanished.slice(0, VANISHED_MAX)) {
      if (id < oldest && !shown.has(id)) continue;
      const [run] = await get<RunItem[]>(`/runs?text=${id}&limit=1`).catch(() => []);
      if (run) ended.add(run);
    }
  };
  return {
    ...held,
    failure: active.failure ?? ended.failure,
    hasMore: ended.hasMore,
    isBusy: current?.path !== path,
    showMore: ended.showMore,
  };
}

function joinRuns(active: readonly RunItem[], ended: Omit<FoundRuns, "active">): FoundRuns {
  const live = new Set(ended.rows.map(({ id }) => id));
  const rows = [...active.filter(({ id }) => !live.has(id)), ...ended.rows];
  return { path: ended.path, active, rows };
}
