// Prints results as text or as one JSON document, and messages on stderr. Foreign text is quoted,
// so that it cannot control the terminal.
import { drawTerminalTable, type Terminal } from "./terminal.ts";

export interface Output {
  /** The terminal that the result is printed on; null for a pipe, a file and JSON. */
  readonly terminal: Terminal | null;
  say(line: string): void;
  /** Prints the result: `value` as one line of JSON, or `text` for people. */
  print(value: unknown, text: string): void;
}

export type OutputRow = Readonly<Record<string, unknown>>;

export function createOutput(
  isJson: boolean,
  write: (text: string) => void,
  writeError: (text: string) => void,
  terminal: Terminal | null = null,
): Output {
  return {
    terminal: isJson ? null : terminal,
    say: (line) => writeError(`${line}\n`),
    // JSON may hold foreign text and end up on a terminal, too.
    print: (value, text) => write(isJson ? `${quoteWhole(value)}\n` : text),
  };
}

/** Prints rows in columns; `lines` are the rows as people see them. */
export function printTable(
  output: Output,
  rows: readonly OutputRow[],
  columns: readonly string[],
  lines: readonly OutputRow[] = rows,
): number {
  output.print(rows, layOutTable(output, lines, columns));
  return 0;
}

/** Draws a table that fits the terminal, or a whole one where there is none. */
export function layOutTable(
  { terminal }: Pick<Output, "terminal">,
  lines: readonly OutputRow[],
  columns: readonly string[],
): string {
  return terminal ? drawTerminalTable(terminal, lines, columns) : drawTable(lines, columns);
}

export function printRow(output: Output, row: OutputRow, line: OutputRow = row): number {
  output.print(row, drawRow(line));
  return 0;
}

/** Prints what is shown only once; an error says how to rescue it. */
export function printOnce(output: Output, value: unknown, text: string, rescue: string): void {
  try {
    output.print(value, text);
  } catch (error) {
    (error as Error).message += `; ${rescue}`;
    throw error;
  }
}

export function drawTable(rows: readonly OutputRow[], columns: readonly string[]): string {
  const lines = [columns.map((column) => column.toUpperCase())];
  for (const row of rows) lines.push(columns.map((column) => writeCell(row[column])));
  return drawLines(lines);
}

export function drawLines(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, i) => findWidth(lines, i));
  return lines
    .map((line) => line.map((cell, i) => cell.padEnd(widths[i]!)).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** A call with a million arguments would overflow the stack. */
function findWidth(lines: readonly (readonly string[])[], column: number): number {
  return lines.reduce((width, line) => Math.max(width, line[column]!.length), 0);
}

export function drawRow(row: OutputRow): string {
  const fields = Object.entries(row);
  return fields.map(([name, value]) => `${name}: ${writeCell(value)}\n`).join("");
}

/** Escapes what could control the terminal or look like another row. */
function writeCell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : escapeHidden(value.join(","));
  return escapeHidden(String(value));
}

const TEXT_CHARACTERS = 100;

/** Pattern of control, bidirectional and invisible characters, which could disguise a text. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

export function quote(text: unknown): string {
  const whole = String(text);
  const quoted = escapeHidden(JSON.stringify(whole.slice(0, TEXT_CHARACTERS).toWellFormed()));
  return whole.length > TEXT_CHARACTERS ? `${quoted}…` : quoted;
}

export function quoteWhole(value: unknown): string {
  return escapeHidden(JSON.stringify(value));
}

/** Draws indented JSON that parses to the same value. */
export function drawJson(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split("\n");
  return `${lines.map(escapeHidden).join("\n")}\n`;
}

/** Escapes control and invisible characters of a text that is not quoted. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN, (mark) =>
    Array.from({ length: mark.length }, (_, i) => mark.charCodeAt(i))
      .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Pattern of characters that control a terminal or the direction of its text. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (mark) =>
    mark === "\n" || mark === "\t"
      ? mark
      : `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
