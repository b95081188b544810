// Pseudo-random numbers that are equal in every run.

/** Whole numbers from 0 up to a maximum, from the high bits of a linear congruence. */
export function createDraw(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
