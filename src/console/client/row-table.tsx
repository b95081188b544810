// Rows of a list as a table: each column says its head, its place and its cell once.
import type { ComponentChildren } from "preact";
import { type TextId, t } from "./texts.ts";
import { WindowRows } from "./window.tsx";

export interface RowColumn<Row> {
  head: TextId;
  /** Classes of head and cell; of `a1 a2 b1 b2` the cell only, for phones. */
  place: string;
  cell(row: Row): ComponentChildren;
}

interface RowTableProps<Row> {
  columns: readonly RowColumn<Row>[];
  rows: readonly Row[];
  /** Id of the row that is opened at the side, or chosen by keys. */
  selected?: string | null | undefined;
  chosen?: string | null;
  onOpen?(row: Row): void;
}

export function RowTable<Row extends { id: string }>(props: RowTableProps<Row>) {
  const { columns, rows, selected, chosen, onOpen } = props;
  return (
    <table class={onOpen ? "t full stack" : "t full stack plain"}>
      <thead>
        <tr>
          {columns.map(({ head, place }) => (
            <th class={place} key={head}>
              {t(head as "loading")}
            </th>
          ))}
        </tr>
      </thead>
      <WindowRows rows={rows} columns={columns.length}>
        {(row) => (
          <tr
            key={row.id}
            data-row={row.id}
            aria-selected={onOpen && row.id === (selected ?? chosen)}
            class={onOpen && `opens ${row.id === chosen ? "on" : ""}`}
            onClick={onOpen && (() => onOpen(row))}
          >
            {columns.map(({ head, place, cell }) => (
              <td class={place} key={head}>
                {cell(row)}
              </td>
            ))}
          </tr>
        )}
      </WindowRows>
    </table>
  );
}

/** A value, or a dash in its place. */
export const orDash = (value: ComponentChildren) =>
  value === null || value === undefined || value === "" ? <span class="dim">–</span> : value;
