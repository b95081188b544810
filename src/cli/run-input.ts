// Reads options by which runs are started and found.
import { type CommandInput, readList, UsageError } from "./command.ts";

/** Reads the texts of `--metadata NAME=TEXT` by their names; undefined without any. */
export function readMetadata(input: CommandInput): Record<string, string> | undefined {
  const typed = readList(input, "metadata");
  if (typed.length === 0) return undefined;
  const texts = new Map<string, string>();
  for (const one of typed) {
    const end = one.indexOf("=");
    if (end < 1) throw new UsageError(`--metadata takes NAME=TEXT, but is "${one}"`);
    const name = one.slice(0, end);
    if (texts.has(name)) throw new UsageError(`--metadata has "${name}" twice`);
    texts.set(name, one.slice(end + 1));
  }
  return Object.fromEntries(texts);
}
