// Rows never move under the pointer: new ones wait for a reader who scrolled, selected or paused.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { isPaused } from "./live.ts";
import { t } from "./texts.ts";

/** More than the button of new rows scrolls by itself. */
const SCROLLED_PX = 40;

interface ShownRows<Row> {
  /** Rows to show. */
  rows: readonly Row[];
  /** New rows that wait. */
  count: number;
  /** Shows all, from the top. */
  show(): void;
  /** For the table. */
  list: RefObject<HTMLTableElement | null>;
}

interface ShownRowsOptions {
  /** Names what is listed, such as its path: rows of another list are shown at once. */
  of: string;
  isSelected?: boolean;
}

/** Keeps the place of shown rows, with their newest content. */
export function useNewRows<Row extends { id: string }>(
  latest: readonly Row[],
  { of, isSelected = false }: ShownRowsOptions,
): ShownRows<Row> {
  const list = useRef<HTMLTableElement>(null);
  const scroller = useRef<Element | null>(null);
  const isScrolled = useSignal(false);
  // Rows of before are no state: they follow from what was shown.
  const shown = useRef<{ of: string; rows: readonly Row[] }>({ of, rows: [] });
  const asked = useSignal(0);
  const isHeld = isScrolled.value || isSelected || isPaused.value;
  asked.value;
  const before = shown.current.of === of ? shown.current.rows : [];
  const held = isHeld && before.length > 0 ? hold(before, latest) : null;
  shown.current = { of, rows: held?.rows ?? latest };

  const show = () => {
    shown.current = { of, rows: [] };
    if (scroller.current) scroller.current.scrollTop = 0;
    isScrolled.value = false;
    asked.value += 1;
  };
  useEffect(() => {
    const look = ({ target }: Event) => {
      const moved = target === document ? document.scrollingElement : (target as Element);
      if (!moved?.contains(list.current)) return;
      scroller.current = moved;
      isScrolled.value = moved.scrollTop > SCROLLED_PX;
    };
    document.addEventListener("scroll", look, { capture: true });
    return () => document.removeEventListener("scroll", look, { capture: true });
  }, []);
  const wasPaused = useRef(false);
  useSignalEffect(() => {
    if (wasPaused.current && !isPaused.value) show();
    wasPaused.current = isPaused.value;
  });
  return { rows: shown.current.rows, count: held?.count ?? 0, show, list };
}

/** Rows behind the last shown one are no news: the reader has asked for older ones. */
function hold<Row extends { id: string }>(before: readonly Row[], latest: readonly Row[]) {
  const byId = new Map(latest.map((row) => [row.id, row]));
  const known = new Set(before.map(({ id }) => id));
  const end = latest.findLastIndex(({ id }) => known.has(id)) + 1;
  const older = end > 0 ? latest.slice(end) : [];
  const kept = before.map((row) => byId.get(row.id) ?? row);
  const isNew = (row: Row) => !known.has(row.id);
  return { rows: [...kept, ...older], count: latest.filter(isNew).length - older.length };
}

/** "14 new rows" between the head and the body of a table. */
export function NewRows({ count, columns, onShow }: NewRowsProps) {
  const row = useRef<HTMLTableRowElement>(null);
  const isShown = count > 0;
  // The rows below keep their place; most browsers see to it once the table is scrolled.
  useLayoutEffect(() => {
    if (!isShown) return;
    const scroller = findScroller(row.current);
    const isAnchored = CSS.supports("overflow-anchor", "auto") && scroller.scrollTop > 0;
    if (!isAnchored) scroller.scrollTop += row.current!.offsetHeight;
  }, [isShown]);
  if (!isShown) return null;
  return (
    <tbody>
      <tr class="more" ref={row}>
        <td colSpan={columns}>
          <button class="new" type="button" onClick={onShow}>
            {t("rows.new", count)}
          </button>
        </td>
      </tr>
    </tbody>
  );
}

interface NewRowsProps {
  count: number;
  columns: number;
  onShow(): void;
}

function findScroller(from: Element | null): Element {
  for (let one = from?.parentElement; one; one = one.parentElement) {
    if (one.scrollHeight > one.clientHeight && /auto|scroll/.test(getComputedStyle(one).overflowY))
      return one;
  }
  return document.scrollingElement!;
}
