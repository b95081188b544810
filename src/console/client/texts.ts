// Every sentence of the console, by its id; another language is another table of the same ids.
import { findText, isEnglish } from "./languages.ts";
import { approvals } from "./texts/approvals.ts";
import { guest } from "./texts/guest.ts";
import { home } from "./texts/home.ts";
import { keyboard } from "./texts/keyboard.ts";
import type { laterTexts } from "./texts/later.ts";
import { run } from "./texts/run.ts";
import { runs } from "./texts/runs.ts";
import { shared } from "./texts/shared.ts";

const first = {
  ...{ ...shared, ...keyboard, ...home, ...approvals, ...guest, ...runs, ...run },
} as const;
const texts: Record<string, unknown> = first;

/** Adds those of the second script. */
export const addTexts = (more: typeof laterTexts): void => void Object.assign(texts, more);

type Texts = typeof first & typeof laterTexts;
export type TextId = keyof Texts;
type Arguments<Id extends TextId> = Texts[Id] extends (...args: infer A) => string ? A : [];

export function t<Id extends TextId>(id: Id, ...args: Arguments<Id>): string {
  const own = findText(id);
  const text = own ?? texts[id];
  const written = typeof text === "function" ? text(...args) : (text as string);
  // An English sentence keeps its full stop at its end.
  return own === undefined && !isEnglish() ? `\u2066${written}\u2069` : written;
}

/** Without the pair around a whole text, for elements that isolate and show hidden characters. */
export function unwrap(text: string): string {
  return isEnglish() ? text : text.replace(/^\u2066(.*)\u2069$/s, "$1");
}
