// `wadi completion`: scripts with which shells complete commands and options.
import { COMMON, type Command, type CommandTable, UsageError } from "./command.ts";

interface Shell {
  /** How it is installed. */
  hint: string;
  write(table: CompletionTable): string;
}

interface CompletionTable extends Pick<CommandTable, "families"> {
  commands: readonly Command[];
}

const SHELLS: Readonly<Record<string, Shell>> = {
  bash: {
    hint: 'add to ~/.bashrc: eval "$(wadi completion bash)"',
    write: writeBash,
  },
  zsh: {
    hint: 'add to ~/.zshrc, below compinit: eval "$(wadi completion zsh)"',
    write: writeZsh,
  },
  fish: {
    hint: "wadi completion fish > ~/.config/fish/completions/wadi.fish",
    write: writeFish,
  },
};

/** Options of a command with what they mean; common ones last. */
function listFlags(command: Command) {
  const flags = Object.entries({ ...command.flags, ...COMMON, ...command.flags });
  return flags.map(([name, { help, takes }]) => ({ name, help, takesValue: takes !== undefined }));
}

/** Verbs by their noun; a command of one word has none. */
function groupVerbs({ families, commands }: CompletionTable): Map<string, Command[]> {
  const groups = new Map<string, Command[]>(families.map(({ name }) => [name, []]));
  for (const command of commands) {
    const [noun, verb] = command.name.split(" ");
    if (verb !== undefined) groups.get(noun!)!.push(command);
  }
  return groups;
}

const verbOf = ({ name }: Command) => name.split(" ")[1]!;

function writeBash(table: CompletionTable): string {
  const groups = groupVerbs(table);
  const verbs = [...groups]
    .filter(([, found]) => found.length > 0)
    .map(([noun, found]) => `    ${noun}) verbs="${found.map(verbOf).join(" ")}" ;;\n`);
  const flags = table.commands.map((command) => {
    const names = listFlags(command).map(({ name }) => `--${name}`);
    const pattern = command.name.includes(" ") ? `"${command.name}"` : `"${command.name} "*`;
    return `    ${pattern}) flags="${names.join(" ")}" ;;\n`;
  });
  return `# Completion of wadi for bash.
_wadi() {
  local current=\${COMP_WORDS[COMP_CWORD]} noun=\${COMP_WORDS[1]} verb=\${COMP_WORDS[2]}
  local verbs="" flags=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "help ${[...groups.keys()].join(" ")}" -- "$current"))
    return
  fi
  case "$noun" in
${verbs.join("")}  esac
  if [ "$COMP_CWORD" -eq 2 ] && [ -n "$verbs" ]; then
    COMPREPLY=($(compgen -W "$verbs" -- "$current"))
    return
  fi
  case "$noun $verb" in
${flags.join("")}  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
  esac
}
complete -o default -F _wadi wadi
`;
}

function writeZsh(table: CompletionTable): string {
  const groups = groupVerbs(table);
  const nouns = table.families.map(({ name, summary }) => describe(name, summary));
  const verbs = [...groups]
    .filter(([, found]) => found.length > 0)
    .map(([noun, found]) => {
      const described = found.map((command) => describe(verbOf(command), command.help));
      return `    ${noun}) verbs=(${described.join(" ")}) ;;\n`;
    });
  const flags = table.commands.map((command) => {
    const described = listFlags(command).map(({ name, help }) => describe(`--${name}`, help));
    const pattern = command.name.includes(" ") ? `"${command.name}"` : `"${command.name} "*`;
    return `    ${pattern}) flags=(${described.join(" ")}) ;;\n`;
  });
  return `#compdef wadi
# Completion of wadi for zsh.
_wadi() {
  local -a nouns verbs flags
  nouns=(${nouns.join(" ")})
  case "$words[2]" in
${verbs.join("")}  esac
  case "$words[2] $words[3]" in
${flags.join("")}  esac
  if (( CURRENT == 2 )); then
    _describe command nouns
  elif (( CURRENT == 3 && \${#verbs} )); then
    _describe command verbs
  elif [[ "$PREFIX" == -* ]]; then
    _describe option flags
  else
    _files
  fi
}
compdef _wadi wadi
`;
}

/** Writes \`'name:help'\`, in which a colon is escaped. */
function describe(name: string, help: string): string {
  return quoteWord(`${name}:${help.replaceAll(":", "\\:")}`);
}

function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function writeFish(table: CompletionTable): string {
  const groups = groupVerbs(table);
  const say = (help: string) => `'${help.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const nouns = table.families.map(
    ({ name, summary }) =>
      `complete -c wadi -n __fish_use_subcommand -f -a ${name} -d ${say(summary)}\n`,
  );
  const verbs = [...groups].flatMap(([noun, found]) => {
    const seen = `__fish_seen_subcommand_from ${noun}`;
    const others = found.map(verbOf).join(" ");
    const isOpen = `"${seen}; and not __fish_seen_subcommand_from ${others}"`;
    return found.map((command) => {
      return `complete -c wadi -n ${isOpen} -f -a ${verbOf(command)} -d ${say(command.help)}\n`;
    });
  });
  const flags = table.commands.flatMap((command) => {
    const words = command.name.split(" ");
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    return listFlags(command).map(({ name, help, takesValue }) => {
      const value = takesValue ? " -r" : "";
      return `complete -c wadi -n "${seen}" -l ${name}${value} -d ${say(help)}\n`;
    });
  });
  return `# Completion of wadi for fish.\n${[...nouns, ...verbs, ...flags].join("")}`;
}

export const commands: readonly Command[] = [
  {
    name: "completion",
    args: ["SHELL"],
    help: "Print the script that completes commands in bash, zsh or fish",
    example: "wadi completion bash",
    async run(input, output, { families, loadAllCommands }) {
      const [name] = input.args as [string];
      const shell = Object.hasOwn(SHELLS, name) ? SHELLS[name] : undefined;
      if (!shell) throw new UsageError(`completion takes ${Object.keys(SHELLS).join(", ")}`);
      const script = shell.write({ families, commands: await loadAllCommands() });
      output.print({ shell: name, script }, script);
      // A shell that evaluates the script at its start must stay silent.
      if (output.terminal) output.say(shell.hint);
      return 0;
    },
  },
];
