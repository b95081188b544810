// Rows as lines of JSON: their values by the columns of a table, and what a table refuses.
import { DatabaseUnusable } from "../errors.ts";
import { stateOf } from "../postgres-failures.ts";
import { codeOf } from "../sqlite.ts";
import type { TransferTable } from "./tables.ts";

export type Cell = string | number | bigint | null;

const MISFIT = "has values that its columns do not take";
/** Codes of both engines. */
const FAULTS: readonly [RegExp, string][] = [
  [/^(23505|SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY|ROWID))/, "repeats what only one row may have"],
  [/^(23503|SQLITE_CONSTRAINT_FOREIGNKEY)/, "belongs to a row that is missing"],
  [/^(2[23]|54|SQLITE_(CONSTRAINT|MISMATCH|TOOBIG))/, MISFIT],
];

/** A table does not take a row; the others of its batch may be in order. */
export class RowRefused extends DatabaseUnusable {
  override name = "RowRefused";
  /** Place of the row in its batch. */
  readonly index: number;
  /** Rest of a sentence about the row; it quotes no value. */
  readonly fault: string;

  constructor({ name }: TransferTable, index: number, fault: string) {
    super(`a row of the table ${name} ${fault}`);
    this.index = index;
    this.fault = fault;
  }
}

/** Reads a row of a batch; what one engine would refuse and the other convert is refused. */
export function readCells(table: TransferTable, row: string, index: number): Cell[] {
  const { columns, texts } = table;
  try {
    const cells = parseRow(row);
    const fits = (cell: Cell, at: number) =>
      cell === null || (texts.has(columns[at]!) ? isText(cell) : isInteger(cell));
    if (cells.length === columns.length && cells.every(fits)) return cells;
  } catch {
    // A line that is no JSON is no row either.
  }
  throw new RowRefused(table, index, MISFIT);
}

/** Explains why a row was refused; failures of another kind stay as they are. */
export function explainRow(table: TransferTable, index: number, failure: unknown): unknown {
  const code = codeOf(failure) || stateOf(failure);
  const fault = FAULTS.find(([codes]) => codes.test(code))?.[1];
  return fault === undefined ? failure : new RowRefused(table, index, fault);
}

/** Parses a row; an integer beyond 2^53 is read again as it is written. */
export function parseRow(row: string): Cell[] {
  const cells = JSON.parse(row) as Cell[];
  if (cells.every((cell) => typeof cell !== "number" || Number.isSafeInteger(cell))) return cells;
  const exact = (_: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number" && !Number.isSafeInteger(value) ? BigInt(source) : value;
  return JSON.parse(row, exact as never) as Cell[];
}

/** PostgreSQL refuses NUL, and half a surrogate pair would be replaced. */
function isText(cell: Cell): boolean {
  return typeof cell === "string" && !cell.includes("\0") && cell.isWellFormed();
}

function isInteger(cell: Cell): boolean {
  if (typeof cell === "bigint") return BigInt.asIntN(64, cell) === cell;
  return Number.isSafeInteger(cell);
}
