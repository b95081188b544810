// Finds where a table of a settings file can be filled without a change to what stands in it.
import { findKeyLines } from "./key-lines.ts";

/**
 * `absent`: it is not there · `empty`: only its header is, and `at` is where the line behind it
 * begins · `filled`: something is said of it, from `line` on.
 */
export type TablePlace =
  | { kind: "absent" }
  | { kind: "empty"; at: number }
  | { kind: "filled"; line: number };

/** Of a table that stands at the top, in a text that is TOML. */
export function placeTable(text: string, name: string): TablePlace {
  const [first, ...others] = findKeyLines(text).filter(
    ({ path }) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`),
  );
  if (!first) return { kind: "absent" };
  const lines = text.split("\n").slice(0, first.line);
  // A header, and not `embeddings = {}`, which nothing can be added to.
  const isHeader = /^[ \t]*\[[^[]/.test(lines.at(-1)!);
  if (others.length > 0 || !isHeader) return { kind: "filled", line: first.line };
  return { kind: "empty", at: Math.min(lines.join("\n").length + 1, text.length) };
}
