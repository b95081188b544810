// The line of what tools compute for long, so that all of it together never holds the process up.
import { nextTurn } from "../../platform/clock.ts";

let line: Promise<void> = Promise.resolve();

/** Resolves when it is one's turn: a turn of the event loop has one of those who wait at most. */
export function createSerialQueue(): Promise<void> {
  line = line.then(nextTurn);
  return line;
}
