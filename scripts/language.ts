// Counts what the language contract bounds: names, comments, import circles and file sizes.
// `bun scripts/language.ts [ROOT]` prints the counts, `--list NAME` the places behind one of them.

import { dirname, join, normalize } from "node:path/posix";
import ts from "typescript-5";
import { lineAt, readLayers } from "./source.ts";

/** Words that name nothing in this field: as file names, or as parts of exported names. */
const BANNED_WORDS = new Set(
  (
    "around book box cellar conductor door ear ending ends entrance errand fate flavour giving " +
    "hall hearing house journal judge judgement judging leash ledger letter look manner meet " +
    "places pump reckon reckoning refusal refuse rest rests room sight standing street supply " +
    "tally tell telling thought told turn verdict visit wish"
  ).split(" "),
);
/** Nouns of the field that end like a gerund. */
const NOUNS =
  /^(?:|.*-)(?:listing|string|encoding|heading|mapping|padding|paging|recording|ring|setting|settings|signing|sibling|thing|timing|timings|tracking|polling|streaming|reasoning)$/;

/** Openings of comments that say what null means, or begin without a subject. */
const BANNED_OPENINGS =
  /^(?:null|undefined|true|false|left out|of|who|whose|whoever|what|where|whether|so many|so long|nor|neither|by|as|it|its|that|this|these|those|they|nobody|nothing|somebody|no|not)\b/i;

const BANNED_COMMENT_WORDS = /\b(?:nobody|somebody|whoever)\b/i;

const SENTENCE_WORDS_MAX = 20;
const FUNCTION_LINES_MAX = 70;

interface Source {
  path: string;
  text: string;
  code: string;
  /** Each comment as one text: neighbouring `//` lines belong together. */
  comments: { line: number; text: string }[];
  imports: string[];
}

/** Places by the name of their count; a place is `file:line what`. */
export type Findings = Readonly<Record<string, readonly string[]>>;

export async function readSources(root: string): Promise<Source[]> {
  const paths = [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync({ cwd: root })].sort();
  return Promise.all(
    paths.map(async (path) => {
      const text = await Bun.file(join(root, path)).text();
      const layers = readLayers(text);
      const imports = [...text.matchAll(/(?:\bfrom|\bimport\(?)\s*"(\.[^"]+)"/g)].map(([, name]) =>
        normalize(join(dirname(path), name!)),
      );
      return { path, text, code: layers.code, comments: readComments(layers.comments), imports };
    }),
  );
}

function readComments(layer: string): Source["comments"] {
  const found = layer.matchAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/g);
  return [...found].map(({ 0: raw, index }) => ({
    line: lineAt(layer, index),
    text: raw
      .replace(/^\/\*\*?|\*\/$/g, "")
      .replace(/^[ \t]*(?:\/\/|\*)?[ \t]?/gm, "")
      .replace(/\s+/g, " ")
      .trim(),
  }));
}

const split = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[ _-]/);
const isBanned = (name: string) => split(name).some((word) => BANNED_WORDS.has(word));

/** Replaces ids of the spec and backticked code, which are no words. */
const plain = (text: string) =>
  text.replace(/`[^`]*`/g, "x").replace(/\b(?:gateway|agents)\.[\w.]+/g, "x");

export function findBreaches(sources: readonly Source[]): Findings {
  const findings: Record<string, string[]> = {
    "gerund file names": [],
    "banned file names": [],
    "banned exported names": [],
    "type names declared twice": [],
    "import circles": [],
    "banned comment openings": [],
    "banned comment words": [],
    "comment sentences over 20 words": [],
    "functions over 70 lines": sources.flatMap(findLongFunctions),
  };
  const types = new Map<string, { places: string[]; isExported: boolean }>();
  for (const { path, code, comments } of sources) {
    const name = /([^/]+)\.tsx?$/.exec(path)![1]!;
    if (/ing$/.test(name) && !NOUNS.test(name)) findings["gerund file names"]!.push(path);
    if (isBanned(name)) findings["banned file names"]!.push(path);
    for (const { 1: exported, index } of code.matchAll(
      /^export (?:declare )?(?:abstract )?(?:async )?(?:interface|type|class|function\*?|const|let) (\w+)/gm,
    )) {
      if (isBanned(exported!)) {
        findings["banned exported names"]!.push(`${path}:${lineAt(code, index)} ${exported}`);
      }
    }
    for (const { 1: exported, 2: type, index } of code.matchAll(
      /^(export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm,
    )) {
      const known = types.get(type!) ?? { places: [], isExported: false };
      known.places.push(`${path}:${lineAt(code, index)}`);
      known.isExported ||= exported !== undefined;
      types.set(type!, known);
    }
    for (const { line, text } of comments) {
      const opening = text.replace(/^(?:(?:gateway|agents)\.[\w.]+[,:;]?\s*)+/, "");
      if (BANNED_OPENINGS.test(opening)) {
        findings["banned comment openings"]!.push(`${path}:${line} ${opening.slice(0, 60)}`);
      }
      if (BANNED_COMMENT_WORDS.test(text)) {
        findings["banned comment words"]!.push(`${path}:${line} ${text.slice(0, 60)}`);
      }
      for (const sentence of plain(text).split(/(?<=[.!?])\s+|:\s+|;\s+| · /)) {
        const words = sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;
        if (words > SENTENCE_WORDS_MAX) {
          findings["comment sentences over 20 words"]!.push(`${path}:${line} ${words} words`);
        }
      }
    }
  }
  for (const [type, { places }] of types) {
    if (new Set(places.map((place) => place.split(":")[0])).size > 1) {
      findings["type names declared twice"]!.push(`${type} ${places.join(" ")}`);
    }
  }
  findings["import circles"] = findCircles(sources).map((circle) => circle.join(" "));
  return findings;
}

function findLongFunctions({ path, text }: Pick<Source, "path" | "text">): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const found: string[] = [];
  const lineOf = (position: number) => file.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node) => {
    if (ts.isFunctionLike(node)) {
      const first = lineOf(node.getStart(file));
      const lines = lineOf(node.end) - first + 1;
      if (lines > FUNCTION_LINES_MAX) found.push(`${path}:${first + 1} ${lines} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Groups of files that import each other, types included (strongly connected, by Tarjan). */
export function findCircles(sources: readonly Pick<Source, "path" | "imports">[]): string[][] {
  const byPath = new Map(sources.map((source) => [source.path, source.imports]));
  const seen = new Map<string, { index: number; low: number; isOpen: boolean }>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string) => {
    const node = { index: seen.size, low: seen.size, isOpen: true };
    seen.set(path, node);
    open.push(path);
    for (const target of byPath.get(path)!) {
      if (!byPath.has(target)) continue;
      const other = seen.get(target);
      if (!other) node.low = Math.min(node.low, visit(target).low);
      else if (other.isOpen) node.low = Math.min(node.low, other.index);
    }
    if (node.low === node.index) {
      const circle = open.splice(open.indexOf(path));
      for (const member of circle) seen.get(member)!.isOpen = false;
      if (circle.length > 1) circles.push(circle.sort());
    }
    return node;
  };
  for (const path of byPath.keys()) if (!seen.has(path)) visit(path);
  return circles;
}

export function measureSize(sources: readonly Source[]): Readonly<Record<string, number>> {
  const lines = sources.map(({ text }) => text.split("\n").length - 1).sort((a, b) => a - b);
  const at = (share: number) => lines[Math.floor((lines.length - 1) * share)] ?? 0;
  const importers = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    for (const target of imports) {
      importers.set(target, (importers.get(target) ?? new Set()).add(path));
    }
  }
  const single = sources.filter(({ path }) => {
    const users = importers.get(path);
    return users?.size === 1 && dirname([...users][0]!) === dirname(path);
  });
  const words = sources.flatMap(({ comments }) =>
    comments.map(({ text }) => text.split(" ").length),
  );
  return {
    files: sources.length,
    lines: lines.reduce((sum, count) => sum + count, 0),
    "median file": at(0.5),
    "90th percentile": at(0.9),
    "longest file": at(1),
    comments: words.length,
    "words in comments": words.reduce((sum, count) => sum + count, 0),
    "files of one neighbour": single.length,
  };
}

if (import.meta.main) {
  const [first, second] = process.argv.slice(2);
  const list = first === "--list" ? second : undefined;
  const root = first && !list ? first : dirname(import.meta.dir);
  const sources = await readSources(root);
  const findings = findBreaches(sources);
  if (list) console.log((findings[list] ?? []).join("\n"));
  else {
    const counts = Object.entries(findings).map(([name, places]) => [name, places.length] as const);
    for (const [name, count] of [...Object.entries(measureSize(sources)), ...counts]) {
      console.log(`${String(count).padStart(7)}  ${name}`);
    }
  }
}
