// The share of random rounds that tests run: a fifth, or the value of ROUNDS.

/** `ROUNDS=1` runs every round; a higher value adds random ones. */
const SHARE = Number(process.env.ROUNDS ?? "0.2");

export const countRounds = (full: number): number => Math.max(1, Math.round(full * SHARE));

export const chooseCases = <T>(
  all: readonly T[],
  isChosen: (one: T, at: number) => boolean,
): T[] => (SHARE >= 1 ? [...all] : all.filter(isChosen));
