// A verb of the command line: how it is called, what it takes, what it does.
import type { Output } from "./output.ts";

export interface Flag {
  /** What the value is called in the help, such as `N`; left out: the flag takes none. */
  takes?: string;
  /** May be given several times. */
  multiple?: true;
  help: string;
}

export interface Given {
  /** Arguments in their order. */
  args: readonly string[];
  flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

export interface Verb {
  /** As it is typed: `keys create`. */
  name: string;
  /** Names of the arguments, such as `NAME`; `[NAME]` may be left out. */
  args: readonly string[];
  flags: Readonly<Record<string, Flag>>;
  help: string;
  /** The exit code: 0 done, 1 refused or failed. */
  run(given: Given, output: Output): Promise<number>;
}

/** A flag of many verbs. */
export const account: Flag = { takes: "NAME", help: "of the owner" };

/** The command line was wrong; exit code 2. */
export class UsageProblem extends Error {}

export function readText({ flags }: Given, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

export function readList({ flags }: Given, name: string): readonly string[] {
  const value = flags[name];
  return Array.isArray(value) ? value : [];
}

export function hasFlag({ flags }: Given, name: string): boolean {
  return flags[name] === true;
}

/** A whole number; undefined: the flag is not there. */
export function readNumber(given: Given, name: string): number | undefined {
  const text = readText(given, name);
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,15}$/.test(text)) {
    throw new UsageProblem(`--${name} takes a whole number, but is "${text}"`);
  }
  return Number(text);
}

/** What a list shows at most. */
export const limit: Flag = { takes: "N", help: "at most so many (default 20)" };
const LIMIT = 20;
const LIMIT_MAX = 10_000;

export function readLimit(given: Given): number {
  const wanted = readNumber(given, "limit") ?? LIMIT;
  if (wanted >= 1 && wanted <= LIMIT_MAX) return wanted;
  throw new UsageProblem(`--limit takes 1 to ${LIMIT_MAX}`);
}

/** One of so many words; null: the flag is not there. */
export function readWord<T extends string>(
  given: Given,
  name: string,
  words: readonly T[],
): T | null {
  const text = readText(given, name);
  const word = words.find((one) => one === text);
  if (text === undefined || word !== undefined) return word ?? null;
  throw new UsageProblem(`--${name} takes ${words.join(", ")}, but is "${text}"`);
}
