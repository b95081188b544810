// The time axis of a waterfall, on which long waits are folded.
import type { WorkPiece } from "./pieces.ts";

export interface Fold {
  /** Begin and width in per cent. */
  x: number;
  width: number;
  ms: number;
}

export interface Tick {
  x: number;
  /** Time without the folded waits. */
  ms: number;
}

export interface Axis {
  folds: Fold[];
  ticks: Tick[];
  /** Place of a time in per cent. */
  place(time: number): number;
}

const FOLD_WIDTH = 8;
/** Width of all folds together at most. */
const FOLDS_WIDTH_MAX = 48;
const FOLDED_MS_MIN = 10_000;
const TICKS_MAX = 6;
const UNITS = [1, 1_000, 60_000, 3_600_000, 86_400_000];
const STEPS = [1, 2, 4, 5, 10, 15, 20, 30, 40, 50, 100, 200, 250, 500];

interface TimeSpan {
  from: number;
  to: number;
}

export function createAxis(pieces: readonly WorkPiece[]): Axis {
  const bars = pieces.flatMap((piece) => piece.bars.map((bar) => ({ ...bar, piece })));
  const begin = Math.min(...bars.map(({ from }) => from));
  const end = Math.max(begin + 1, ...bars.map(({ to }) => to));
  const isWork = ({ kind, piece }: (typeof bars)[number]) =>
    kind !== "wait" && kind !== "pause" && piece.kind !== "queue";
  const work = unite(bars.filter(isWork));
  const workedMs = sum(work);
  const gaps = listGaps(work, begin, end).filter(({ from, to }) => {
    return workedMs > 0 && to - from > FOLDED_MS_MIN && to - from > workedMs / 3;
  });
  const width = Math.min(FOLD_WIDTH, FOLDS_WIDTH_MAX / Math.max(1, gaps.length));
  const openMs = Math.max(1, end - begin - sum(gaps));
  const perMs = (100 - width * gaps.length) / openMs;
  const place = (time: number): number => {
    let x = 0;
    let from = begin;
    for (const gap of gaps) {
      if (time < gap.from) break;
      x += (gap.from - from) * perMs;
      if (time < gap.to) return x + (width * (time - gap.from)) / (gap.to - gap.from);
      x += width;
      from = gap.to;
    }
    return Math.min(100, Math.max(0, x + (time - from) * perMs));
  };
  const folds = gaps.map(({ from, to }) => ({ x: place(from), width, ms: to - from }));
  return { place, folds, ticks: listTicks(openMs, { begin, gaps, place }) };
}

interface OpenTime {
  begin: number;
  gaps: readonly TimeSpan[];
  place(time: number): number;
}

function listTicks(openMs: number, { begin, gaps, place }: OpenTime): Tick[] {
  const step = chooseStep(openMs);
  const ticks: Tick[] = [];
  for (let ms = 0; ms < openMs; ms += step) {
    let time = begin + ms;
    for (const gap of gaps) if (gap.from <= time) time += gap.to - gap.from;
    ticks.push({ x: place(time), ms });
  }
  return ticks;
}

/** The smallest round step that makes few ticks. */
function chooseStep(openMs: number): number {
  for (const [at, unit] of UNITS.entries()) {
    const next = UNITS[at + 1] ?? Number.POSITIVE_INFINITY;
    for (const one of STEPS) {
      const step = one * unit;
      if (step < next && openMs / step <= TICKS_MAX) return step;
    }
  }
  return openMs;
}

function unite(spans: readonly TimeSpan[]): TimeSpan[] {
  const united: TimeSpan[] = [];
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    const last = united.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else united.push({ from, to });
  }
  return united;
}

function listGaps(work: readonly TimeSpan[], begin: number, end: number): TimeSpan[] {
  const edges = [begin, ...work.flatMap(({ from, to }) => [from, to]), end];
  const gaps: TimeSpan[] = [];
  for (let at = 0; at < edges.length; at += 2) {
    gaps.push({ from: edges[at]!, to: edges[at + 1]! });
  }
  return gaps.filter(({ from, to }) => to > from);
}

function sum(spans: readonly TimeSpan[]): number {
  return spans.reduce((all, { from, to }) => all + to - from, 0);
}

const UNIT_NAMES = [
  [3_600_000, "h"],
  [60_000, "min"],
] as const;

/** Writes a round time by the largest unit that divides it, such as `75 s`. */
export function writeTick(ms: number): string {
  if (ms === 0) return "0";
  if (ms < 1_000) return `${ms} ms`;
  const [unit, name] = UNIT_NAMES.find(([one]) => ms % one === 0) ?? [1_000, "s"];
  return `${Number((ms / unit).toFixed(2))} ${name}`;
}
