// Languages of the console: a table of texts, the direction of its script, and how to write times.
import { effect, signal } from "@preact/signals";
import { approvals } from "./texts/arabic/approvals.ts";
import { shell } from "./texts/arabic/shell.ts";

interface Language {
  dir: "ltr" | "rtl";
  /** For times and numbers: the calendar is common, and digits are Latin. */
  locale: string;
  /** Texts by their id; those that are left out are English. */
  texts: Readonly<Record<string, unknown>>;
}

const LANGUAGES = {
  en: { dir: "ltr", locale: "en-GB", texts: {} },
  ar: {
    ...{ dir: "rtl", locale: "ar-SA-u-ca-gregory-hc-h23-nu-latn" },
    texts: { ...shell, ...approvals },
  },
} as const satisfies Record<string, Language>;

type LanguageName = keyof typeof LANGUAGES;
const KEPT = "lang";
const isLanguage = (name: unknown): name is LanguageName => Object.hasOwn(LANGUAGES, String(name));

/** The address first, then the choice of before, then the browser's languages. */
function choose(): LanguageName {
  const asked = new URLSearchParams(location.search).get(KEPT);
  if (isLanguage(asked)) localStorage.setItem(KEPT, asked);
  const wanted = [
    localStorage.getItem(KEPT),
    ...navigator.languages.map((name) => name.slice(0, 2)),
  ];
  return wanted.find(isLanguage) ?? "en";
}

const chosen = signal(choose());

export const language = (): Language => LANGUAGES[chosen.value];
export const isEnglish = (): boolean => chosen.value === "en";

export function switchLanguage(): void {
  chosen.value = isEnglish() ? "ar" : "en";
  localStorage.setItem(KEPT, chosen.value);
}

effect(() => {
  Object.assign(document.documentElement, { lang: chosen.value, dir: language().dir });
});
