// How much of what is repeated or drawn the tests try: a fifth, or the share that ROUNDS names.

/** `ROUNDS=1` tries everything; more of it only draws more often. */
const SHARE = Number(process.env.ROUNDS ?? "0.2");

export const countRounds = (full: number): number => Math.max(1, Math.round(full * SHARE));

export const chooseCases = <T>(
  all: readonly T[],
  isChosen: (one: T, at: number) => boolean,
): T[] => (SHARE >= 1 ? [...all] : all.filter(isChosen));
