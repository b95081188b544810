// The live tail: the newest rows are read again when there are new ones; at most 1,000 are held.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiFailure, get } from "../api.ts";
import { useResource } from "../live.ts";
import type { RequestRow } from "./row.ts";

export interface RequestPage {
  rows: readonly RequestRow[];
  next: string | null;
}

const PAGE_ROWS = 200;
const HELD_MAX = 1_000;

interface HeldRows {
  /** Address of the search. */
  path: string;
  shown: readonly RequestRow[];
  /** Newer ones, which wait until the reader asks for them. */
  waiting: readonly RequestRow[];
  /** `before` of the next older page. */
  next: string | null;
}

export interface RequestTail {
  rows: readonly RequestRow[] | null;
  waiting: number;
  failure: ApiFailure | null;
  hasOlder: boolean;
  showWaiting(): void;
  showOlder(): Promise<void>;
}

/** Reads the tail of a search. While `isHeld`, new rows wait, so that nothing moves. */
export function useTail(search: string, isHeld: boolean): RequestTail {
  const path = `/requests?${search}${search && "&"}limit=${PAGE_ROWS}`;
  const resource = useResource<RequestPage>(path, ["requests"]);
  const held = useSignal<HeldRows | null>(null);
  const olderFailure = useSignal<ApiFailure | null>(null);
  const { data, failure } = resource.value;
  useEffect(() => {
    if (data) held.value = addPage(held.peek(), path, data, isHeld);
  }, [data]);
  useEffect(() => {
    if (!isHeld && held.peek()) held.value = release(held.peek()!);
  }, [isHeld]);
  const { value } = held;
  return {
    rows: value?.shown ?? null,
    waiting: value?.waiting.length ?? 0,
    failure: failure ?? olderFailure.value,
    hasOlder: value !== null && value.next !== null && value.shown.length < HELD_MAX,
    showWaiting() {
      if (held.peek()) held.value = release(held.peek()!);
    },
    async showOlder() {
      const before = held.peek()?.next;
      if (!before) return;
      try {
        const page = await get<RequestPage>(`${path}&before=${encodeURIComponent(before)}`);
        const now = held.peek();
        if (now?.path !== path || now.next !== before) return;
        held.value = { ...now, shown: [...now.shown, ...page.rows], next: page.next };
      } catch (problem) {
        if (!(problem instanceof ApiFailure)) throw problem;
        olderFailure.value = problem;
      }
    },
  };
}

function addPage(
  held: HeldRows | null,
  path: string,
  { rows, next }: RequestPage,
  isHeld: boolean,
): HeldRows {
  const fresh: HeldRows = { path, shown: rows, waiting: [], next };
  if (held?.path !== path) return fresh;
  const known = new Set([...held.waiting, ...held.shown].map(({ id }) => id));
  const added = rows.filter(({ id }) => !known.has(id));
  // Between a page without a known row and the rows before it, some may be missing.
  const isBroken = rows.length > 0 && added.length === rows.length && known.size > 0;
  if (isHeld) {
    const waiting = isBroken ? rows : [...added, ...held.waiting];
    return { ...held, waiting: waiting.slice(0, HELD_MAX) };
  }
  if (isBroken) return fresh;
  return release({ ...held, waiting: [...added, ...held.waiting] });
}

/** Shows what waits; the oldest rows beyond the maximum are dropped. */
function release(held: HeldRows): HeldRows {
  if (held.waiting.length === 0) return held;
  const all = [...held.waiting, ...held.shown];
  const shown = all.slice(0, HELD_MAX);
  const next = all.length > HELD_MAX ? shown.at(-1)!.id : held.next;
  return { ...held, shown, waiting: [], next };
}
