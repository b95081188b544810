// Keeps a bug in one callback from ending the process, as Bun would for an uncaught error.

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
