// A proof: a long run with faults that ends in figures, each with its bound.

export interface Finding {
  what: string;
  figure: string;
  /** Condition to pass, in words. */
  bound: string;
  isMet: boolean;
}

export interface Proof {
  name: string;
  /** Faults made and effects ruled out, in one sentence. */
  about: string;
  run(isLong: boolean): Promise<Finding[]>;
}

/** A number that must not be above `most`. */
export const atMost = (what: string, value: number, most: number, unit = ""): Finding => ({
  what,
  figure: `${Math.round(value * 100) / 100}${unit}`,
  bound: `≤ ${most}${unit}`,
  isMet: value <= most,
});

/** A number that must not be below `least`: otherwise too little was tried to prove anything. */
export const atLeast = (what: string, value: number, least: number): Finding => ({
  what,
  figure: String(value),
  bound: `≥ ${least}`,
  isMet: value >= least,
});

/** A number that has no bound of its own, and without which others could not be read. */
export const measured = (what: string, value: number, unit = ""): Finding => ({
  what,
  figure: `${Math.round(value * 100) / 100}${unit}`,
  bound: "–",
  isMet: true,
});
