// Keeps a bug in one callback from ending the process: Bun ends it for whatever one throws.

/**
 * Wraps a callback where it is handed to Bun. What it throws goes to `onBug`, which belongs to
 * whoever waits for the callback; nobody could trace an uncaught error to them afterwards.
 */
export function guardCallback<Given extends unknown[]>(
  onBug: (bug: unknown) => void,
  run: (...given: Given) => void,
): (...given: Given) => void {
  return (...given) => {
    try {
      run(...given);
    } catch (bug) {
      onBug(bug);
    }
  };
}
