// Every sentence of the console, by its id; another language is another table of the same ids.
import { findText, isEnglish } from "./languages.ts";
import { agents } from "./texts/agents.ts";
import { approvals } from "./texts/approvals.ts";
import { guest } from "./texts/guest.ts";
import { home } from "./texts/home.ts";
import { keyboard } from "./texts/keyboard.ts";
import { keys } from "./texts/keys.ts";
import { models } from "./texts/models.ts";
import { playground } from "./texts/playground.ts";
import { requests } from "./texts/requests.ts";
import { run } from "./texts/run.ts";
import { runs } from "./texts/runs.ts";
import { shared } from "./texts/shared.ts";
import { triggers } from "./texts/triggers.ts";
import { usage } from "./texts/usage.ts";
import { webhooks } from "./texts/webhooks.ts";

const texts = {
  ...{ ...shared, ...keyboard, ...home, ...approvals, ...guest, ...runs, ...run },
  ...{
    ...agents,
    ...triggers,
    ...webhooks,
    ...requests,
    ...models,
    ...usage,
    ...keys,
    ...playground,
  },
} as const;

type Texts = typeof texts;
export type TextId = keyof Texts;
type Arguments<Id extends TextId> = Texts[Id] extends (...args: infer A) => string ? A : [];

export function t<Id extends TextId>(id: Id, ...args: Arguments<Id>): string {
  const own = findText(id);
  const text: unknown = own ?? texts[id];
  const written = typeof text === "function" ? text(...args) : (text as string);
  // An English sentence keeps its full stop at its end.
  return own === undefined && !isEnglish() ? `\u2066${written}\u2069` : written;
}

/** Without the pair around a whole text, for elements that isolate and show hidden characters. */
export function unwrap(text: string): string {
  return isEnglish() ? text : text.replace(/^\u2066(.*)\u2069$/s, "$1");
}
