// Runs another program of a release to its end.

/** Throws what the program said if it fails, or a sentence if it is missing. */
export const run = async (
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<void> => {
  const [program = ""] = command;
  if (!Bun.which(program)) throw new Error(`A release needs ${program}, which is not installed.`);
  const child = Bun.spawn([...command], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${errors || out}`.trim());
};
