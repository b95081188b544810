// Repeats what the disk or the database server fails at, for work whose results must not be lost.
import { type Clock, wait } from "../platform/clock.ts";
import { DatabaseUnavailable } from "./errors.ts";

/** Pause behind a failure; the answer to a full disk is not more load. */
const RETRY_EVERY_MS = 1_000;

/**
 * Repeats `work` until it succeeds, fails otherwise, or the database is closed. `isAgain`: an
 * earlier try may have been committed although its answer was lost.
 */
export async function retryUnavailable<T>(
  clock: Clock,
  work: (isAgain: boolean) => Promise<T>,
): Promise<T> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await work(isAgain);
    } catch (failure) {
      if (!(failure instanceof DatabaseUnavailable)) throw failure;
      await wait(clock, RETRY_EVERY_MS);
    }
  }
}
