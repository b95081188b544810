// Parses a command line into a command, its arguments and options; explains what is wrong with it.
import { parseArgs } from "node:util";
import { COMMON, type Command, type CommandInput, type Flag, UsageError } from "./command.ts";
import { FAMILIES, findFamily, loadAllCommands, loadCommands } from "./families.ts";

/** Returns the command that the first words name; throws a UsageError that names the nearest. */
export async function findCommand(argv: readonly string[]): Promise<Command> {
  const end = argv.findIndex((word) => word.startsWith("-"));
  const words = (end === -1 ? argv : argv.slice(0, end)).slice(0, 2);
  const [noun] = words;
  if (noun === undefined) {
    throw new UsageError("the command comes before its flags: `wadi` alone lists the commands");
  }
  const typed = words.join(" ");
  const family = findFamily(noun);
  const commands = family ? await loadCommands(family) : await loadAllCommands();
  const command = commands.find(({ name }) => name === typed || name === noun);
  if (command) return command;
  const names = commands.map(({ name }) => name);
  const suggestible = (name: string) => !commands.find((one) => one.name === name)?.isUnsuggested;
  const nearest = await suggest(typed, names, "wadi ", suggestible);
  const families = FAMILIES.map(({ name }) => name);
  const others = family
    ? `: there are ${names.join(", ")}`
    : await suggest(noun, families, "wadi ");
  const advice = nearest || others || ": `wadi` alone lists them";
  throw new UsageError(`there is no command "${typed}"${advice}`);
}

export async function readArguments(
  command: Command,
  argv: readonly string[],
): Promise<CommandInput> {
  const flags = { ...command.flags, ...COMMON };
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { takes, multiple = false }]) => [
      name,
      { type: takes ? ("string" as const) : ("boolean" as const), multiple },
    ]),
  );
  // Strict mode has messages for programmers.
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options: { ...options, help: { type: "boolean", short: "h" } },
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "option") await checkFlag(command, flags, token);
  }
  const { args = [] } = command;
  const needed = args.filter((name) => !name.startsWith("["));
  const fits = positionals.length >= needed.length && positionals.length <= args.length;
  if (!values.help && !fits) throw new UsageError(`usage: wadi ${writeUsage(command)}`);
  return { args: positionals, flags: values as CommandInput["flags"] };
}

export function writeUsage(command: Command): string {
  return [command.name, ...(command.args ?? [])].join(" ");
}

interface Token {
  name: string;
  rawName: string;
  value?: string;
  inlineValue?: boolean;
}

async function checkFlag(
  command: Command,
  flags: Readonly<Record<string, Flag>>,
  { name, rawName, value, inlineValue }: Token,
): Promise<void> {
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (!flag) {
    const nearest = await suggest(name, Object.keys(flags), "--");
    const advice = nearest || `: see \`wadi ${command.name} --help\``;
    throw new UsageError(`\`wadi ${command.name}\` takes no ${rawName}${advice}`);
  }
  if (!flag.takes && value !== undefined) throw new UsageError(`--${name} takes no value`);
  // The next option is no value.
  const isForgotten = !value || (value.startsWith("-") && !inlineValue);
  if (flag.takes && isForgotten) {
    throw new UsageError(`--${name} needs a value: --${name} ${flag.takes}`);
  }
}

/** Loads the comparison only after a mistake. Without a fitting nearest name, returns "". */
async function suggest(
  typed: string,
  known: readonly string[],
  prefix: string,
  fits: (name: string) => boolean = () => true,
): Promise<string> {
  const { findNearest } = await import("../settings/index.ts");
  const nearest = findNearest(typed, known);
  // The second nearest would be further from what was meant, and may be as dangerous.
  return nearest === undefined || !fits(nearest) ? "" : `; did you mean \`${prefix}${nearest}\`?`;
}
