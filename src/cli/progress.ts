// A progress bar on stderr, for people only.
import { createSystemClock } from "../platform/clock.ts";
import { isTerminal, STDERR, writeText } from "../platform/process.ts";

const WIDTH = 30;
const DRAW_EVERY_MS = 100;
const CLEAR_LINE = "\r\u001b[K";

export interface ProgressBar {
  show(done: number, total: number): void;
  /** Removes the bar, so that a message can follow. */
  end(): void;
}

export function createProgressBar(what: string): ProgressBar {
  if (!isTerminal(STDERR)) return { show() {}, end() {} };
  const clock = createSystemClock();
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    show(done, total) {
      if (clock.monotonic() - drawnAt < DRAW_EVERY_MS) return;
      drawnAt = clock.monotonic();
      writeText(STDERR, `${CLEAR_LINE}${drawBar(what, done, total)}`);
    },
    end: () => writeText(STDERR, CLEAR_LINE),
  };
}

export function drawBar(what: string, done: number, total: number): string {
  const part = total === 0 ? 1 : Math.min(done / total, 1);
  const full = Math.floor(part * WIDTH);
  const bar = "#".repeat(full) + "-".repeat(WIDTH - full);
  return `${what} [${bar}] ${Math.floor(part * 100)} %, ${done} of ${total} rows`;
}
