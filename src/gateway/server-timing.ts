// The header in which a JSON reply tells where its time went.

/** `wait;dur=0, upstream;dur=812.4, total;dur=813.1`: what is left of the total is our own. */
export function writeServerTiming(total_ms: number, answerMs: number, waited_ms = 0): string {
  const upstream = round(Math.max(0, answerMs - waited_ms));
  return `wait;dur=${round(waited_ms)}, upstream;dur=${upstream}, total;dur=${round(total_ms)}`;
}

/** To a tenth, at a third of the price of toFixed. */
function round(time_ms: number): number {
  return Math.round(time_ms * 10) / 10;
}
