// The help: every verb on one page, and each verb's flags on its own.
import { COMMON, writeUsage } from "./arguments.ts";
import type { Verb } from "./verb.ts";

/** The page of these verbs. */
export function writeHelp(verbs: readonly Verb[]): string {
  const rows = verbs.map((verb): Row => [`wadi ${writeUsage(verb)}`, verb.help]);
  return `Serves language models and runs agents durably.\n\n${align(rows)}\nEach takes --help.\n`;
}

/** The page of one verb. */
export function writeVerbHelp(verb: Verb): string {
  // A verb may have its own word for what all of them understand.
  const flags = Object.entries({ ...verb.flags, ...COMMON, ...verb.flags });
  const rows = flags.map(([name, { takes, help }]): Row => {
    return [takes ? `--${name} ${takes}` : `--${name}`, help];
  });
  return `wadi ${writeUsage(verb)}\n${verb.help}\n\n${align(rows)}`;
}

type Row = [left: string, right: string];

function align(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
}
