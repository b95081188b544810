// What a command prints: text for people or one JSON document, and messages beside it on stderr.
import { quoteWhole } from "./quotation.ts";

export interface Output {
  /** For people, beside the result. */
  say(line: string): void;
  /** The result: `value` as JSON on one line, or `text` for people. */
  print(value: unknown, text: string): void;
}

export type OutputRow = Readonly<Record<string, unknown>>;

export function createOutput(
  isJson: boolean,
  write: (text: string) => void,
  writeError: (text: string) => void,
): Output {
  return {
    say: (line) => writeError(`${line}\n`),
    // A stranger's text is in it, and it may well be read on a terminal.
    print: (value, text) => write(isJson ? `${quoteWhole(value)}\n` : text),
  };
}

/**
 * Prints what is shown only now. Where that fails it is lost, and the system's error goes on to say
 * what is to be done.
 */
export function printOnce(output: Output, value: unknown, text: string, rescue: string): void {
  try {
    output.print(value, text);
  } catch (failure) {
    (failure as Error).message += `; ${rescue}`;
    throw failure;
  }
}

/** Several things, a line each, in the columns named. */
export function drawTable(rows: readonly OutputRow[], columns: readonly string[]): string {
  const lines = [columns.map((column) => column.toUpperCase())];
  for (const row of rows) lines.push(columns.map((column) => writeCell(row[column])));
  return drawLines(lines);
}

/** Lines of as many cells each, in columns. */
export function drawLines(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines
    .map((line) => line.map((cell, i) => cell.padEnd(widths[i]!)).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** One thing, a line for each field. */
export function drawRow(row: OutputRow): string {
  const fields = Object.entries(row);
  return fields.map(([name, value]) => `${name}: ${writeCell(value)}\n`).join("");
}

function writeCell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.join(",");
  return String(value);
}
