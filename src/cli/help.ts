// Help pages: one screen of families, one page a family, one page a command, and the documentation.
import { isTerminal, STDOUT } from "../platform/process.ts";
import { writeUsage } from "./arguments.ts";
import { COMMON, type Command } from "./command.ts";
import { FAMILIES, type Family, findFamily, loadAllCommands } from "./families.ts";

const COLUMNS_MAX = 100;

/** The first page: at most 24 lines of 80 columns. */
export function writeHelp(): string {
  // Families of one summary share a line.
  const lines = Object.values(Object.groupBy(FAMILIES, ({ summary }) => summary));
  const rows = lines.map((families = [], i) => {
    const { group, summary } = families[0]!;
    const isFirst = group !== lines[i - 1]?.at(0)?.group;
    return [isFirst ? group : "", families.map(({ name }) => name).join(", "), summary];
  });
  return `Serves language models and runs agents durably.

${align(rows)}
\`wadi COMMAND --help\` explains a command, \`wadi help topics\` lists all topics.
`;
}

export function writeFamilyHelp(family: Family, commands: readonly Command[]): string {
  const rows = commands.map((command) => ["", `wadi ${writeUsage(command)}`, command.help]);
  return `${family.summary}\n\n${align(rows)}\nEach takes --help.\n`;
}

export function writeCommandHelp(command: Command): string {
  // A command may describe a common option in its own words.
  const flags = Object.entries({ ...command.flags, ...COMMON, ...command.flags });
  const rows = flags.map(([name, { takes, help }]) => {
    return ["", takes ? `--${name} ${takes}` : `--${name}`, help];
  });
  return `wadi ${writeUsage(command)}
${command.help}

${align(rows)}
Example: ${command.example}
`;
}

export async function readHelpTopic(name: string): Promise<string | undefined> {
  const { listTopics } = await import("../docs/index.ts");
  const topics = listTopics({ writeCommands });
  if (name === "topics") {
    const rows = topics.map((topic) => ["", topic.name, topic.summary]);
    return `Topics of \`wadi help TOPIC\`:\n\n${align(rows)}`;
  }
  const topic = topics.find((one) => one.name === name);
  if (!topic) return undefined;
  const commands = findFamily(name) ? `\nIts commands: \`wadi ${name} --help\`.\n` : "";
  const text = `${await topic.read()}${commands}`;
  if (!isTerminal(STDOUT) || process.env.NO_COLOR) return text;
  return writeForTerminal(text, Math.min(process.stdout.columns || COLUMNS_MAX, COLUMNS_MAX));
}

const DIM = "\u001b\\[2m";
const RESET = "\u001b\\[0m";
/** Pattern of the frame that Bun draws around code; people would paste it with the commands. */
const FRAME_EDGE = new RegExp(`^${DIM}(?:┌─ |└─${RESET}).*\\n`, "gm");
const FRAME_SIDE = new RegExp(`^${DIM}│ ${RESET}`, "gm");

export function writeForTerminal(text: string, columns: number): string {
  return Bun.markdown.ansi(text, { columns }).replace(FRAME_EDGE, "").replace(FRAME_SIDE, "  ");
}

export async function writeCommands(): Promise<string> {
  const pages = (await loadAllCommands()).map((command) => {
    return `## wadi ${command.name}\n\n\`\`\`text\n${writeCommandHelp(command).trim()}\n\`\`\`\n`;
  });
  return `# Command line

\`wadi --help\` lists the commands, \`wadi COMMAND --help\` the options of one.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
With \`--json\` a command prints one JSON document on stdout and nothing else.
Commands change the database directly, also while a server runs on it. The change counts at once.

${pages.join("\n")}`;
}

function align(rows: readonly (readonly string[])[]): string {
  const width = (i: number) => Math.max(...rows.map((row) => row[i]!.length));
  const [group, name] = [width(0), width(1)];
  const line = ([first = "", second = "", third = ""]: readonly string[]) =>
    `  ${group === 0 ? "" : `${first.padEnd(group)}  `}${second.padEnd(name)}  ${third}\n`;
  return rows.map(line).join("");
}
