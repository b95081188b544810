// Numbers and plurals of Arabic, which has six forms. Digits are Latin.
const rules = new Intl.PluralRules("ar");
const digits = new Intl.NumberFormat("ar-SA-u-nu-latn");
const names = new Intl.ListFormat("ar", { type: "conjunction" });

/** Forms by their number; `#` is the number itself. */
interface ArabicForms {
  zero?: string;
  one: string;
  two: string;
  /** 3 to 10, then 11 to 99. */
  few: string;
  many: string;
  /** Hundreds and fractions. */
  other: string;
}

export const writeNumber = (number: number): string => digits.format(number);

export const countArabic = (number: number, forms: ArabicForms): string =>
  (forms[rules.select(number)] ?? forms.other).replace("#", writeNumber(number));

/** Two of a thing behind a preposition, such as `قبل دقيقتين`. */
export const inGenitive = (span: string): string =>
  span.replace(/(ثانيت|دقيقت|ساعت|يوم)ان/, "$1ين");

export const listNames = (all: readonly string[]): string => names.format(all);
