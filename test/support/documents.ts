// Reads README.md and the pages of src/docs/: their text and fenced blocks.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const root = join(import.meta.dir, "../..");

export interface Block {
  language: string;
  text: string;
}

export interface Document {
  name: string;
  text: string;
  blocks: readonly Block[];
}

export function readDocument(path: string): Document {
  const text = readFileSync(path, "utf8");
  const found = text.matchAll(/^```(\w*)\n(.+?)\n```$/gms);
  const blocks = [...found].map(([, language = "", block = ""]) => ({ language, text: block }));
  return { name: basename(path, ".md"), text, blocks };
}

export const readme = readDocument(join(root, "README.md"));

export const pages = readdirSync(join(root, "src/docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => readDocument(join(root, "src/docs", name)));

export function findPage(name: string): Document {
  return pages.find((one) => one.name === name)!;
}

export function readBlock({ text }: Document, after: string): string {
  const start = text.indexOf("```", text.indexOf(after));
  const from = text.indexOf("\n", start) + 1;
  return text.slice(from, text.indexOf("\n```", from));
}

export function readCommands({ text }: Document, heading: string): string[] {
  const start = text.indexOf(`## ${heading}\n`);
  const end = text.indexOf("\n## ", start);
  const chapter = text.slice(start, end === -1 ? undefined : end);
  return [...chapter.matchAll(/^```sh\n(.+?)\n```$/gms)].map(([, block]) => block!);
}

/** Whether a line matches the documented one, in which `…` matches any text. */
export function isShown(line: string, shown: string): boolean {
  const pieces = shown.split("…");
  let at = 0;
  const isThere = pieces.every((piece, i) => {
    const found = i === 0 ? (line.startsWith(piece) ? 0 : -1) : line.indexOf(piece, at);
    at = found + piece.length;
    return found !== -1;
  });
  return isThere && (shown.endsWith("…") || line.endsWith(pieces.at(-1)!));
}
