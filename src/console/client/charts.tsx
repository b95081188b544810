// Charts in per cent, so that nothing is measured in script; a table beside them has the same sums.
import { t } from "./texts.ts";

export interface HourBar {
  /** Begin of the hour in milliseconds since 1970. */
  at: number;
  value: number;
  /** Part of the value that failed; it stands at the foot. */
  failed?: number;
}

const HOURS_HEIGHT = 66;
const HOURS_TOP = 4;
const BAR_SHARE = 0.62;

interface HourBarsProps {
  label: string;
  bars: readonly HourBar[];
  writeTime(at: number): string;
}

/** A bar for each hour; the running one is the last, and half opaque. */
export function HourBars({ label, bars, writeTime }: HourBarsProps) {
  const most = Math.max(...bars.map(({ value }) => value), 1e-9);
  const step = 100 / bars.length;
  const width = `${step * BAR_SHARE}%`;
  const scale = (value: number) => (value / most) * (HOURS_HEIGHT - HOURS_TOP);
  const middle = bars[Math.floor(bars.length / 2)];
  return (
    <svg class="hours" role="img" aria-label={label}>
      <line class="gl" x1="0" x2="100%" y1={HOURS_HEIGHT} y2={HOURS_HEIGHT} />
      {bars.map(({ at, value, failed = 0 }, index) => {
        const x = `${step * (index + (1 - BAR_SHARE) / 2)}%`;
        const full = scale(value);
        const bad = Math.min(scale(failed), full);
        const opacity = index === bars.length - 1 ? 0.5 : 1;
        const foot = HOURS_HEIGHT - bad;
        return (
          <g key={at} opacity={opacity}>
            <title>{writeTime(at)}</title>
            <rect class="bar" x={x} width={width} y={HOURS_HEIGHT - full} height={full - bad} />
            {bad > 0 && <rect class="bar bad" x={x} width={width} y={foot} height={bad} />}
          </g>
        );
      })}
      {bars[0] && (
        <text class="ax" x="0" y="80">
          {writeTime(bars[0].at)}
        </text>
      )}
      {middle && (
        <text class="ax" x="50%" y="80" text-anchor="middle">
          {writeTime(middle.at)}
        </text>
      )}
      <text class="ax" x="100%" y="80" text-anchor="end">
        {t("chart.now")}
      </text>
    </svg>
  );
}

const SPARK = { width: 72, height: 18, margin: 1.5 };

/** One stroke without an axis; the figures beside it say the same. */
export function Sparkline({ values }: { values: readonly number[] }) {
  const { width, height, margin } = SPARK;
  const most = Math.max(...values, 0);
  const points = values.length > 1 ? values : [0, 0];
  const path = points
    .map((value, at) => {
      const x = (at * width) / (points.length - 1);
      const y = height - margin - (most === 0 ? 0 : (value / most) * (height - 2 * margin));
      return `${at === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
  return (
    <svg class="spark" width={width} height={height} aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

export interface StackedTime {
  id: string;
  says: string;
  /** Below the axis; null: none. */
  label: string | null;
  /** Values from the foot up, in the order of the series. */
  parts: readonly number[];
  /** The day or hour under way is lighter. */
  isUnderWay: boolean;
  /** Something is not in the values: a hatched cap, not to scale. */
  hasCap: boolean;
}

interface StackedBarsProps {
  label: string;
  times: readonly StackedTime[];
  chosen: string | null;
  /** Stands at the highest line only. */
  unit: string;
  write(value: number): string;
  onChoose(id: string | null): void;
}

const STACK = { foot: 220, top: 24, gap: 1, cap: 6, share: 0.66 };

/** Up to three lines above zero at round values. */
function listGrid(most: number): number[] {
  if (most <= 0) return [];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough)!;
  return [1, 2, 3].map((times) => times * step).filter((value) => value <= most);
}

const sumOf = (parts: readonly number[]): number => parts.reduce((sum, part) => sum + part, 0);

/** Bars of parts, the largest series at the foot. One is reached by Tab, the others by arrows. */
export function StackedBars({ label, times, chosen, unit, ...given }: StackedBarsProps) {
  const { write, onChoose } = given;
  const most = Math.max(...times.map(({ parts }) => sumOf(parts)), 0);
  const scale = (value: number) => (most === 0 ? 0 : (value / most) * (STACK.foot - STACK.top));
  // The numbers of the axis stand at its end, beside the bars.
  const step = 93 / Math.max(times.length, 1);
  const move = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const bars = [...(event.currentTarget as Element).querySelectorAll<SVGElement>("[tabindex]")];
    const next = by && bars[bars.indexOf(event.target as SVGElement) + by];
    if (next) next.focus();
  };
  const grid = listGrid(most);
  const reached = chosen ?? times[0]?.id;
  return (
    <svg
      class="stacks"
      role="group"
      aria-label={label}
      onKeyDown={move}
      onMouseLeave={() => onChoose(null)}
    >
      <defs>
        <pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse">
          <path d="M-1 5 5-1M3 5l2-2M-1 1l2-2" />
        </pattern>
      </defs>
      <line class="gl" x1="0" x2="100%" y1={STACK.foot} y2={STACK.foot} />
      {grid.map((value, line) => (
        <g key={value}>
          <line
            class="gl"
            x1="0"
            x2="100%"
            y1={STACK.foot - scale(value)}
            y2={STACK.foot - scale(value)}
          />
          <text class="ax" x="100%" text-anchor="end" y={STACK.foot - scale(value) - 4}>
            {`${write(value)} ${line === grid.length - 1 ? unit : ""}`.trim()}
          </text>
        </g>
      ))}
      {times.map((time, at) => (
        <g
          key={time.id}
          role="button"
          tabIndex={time.id === reached ? 0 : -1}
          aria-label={t("chart.bar", time.says, `${write(sumOf(time.parts))} ${unit}`.trim())}
          class={time.id === chosen ? "on" : ""}
          onFocus={() => onChoose(time.id)}
          onBlur={() => onChoose(null)}
          onClick={() => onChoose(time.id)}
          onMouseEnter={() => onChoose(time.id)}
        >
          <rect class="hit" x={`${step * at}%`} width={`${step}%`} y="0" height={STACK.foot} />
          <Stack {...time} {...{ scale }} x={step * (at + (1 - STACK.share) / 2)} step={step} />
          {time.label !== null && (
            <text class="ax" x={`${step * (at + (1 - STACK.share) / 2)}%`} y="238">
              {time.label}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

type StackProps = StackedTime & { x: number; step: number; scale(value: number): number };

function Stack({ parts, isUnderWay, hasCap, x, step, scale }: StackProps) {
  const bar = { x: `${x}%`, width: `${step * STACK.share}%` };
  let top = STACK.foot;
  const rects = parts.map((part, at) => {
    const height = scale(part);
    top -= height;
    const fill = `var(--s${at + 1})`;
    return { fill, y: top, height: Math.max(height - STACK.gap, Math.min(height, 0.5)) };
  });
  return (
    <g opacity={isUnderWay ? 0.6 : 1}>
      {rects.map((rect) => rect.height > 0 && <rect key={rect.fill} {...bar} {...rect} />)}
      {hasCap && <rect class="cap" {...bar} y={top - STACK.cap - 2} height={STACK.cap} />}
    </g>
  );
}
