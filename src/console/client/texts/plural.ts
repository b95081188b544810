// Numbers with their noun: another language has other plural forms.
const rules = new Intl.PluralRules("en");

/** Writes a number with its groups, such as `2,418`. */
export const writeCount = (number: number): string => number.toLocaleString("en-GB");

export const count = (number: number, one: string, other: string): string =>
  `${writeCount(number)} ${rules.select(number) === "one" ? one : other}`;
