// Runs command lines one after another in one process: each one's exit code and output.
import { join } from "node:path";
import { runCommand } from "../../src/cli/index.ts";

export interface CommandLine {
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  stdin: string;
}

/** Ends the output of a command on both streams. */
export const END = "\u0000";

async function runLine({ args, cwd, env, stdin }: CommandLine): Promise<void> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  // A process reads its own home once, when it starts.
  if (env.HOME) process.env.XDG_CONFIG_HOME ??= join(env.HOME, ".config");
  // The process's own input stays open for the commands to come.
  const value = { stream: () => new Blob([stdin]).stream() };
  Object.defineProperty(Bun, "stdin", { value });
  const code = await runCommand(args);
  process.stdout.write(`${END}${code}\n`);
  process.stderr.write(`${END}\n`);
}

if (import.meta.main) {
  process.umask(0o077);
  process.on("disconnect", () => process.exit());
  let before: Promise<void> = Promise.resolve();
  process.on("message", (line: CommandLine) => {
    before = before.then(() => runLine(line));
  });
}
