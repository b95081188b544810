// From the words that were typed to a verb, its arguments and flags; a slip gets a sentence.
import { parseArgs } from "node:util";
import { type Flag, type Given, UsageProblem, type Verb } from "./verb.ts";
import { VERBS } from "./verbs.ts";

/** Understood by every verb. */
export const COMMON: Readonly<Record<string, Flag>> = {
  config: { takes: "FILE", help: "with the settings (default ./wadi.toml, if it is there)" },
  data: { takes: "DIR", help: "of the database (default ./wadi-data)" },
  json: { help: "one JSON document on stdout, nothing else" },
  help: { help: "this text" },
};

/** The verb that the first words name; else throws a UsageProblem that names the nearest. */
export async function findVerb(argv: readonly string[]): Promise<Verb> {
  const end = argv.findIndex((word) => word.startsWith("-"));
  const words = (end === -1 ? argv : argv.slice(0, end)).slice(0, 2);
  if (words.length === 0) {
    throw new UsageProblem("the command comes before its flags: `wadi` alone lists the commands");
  }
  const typed = words.join(" ");
  const verb = VERBS.find(({ name }) => name === typed || name === words[0]);
  if (verb) return verb;
  const names = VERBS.map(({ name }) => name);
  const nearest = await suggest(typed, names, (name) => `wadi ${name}`);
  const ofNoun = names.filter((name) => name.startsWith(`${words[0]} `)).join(", ");
  const advice = nearest || (ofNoun ? `: there are ${ofNoun}` : ": `wadi` alone lists them");
  throw new UsageProblem(`there is no command "${typed}"${advice}`);
}

/** What follows a verb; throws a UsageProblem for what the verb does not take. */
export async function readArguments(verb: Verb, argv: readonly string[]): Promise<Given> {
  const flags = { ...verb.flags, ...COMMON };
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { takes, multiple = false }]) => [
      name,
      { type: takes ? ("string" as const) : ("boolean" as const), multiple },
    ]),
  );
  // Not strict: its sentences speak to programmers.
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options: { ...options, help: { type: "boolean", short: "h" } },
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "option") await checkFlag(verb, flags, token);
  }
  const needed = verb.args.filter((name) => !name.startsWith("["));
  const fits = positionals.length >= needed.length && positionals.length <= verb.args.length;
  if (!values.help && !fits) throw new UsageProblem(`usage: wadi ${writeUsage(verb)}`);
  return { args: positionals, flags: values as Given["flags"] };
}

/** A verb with its arguments. */
export function writeUsage(verb: Verb): string {
  return [verb.name, ...verb.args].join(" ");
}

interface Token {
  name: string;
  rawName: string;
  value?: string;
  inlineValue?: boolean;
}

async function checkFlag(
  verb: Verb,
  flags: Readonly<Record<string, Flag>>,
  { name, rawName, value, inlineValue }: Token,
): Promise<void> {
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (!flag) {
    const nearest = await suggest(name, Object.keys(flags), (known) => `--${known}`);
    const advice = nearest || `: see \`wadi ${verb.name} --help\``;
    throw new UsageProblem(`\`wadi ${verb.name}\` takes no ${rawName}${advice}`);
  }
  if (!flag.takes && value !== undefined) throw new UsageProblem(`--${name} takes no value`);
  // The next flag, taken for the value that was forgotten.
  const isForgotten = !value || (value.startsWith("-") && !inlineValue);
  if (flag.takes && isForgotten) {
    throw new UsageProblem(`--${name} needs a value: --${name} ${flag.takes}`);
  }
}

/** Loaded only for who made a slip. */
async function suggest(
  typed: string,
  known: readonly string[],
  write: (name: string) => string,
): Promise<string> {
  const { findNearest } = await import("../platform/settings/index.ts");
  const nearest = findNearest(typed, known);
  return nearest === undefined ? "" : `; did you mean \`${write(nearest)}\`?`;
}
