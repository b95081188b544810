// Tables for a terminal: as wide as it, with short ids, relative times and coloured states.
import { createSystemClock } from "../platform/clock.ts";
import { isTerminal, STDOUT } from "../platform/process.ts";

export interface Terminal {
  columns: number;
  hasColour: boolean;
  /** Milliseconds since 1970; base of relative times. */
  now: number;
}

const COLUMNS = 80;

/** Finds the terminal; a file or a pipe, null here, gets everything in full. */
export function findTerminal(): Terminal | null {
  if (!isTerminal(STDOUT)) return null;
  const { NO_COLOR, TERM } = process.env;
  return {
    columns: process.stdout.columns || Number(process.env.COLUMNS) || COLUMNS,
    hasColour: !NO_COLOR && TERM !== "dumb",
    now: createSystemClock().now(),
  };
}

const DIM = 2;
const RED = 31;
const GREEN = 32;
const YELLOW = 33;

const STATE_COLOURS: Readonly<Record<number, readonly string[]>> = {
  [GREEN]: [
    ...["on", "up", "ok", "active", "enabled", "succeeded", "approved", "delivered"],
    ...["done", "started"],
  ],
  [YELLOW]: [
    ...["queued", "running", "waiting_approval", "pending", "paused", "begun", "starting"],
    ...["warn", "held", "skipped", "limited", "missed", "archived"],
  ],
  [RED]: [
    ...["off", "down", "blocked", "disabled", "failed", "fail", "budget_exceeded", "cancelled"],
    ...["rejected", "expired", "closed", "refused"],
  ],
};
const COLOUR_OF = new Map(
  Object.entries(STATE_COLOURS).flatMap(([colour, words]) =>
    words.map((word) => [word, Number(colour)] as const),
  ),
);
const STATE_COLUMNS = ["status", "state", "outcome"];

/** Colours a text by the state that it names; spaces around the word do not matter. */
export function paintState(terminal: Terminal | null, text: string): string {
  const colour = COLOUR_OF.get(text.trim());
  return colour === undefined ? text : paint(terminal, text, colour);
}

function paint(terminal: Terminal | null, text: string, colour: number): string {
  return terminal?.hasColour ? `\u001b[${colour}m${text}\u001b[0m` : text;
}

interface TableColumn {
  name: string;
  cells: string[];
  width: number;
}

const GAP = 2;
/** Minimum width of a shortened cell: a short id stays whole. */
const CELL_MIN = 8;

export function drawTerminalTable(
  terminal: Terminal,
  rows: readonly Readonly<Record<string, unknown>>[],
  names: readonly string[],
): string {
  if (rows.length === 0) return `${paint(terminal, "none", DIM)}\n`;
  const columns = names
    .map((name): TableColumn => {
      const cells = rows.map((row) => writeCell(row[name], terminal.now));
      const width = Math.max(name.length, ...cells.map((cell) => Bun.stringWidth(cell)));
      return { name, cells, width };
    })
    .filter(({ cells }) => cells.some((cell) => cell !== EMPTY));
  const shown = fit(columns, terminal.columns);
  const head = shown.map(({ name, width }) => pad(name.toUpperCase(), width));
  const lines = rows.map((_, at) =>
    shown.map(({ name, cells, width }) => {
      const cell = pad(cells[at]!, width);
      return STATE_COLUMNS.includes(name) ? paintState(terminal, cell) : cell;
    }),
  );
  const text = [paint(terminal, join(head), DIM), ...lines.map(join)].join("\n");
  const left = columns.length - shown.length;
  if (left === 0) return `${text}\n`;
  const more = left === 1 ? "1 more column" : `${left} more columns`;
  return `${text}\n${paint(terminal, `${more}: --json`, DIM)}\n`;
}

const join = (cells: readonly string[]) => cells.join(" ".repeat(GAP)).trimEnd();

/** Narrows the widest columns, then leaves out the last ones. */
function fit(columns: readonly TableColumn[], width: number): TableColumn[] {
  const shown = columns.map((column) => ({ ...column }));
  const measure = () => shown.reduce((sum, column) => sum + column.width + GAP, -GAP);
  while (measure() > width) {
    const widest = shown.reduce((one, other) => (other.width > one.width ? other : one));
    if (widest.width > CELL_MIN) widest.width -= 1;
    else if (shown.length > 1) {
      shown.pop();
      // The others may have their own widths again.
      for (const column of shown) column.width = columns.find(named(column.name))!.width;
    } else break;
  }
  return shown;
}

const named = (name: string) => (column: TableColumn) => column.name === name;

function pad(text: string, width: number): string {
  const short = cut(text, width);
  return short + " ".repeat(Math.max(0, width - Bun.stringWidth(short)));
}

function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let short = "";
  for (const character of text) {
    if (Bun.stringWidth(short + character) >= width) break;
    short += character;
  }
  return `${short}…`;
}

const EMPTY = "-";
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ID_CHARACTERS = 8;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function writeCell(value: unknown, now: number): string {
  if (value === null || value === undefined || value === "") return EMPTY;
  if (Array.isArray(value)) return value.map((one) => writeCell(one, now)).join(",") || EMPTY;
  const text = String(value);
  // Ids begin with their time: only their ends differ.
  if (ID.test(text)) return text.slice(-ID_CHARACTERS);
  return TIME.test(text) ? writeRelative(Date.parse(text), now) : text;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;
/** Distance from which a date says more than a number of days. */
const FAR_MS = 100 * 86_400_000;

/** Writes "3h ago", "in 5m", "now" or a date. */
export function writeRelative(at: number, now: number): string {
  const distance = Math.abs(at - now);
  if (distance >= FAR_MS) return new Date(at).toISOString().slice(0, 10);
  const unit = UNITS.find(([, ms]) => distance >= ms);
  if (!unit) return "now";
  const count = `${Math.floor(distance / unit[1])}${unit[0]}`;
  return at > now ? `in ${count}` : `${count} ago`;
}
