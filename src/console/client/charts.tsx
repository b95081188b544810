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
