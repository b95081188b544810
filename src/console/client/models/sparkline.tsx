// A line of values, in per cent of the largest.
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
