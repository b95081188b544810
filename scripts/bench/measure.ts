// Shared by all benches: processor time and memory of a process, medians with their spread, and
// tables.
import { readdirSync, readFileSync } from "node:fs";

/** The kernel counts processor time in ticks of a hundredth of a second on every Linux. */
const TICK_MS = 10;

/** Milliseconds that a process, all its threads together, has spent on a core so far. */
export const readCpuMs = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name in parentheses may contain spaces; user and system time are the 12th and 13th field
  // after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
};

/** Processor time of all processes of a program on this machine. */
export const readProgramMs = (program: string): number => {
  let sum = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const isOne = readFileSync(`/proc/${pid}/comm`, "latin1").startsWith(program);
      if (isOne) sum += readCpuMs(Number(pid));
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum;
};

const BUSY_OVER_MS = 1_000;

/** Share of the cores that other processes take, measured for a second: a busy machine disturbs. */
export const readBusyShare = async (): Promise<string> => {
  const read = () => {
    const [, ...ticks] = readFileSync("/proc/stat", "latin1")
      .split("\n")[0]!
      .split(/ +/)
      .map(Number);
    const idle = ticks[3]! + ticks[4]!;
    return { idle, sum: ticks.reduce((sum, one) => sum + one, 0) };
  };
  const before = read();
  await Bun.sleep(BUSY_OVER_MS);
  const after = read();
  const share = 1 - (after.idle - before.idle) / (after.sum - before.sum);
  return `${Math.round(share * 100)} %`;
};

/** Megabytes (10^6 bytes) of a process that lie in memory, its program text included. */
export const readRssMb = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
};

/** The value below which a share of the sorted values lies; NaN: there are none. */
export const takeQuantile = (sorted: ArrayLike<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** The rounds of one figure; values that are no number are left out. */
export const spreadOf = (values: readonly number[]): Spread => {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const middle = (takeQuantile(sorted, 0.5) + (sorted[Math.ceil(sorted.length / 2) - 1] ?? 0)) / 2;
  return { median: middle, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
};

/** A figure beside its goal of design/quality.md. */
export interface Figure {
  what: string;
  spread: Spread;
  unit: string;
  goal: string;
  isMet: boolean;
}

export interface Table {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

export interface Report {
  tables: Table[];
  figures: Figure[];
  /** Notes for the reader of a figure, one sentence each. */
  notes: string[];
  /** Everything that was measured, for the JSON. */
  data: unknown;
}

/** A number at a glance: three significant figures, or whole from a hundred on. */
const writeNumber = (value: number): string => {
  if (Number.isNaN(value)) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return Number(value.toPrecision(3)).toString();
};

/** A median, followed by its smallest and largest round. */
export const writeSpread = ({ median, min, max }: Spread): string =>
  Number.isNaN(min) ? "-" : `${writeNumber(median)} (${writeNumber(min)}–${writeNumber(max)})`;

export const drawTable = ({ title, columns, rows }: Table): string => {
  const lines = [columns, ...rows];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const drawn = lines.map((line) =>
    line
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join("  "),
  );
  return [title, ...drawn.map((line) => `  ${line}`)].join("\n");
};
