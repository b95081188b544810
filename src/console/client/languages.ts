// Languages of the console: a table of texts, the direction of its script, and how to write times.
import { effect, signal } from "@preact/signals";
import { loadScript } from "./script.ts";

/** Sentences, or functions that write them, by their id. */
export type TextTable = Readonly<Record<string, unknown>>;

declare global {
  /** Written by the script of the Arabic table; those that it leaves out are English. */
  var arabicTexts: TextTable | undefined;
  /** Digest of that script, from the bundler. */
  const ARABIC_INTEGRITY: string;
}

const LANGUAGES = {
  en: { dir: "ltr", locale: "en-GB" },
  // For times and numbers: the calendar is common, and digits are Latin.
  ar: { dir: "rtl", locale: "ar-SA-u-ca-gregory-hc-h23-nu-latn" },
} as const;

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

const chosen = signal<LanguageName>("en");

export const language = () => LANGUAGES[chosen.value];
export const isEnglish = (): boolean => chosen.value === "en";
export const findText = (id: string): unknown =>
  isEnglish() ? undefined : globalThis.arabicTexts?.[id];

/** Without its table the page stays English. */
async function show(name: LanguageName): Promise<void> {
  if (name === "ar" && !globalThis.arabicTexts) await loadScript("arabic", ARABIC_INTEGRITY);
  if (name === "en" || globalThis.arabicTexts) chosen.value = name;
}

export const startLanguage = (): Promise<void> => show(choose());

export async function switchLanguage(): Promise<void> {
  await show(isEnglish() ? "ar" : "en");
  localStorage.setItem(KEPT, chosen.value);
}

effect(() => {
  Object.assign(document.documentElement, { lang: chosen.value, dir: language().dir });
});
