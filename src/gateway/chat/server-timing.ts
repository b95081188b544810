// The header in which a JSON reply tells where its time went.

/** `wait;dur=0.0, upstream;dur=812.4, total;dur=813.1`: what is left of the total is our own. */
export function writeServerTiming(total_ms: number, answer_ms: number, waited_ms = 0): string {
  const upstream_ms = Math.max(0, answer_ms - waited_ms);
  const write = (time_ms: number) => time_ms.toFixed(1);
  return (
    `wait;dur=${write(waited_ms)}, upstream;dur=${write(upstream_ms)}, ` +
    `total;dur=${write(total_ms)}`
  );
}
