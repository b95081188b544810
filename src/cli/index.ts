// Runs a command line; turns failures into a sentence and an exit code.
import { STDERR, STDOUT, writeText } from "../platform/process.ts";
import { findCommand, readArguments } from "./arguments.ts";
import { hasFlag, UsageError } from "./command.ts";
import { FAMILIES, findFamily, loadAllCommands, loadCommands } from "./families.ts";
import {
  readHelpTopic,
  writeCommandHelp,
  writeCommands,
  writeFamilyHelp,
  writeHelp,
} from "./help.ts";
import { createOutput } from "./output.ts";
import { findTerminal } from "./terminal.ts";
import { reportFailure } from "./upgrade-origin.ts";

const print = (text: string) => writeText(STDOUT, text);
const BUGS: readonly unknown[] = [Error, TypeError, RangeError, ReferenceError, AggregateError];
const printError = (text: string) => writeText(STDERR, text);

/** Runs a command line; returns the exit code: 0 done, 1 refused or failed, 2 wrong usage. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  try {
    return await runArguments(moveServer(argv));
  } catch (failure) {
    const sentence = explain(failure);
    printError(`wadi: ${sentence}\n`);
    await reportFailure(sentence);
    return failure instanceof UsageError ? 2 : 1;
  }
}

/** Moves `--server URL` from before the command to its end, where options are read. */
function moveServer(argv: readonly string[]): readonly string[] {
  const [first = ""] = argv;
  if (first === "--server") return [...argv.slice(2), ...argv.slice(0, 2)];
  return first.startsWith("--server=") ? [...argv.slice(1), first] : argv;
}

async function runArguments(argv: readonly string[]): Promise<number> {
  const [first = "help", ...rest] = argv;
  const topic = first === "help" && rest.length === 1 ? await readHelpTopic(rest[0]!) : undefined;
  if (topic !== undefined) return printPage(topic);
  // People try these with any program.
  if (first === "help" && rest.length > 0) return runArguments([...rest, "--help"]);
  if (first === "--version") return runArguments(["version", ...rest]);
  if (["help", "--help", "-h"].includes(first)) return printPage(writeHelp());
  const family = findFamily(first);
  const isAlone = rest.length === 0 || ["--help", "-h"].includes(rest[0]!);
  if (family && isAlone) {
    const commands = await loadCommands(family);
    if (commands[0]!.name !== first) return printPage(writeFamilyHelp(family, commands));
  }
  const command = await findCommand(argv);
  const input = await readArguments(command, argv.slice(command.name.split(" ").length));
  if (hasFlag(input, "help")) return printPage(writeCommandHelp(command));
  const output = createOutput(hasFlag(input, "json"), print, printError, findTerminal());
  return command.run(input, output, { families: FAMILIES, loadAllCommands, writeCommands });
}

function printPage(text: string): number {
  print(text);
  return 0;
}

/** Our errors and the system's are sentences already; a bug shows its stack. */
function explain(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  const isBug = BUGS.includes(failure.constructor) && !("code" in failure);
  return isBug ? (failure.stack ?? failure.message) : failure.message;
}
