// A long list, newest first: its first page is read again when rows change, older pages on demand.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiFailure, get } from "./api.ts";
import { type LiveTopic, useResource } from "./live.ts";

type Identified = { id: string };

/** Rows, and `before` of the next older page; null: there is none. */
interface RowPage<Row> {
  rows: readonly Row[];
  next: string | null;
}

interface LoadedRows<Row> extends RowPage<Row> {
  /** Address of the list that they are of. */
  path: string;
}

export interface NewestRows<Row> {
  /** Without gaps down to the oldest; null before the first read. */
  loaded: LoadedRows<Row> | null;
  failure: ApiFailure | null;
  hasMore: boolean;
  /** Adds a row that was read by itself. */
  add(row: Row): void;
  showMore(): Promise<void>;
  /** Reads the first page again after an act. */
  reload(): void;
}

const PAGE_ROWS = 200;

/** Reads `path`, a list of the operator API with a query, and holds at most `rowsMax` of it. */
export function useNewestRows<Row extends Identified>(
  path: string,
  topic: LiveTopic,
  rowsMax: number,
): NewestRows<Row> {
  const pagePath = `${path}limit=${PAGE_ROWS}`;
  const resource = useResource<RowPage<Row> | readonly Row[]>(pagePath, [topic]);
  const loaded = useSignal<LoadedRows<Row> | null>(null);
  const olderFailure = useSignal<ApiFailure | null>(null);
  const isReading = useSignal(false);
  const { data, failure, path: readPath } = resource.value;
  const cut = (rows: readonly Row[], next: string | null): LoadedRows<Row> => {
    if (rows.length <= rowsMax) return { path, rows, next };
    return { path, rows: rows.slice(0, rowsMax), next: rows[rowsMax - 1]!.id };
  };
  useEffect(() => {
    if (!data || readPath !== pagePath) return;
    const { rows, next } = renew(
      loaded.peek()?.path === path ? loaded.peek() : null,
      readPage(data),
    );
    loaded.value = cut(rows, next);
  }, [data]);
  const { value } = loaded;
  return {
    reload: resource.reload,
    loaded: value,
    failure: failure ?? olderFailure.value,
    hasMore: value !== null && value.next !== null && value.rows.length < rowsMax,
    add(row) {
      const { value: now } = loaded;
      if (now?.path === path) loaded.value = cut(joinRows(now.rows, [row]), now.next);
    },
    async showMore() {
      const next = loaded.peek()?.next;
      if (!next || isReading.peek()) return;
      isReading.value = true;
      try {
        const before = encodeURIComponent(next);
        const older = readPage(await get<RowPage<Row> | Row[]>(`${pagePath}&before=${before}`));
        const now = loaded.peek();
        if (now?.path !== path || now.next !== next) return;
        loaded.value = cut(joinRows(now.rows, older.rows), older.next);
        olderFailure.value = null;
      } catch (problem) {
        if (!(problem instanceof ApiFailure)) throw problem;
        olderFailure.value = problem;
      } finally {
        isReading.value = false;
      }
    },
  };
}

function readPage<Row extends Identified>(data: RowPage<Row> | readonly Row[]): RowPage<Row> {
  if ("rows" in data) return data;
  return { rows: data, next: data.length < PAGE_ROWS ? null : data.at(-1)!.id };
}

/** The page is all that there is down to its `next`; below it, known rows stay. */
function renew<Row extends Identified>(
  known: RowPage<Row> | null,
  page: RowPage<Row>,
): RowPage<Row> {
  const { next } = page;
  const newest = known?.rows[0];
  // Rows between the two are unknown where they do not meet.
  if (!known || !newest || next === null || newest.id < next) return page;
  const older = known.rows.filter(({ id }) => id < next);
  const isDeeper = known.next === null || known.next < next;
  return { rows: [...page.rows, ...older], next: isDeeper ? known.next : next };
}

function joinRows<Row extends Identified>(known: readonly Row[], more: readonly Row[]): Row[] {
  const all = new Map([...known, ...more].map((row) => [row.id, row]));
  return [...all.values()].sort((one, other) => (one.id < other.id ? 1 : -1));
}

/** Scrolled by this much, a reader is no longer at the newest rows. */
const AT_TOP_PX = 24;

/** Tells if the rows are scrolled, with the page or in a part of it: they must not move then. */
export function useScrolled(): boolean {
  const isScrolled = useSignal(false);
  useEffect(() => {
    const look = ({ target }: Event) => {
      const scroller = target === document ? document.scrollingElement! : (target as Element);
      if (scroller.querySelector("[data-row]")) isScrolled.value = scroller.scrollTop > AT_TOP_PX;
    };
    const options = { capture: true, passive: true };
    document.addEventListener("scroll", look, options);
    return () => document.removeEventListener("scroll", look, options);
  }, []);
  return isScrolled.value;
}

export interface HeldRows<Row> {
  /** Rows to show; null before the first read. */
  rows: readonly Row[] | null;
  /** Number of rows that wait until the reader lets them in. */
  waiting: number;
  letIn(): void;
}

/**
 * While `isHeld`, rows change in place and older ones come at the end, but none comes or goes above
 * them. Rows of another `path` are shown at once.
 */
export function useHeldRows<Row extends Identified>(
  path: string,
  rows: readonly Row[] | null,
  isHeld: boolean,
): HeldRows<Row> {
  const held = useSignal<{ path: string; rows: readonly Row[] } | null>(null);
  const hold = () => {
    held.value = isHeld && rows ? { path, rows } : null;
  };
  useEffect(hold, [isHeld, path]);
  const kept = isHeld && held.value?.path === path ? held.value.rows : null;
  return useMemo(
    () => ({ ...(kept && rows ? keepPlaces(kept, rows) : { rows, waiting: 0 }), letIn: hold }),
    [kept, rows],
  );
}

function keepPlaces<Row extends Identified>(kept: readonly Row[], rows: readonly Row[]) {
  const now = new Map(rows.map((row) => [row.id, row]));
  const ids = new Set(kept.map(({ id }) => id));
  const end = rows.findIndex(({ id }) => id === kept.at(-1)?.id);
  const older = end < 0 ? [] : rows.slice(end + 1).filter(({ id }) => !ids.has(id));
  const waiting = rows.filter(({ id }) => !ids.has(id)).length - older.length;
  return { rows: [...kept.map((row) => now.get(row.id) ?? row), ...older], waiting };
}
