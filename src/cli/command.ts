// A command of the command line, and readers of its options.
import type { References } from "../docs/index.ts";
import { parseDuration } from "../platform/duration.ts";
import type { Output } from "./output.ts";

export interface Flag {
  /** Name of the value in the help, such as `N`; absent for a switch. */
  takes?: string;
  multiple?: true;
  /** A noun: "maximum tokens of a reply". */
  help: string;
}

export interface CommandInput {
  args: readonly string[];
  flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

export interface Command {
  /** Words to type: `keys create`. */
  name: string;
  /** Names of the arguments, such as `NAME`, or `[NAME]` for an optional one. */
  args?: readonly string[];
  flags?: Readonly<Record<string, Flag>>;
  /** An imperative: "Create an API key and print it once". */
  help: string;
  example: string;
  /** Starts held work or deletes much: a mistyped command is never corrected to it. */
  isUnsuggested?: true;
  /** Returns the exit code: 0 done, 1 refused or failed. */
  run(input: CommandInput, output: Output, table: CommandTable): Promise<number>;
}

/** The table of commands, which its own members cannot import. */
export interface CommandTable extends References {
  families: readonly { name: string; summary: string }[];
  loadAllCommands(): Promise<readonly Command[]>;
}

/** Options of every command. */
export const COMMON: Readonly<Record<string, Flag>> = {
  config: { takes: "FILE", help: "settings file (default ./wadi.toml if it exists)" },
  data: { takes: "DIR", help: "directory of the database (default ./wadi-data; dev: memory)" },
  server: { takes: "URL", help: "server to ask (default local files)" },
  json: { help: "one JSON document on stdout, nothing else" },
  help: { help: "this text" },
};

export const account: Flag = { takes: "NAME", help: "account of the owner" };
export const holdReason: Flag = {
  takes: "TEXT",
  help: "reason that the owner reads (default none)",
};
export const portFlag: Flag = {
  takes: "N",
  help: "port to listen on (default 8080; 0 picks a free one)",
};
export const allowEgress: Flag = {
  takes: "HOST:PORT",
  multiple: true,
  help: "private address that agents may call; repeatable",
};

export const limit: Flag = { takes: "N", help: "maximum rows (default 20)" };
const LIMIT = 20;
const LIMIT_MAX = 10_000;

/** A wrong command line; exit code 2. */
export class UsageError extends Error {}

export function readText({ flags }: CommandInput, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

export function readList({ flags }: CommandInput, name: string): readonly string[] {
  const value = flags[name];
  return Array.isArray(value) ? value : [];
}

export function hasFlag({ flags }: CommandInput, name: string): boolean {
  return flags[name] === true;
}

export function readNumber(input: CommandInput, name: string): number | undefined {
  const text = readText(input, name);
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,15}$/.test(text)) {
    throw new UsageError(`--${name} takes a whole number, but is "${text}"`);
  }
  return Number(text);
}

export function readDuration(input: CommandInput, name: string): number | undefined {
  const text = readText(input, name);
  try {
    return text === undefined ? undefined : parseDuration(text);
  } catch (error) {
    throw new UsageError(`--${name} ${(error as Error).message}`);
  }
}

export function readLimit(input: CommandInput): number {
  const wanted = readNumber(input, "limit") ?? LIMIT;
  if (wanted >= 1 && wanted <= LIMIT_MAX) return wanted;
  throw new UsageError(`--limit takes 1 to ${LIMIT_MAX}`);
}

export function readWord<T extends string>(
  input: CommandInput,
  name: string,
  words: readonly T[],
): T | undefined {
  const text = readText(input, name);
  const word = words.find((one) => one === text);
  if (text === undefined || word !== undefined) return word;
  throw new UsageError(`--${name} takes ${words.join(", ")}, but is "${text}"`);
}
