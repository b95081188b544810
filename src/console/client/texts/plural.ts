// Numbers with their noun: another language has other plural forms.
const rules = new Intl.PluralRules("en");

export const count = (number: number, one: string, other: string): string =>
  `${number.toLocaleString("en-GB")} ${rules.select(number) === "one" ? one : other}`;
