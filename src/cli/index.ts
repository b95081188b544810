// Runs the verb that was typed, and turns what went wrong into a sentence and an exit code.
import { STDERR, STDOUT, writeText } from "../platform/process.ts";
import { findVerb, readArguments } from "./arguments.ts";
import { writeHelp, writeVerbHelp } from "./help.ts";
import { createOutput } from "./output.ts";
import { hasFlag, UsageProblem } from "./verb.ts";
import { VERBS } from "./verbs.ts";

const print = (text: string) => writeText(STDOUT, text);
const BUGS: readonly unknown[] = [Error, TypeError, RangeError, ReferenceError, AggregateError];
const printError = (text: string) => writeText(STDERR, text);

/** Runs a command line; returns the exit code: 0 done, 1 refused or failed, 2 wrong usage. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  try {
    return await runVerb(argv);
  } catch (failure) {
    printError(`wadi: ${explain(failure)}\n`);
    return failure instanceof UsageProblem ? 2 : 1;
  }
}

async function runVerb(argv: readonly string[]): Promise<number> {
  const [first = "help", ...rest] = argv;
  // What people try first, whatever the program.
  if (first === "help" && rest.length > 0) return runVerb([...rest, "--help"]);
  if (first === "--version") return runVerb(["version", ...rest]);
  if (["help", "--help", "-h"].includes(first)) {
    print(writeHelp(VERBS));
    return 0;
  }
  const ofNoun = VERBS.filter(({ name }) => name.startsWith(`${first} `));
  if (ofNoun.length > 0 && ["--help", "-h"].includes(rest[0] ?? "")) {
    print(writeHelp(ofNoun));
    return 0;
  }
  const verb = await findVerb(argv);
  const given = await readArguments(verb, argv.slice(verb.name.split(" ").length));
  if (hasFlag(given, "help")) {
    print(writeVerbHelp(verb));
    return 0;
  }
  return verb.run(given, createOutput(hasFlag(given, "json"), print, printError));
}

/** Problems of ours and of the system are sentences already; a bug shows where it is. */
function explain(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  const isBug = BUGS.includes(failure.constructor) && !("code" in failure);
  return isBug ? (failure.stack ?? failure.message) : failure.message;
}
