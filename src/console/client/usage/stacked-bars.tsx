// Bars of days or hours, stacked by series; the table below them has the same sums.
import { t } from "../texts.ts";

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
