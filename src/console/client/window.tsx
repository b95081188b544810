// A window of a long table: the rows near the screen exist, and two spacers keep the height of the
// others. All rows have one height.
import { useSignal } from "@preact/signals";
import { cloneElement, type VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/** Shorter tables are drawn whole, so that the browser finds all of their text. */
const ROWS_MIN = 200;
/** Rows beyond each edge of the screen, which is also the step in which the window moves. */
const SPARE_ROWS = 20;
const ROW_PX = 34;

interface WindowRowsProps<Row> {
  rows: readonly Row[];
  columns: number;
  /** Draws one row, a `tr` with its id as `data-row`. */
  children(row: Row, at: number): VNode;
}

/** The body of a table. */
export function WindowRows<Row extends { id: string }>(props: WindowRowsProps<Row>) {
  const { rows, columns, children: draw } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const from = useSignal(0);
  const rowPx = useSignal(ROW_PX);
  const count = rows.length;
  const isWhole = count < ROWS_MIN;
  const visible = Math.ceil(innerHeight / rowPx.value) + 2 * SPARE_ROWS;
  const first = isWhole ? 0 : Math.max(0, Math.min(from.value, count - visible));
  const last = isWhole ? count : Math.min(count, first + visible);

  const place = () => {
    const { current } = body;
    const height = current?.querySelector<HTMLElement>("[data-row]")?.offsetHeight;
    if (!current || !height) return;
    rowPx.value = height;
    const above = -current.getBoundingClientRect().top / height;
    from.value = Math.max(0, Math.floor(above / SPARE_ROWS) - 1) * SPARE_ROWS;
  };
  useLayoutEffect(() => {
    if (!isWhole) place();
    body.current?.closest("table")?.setAttribute("aria-rowcount", String(count + 1));
  }, [count]);
  useEffect(() => {
    if (isWhole) return;
    // Keys choose a row that may not exist.
    const reveal = ({ detail: id }: CustomEvent<string>) => {
      const at = rows.findIndex((row) => row.id === id);
      from.value = Math.max(0, at - SPARE_ROWS);
      requestAnimationFrame(() => findRow(id)?.scrollIntoView({ block: "center" }));
    };
    const listen = (change: "addEventListener" | "removeEventListener") => {
      document[change]("scroll", place, { capture: true });
      window[change]("resize", place);
      document[change]("reveal", reveal as EventListener);
    };
    listen("addEventListener");
    return () => listen("removeEventListener");
  }, [isWhole, rows]);

  const space = (height: number) =>
    height > 0 && (
      <tr class="space" aria-hidden="true" style={{ "--h": `${height * rowPx.value}px` }}>
        <td colSpan={columns} />
      </tr>
    );
  return (
    <tbody ref={body}>
      {space(first)}
      {rows
        .slice(first, last)
        .map((row, i) => cloneElement(draw(row, first + i), { "aria-rowindex": first + i + 2 }))}
      {space(count - last)}
    </tbody>
  );
}

export const findRow = (id: string): Element | null =>
  document.querySelector(`[data-row="${CSS.escape(id)}"]`);
