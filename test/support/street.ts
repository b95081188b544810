// Reads the houses of src/ and what they import from each other, and draws them as a street.

import { dirname, join, normalize } from "node:path/posix";
import { type Layers, lineAt, readLayers } from "../../scripts/source.ts";

export interface Import {
  /** A file of ours from the repository's root (`src/app.ts`), or a package's name. */
  target: string;
  /** What is taken, as written between `import` and `from`. */
  clause: string;
  isRelative: boolean;
  line: number;
  isTypeOnly: boolean;
}

export interface SourceFile extends Layers {
  /** From the repository's root, with forward slashes. */
  path: string;
  text: string;
  imports: Import[];
}

export type Street = ReadonlyMap<string, SourceFile>;

const root = join(import.meta.dir.replaceAll("\\", "/"), "../..");

const importForms = [
  /\b(?:import|export)\b(?<clause>[\w$\s{},*]*?)\bfrom\s*["'](?<name> *)["']/dg,
  /\bimport\s*(?<clause>)["'](?<name> *)["']/dg,
  /\bimport\s*\(\s*(?<clause>)["'](?<name> *)["']/dg,
];

/** Reads one file as the laws see it; names come from its text, as its code has blank strings. */
const readSource = (path: string, text: string): SourceFile => {
  const layers = readLayers(text);
  const imports = importForms.flatMap((form) =>
    [...layers.code.matchAll(form)].map((found): Import => {
      const [from, to] = found.indices?.groups?.name ?? [0, 0];
      const name = text.slice(from, to);
      const clause = found.groups?.clause ?? "";
      return {
        target: name.startsWith(".") ? normalize(join(dirname(path), name)) : name,
        clause,
        isRelative: name.startsWith("."),
        line: lineAt(text, from),
        isTypeOnly: /^\s*type\b(?!\s*,|\s*$)/.test(clause),
      };
    }),
  );
  return { path, text, imports, ...layers };
};

/** Builds a street from texts by path: the tests of the laws make small ones up. */
export const buildStreet = (texts: Record<string, string>): Street =>
  new Map(Object.entries(texts).map(([path, text]) => [path, readSource(path, text)]));

/** Reads every file of src/ from the disk, in the order of their paths. */
export const readStreet = async (): Promise<Street> => {
  const paths = [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync({ cwd: root })];
  const texts: Record<string, string> = {};
  for (const path of paths.map((path) => path.replaceAll("\\", "/")).sort()) {
    texts[path] = await Bun.file(join(root, path)).text();
  }
  return buildStreet(texts);
};

/** The house that a file stands in; the four files that join the houses are their own. */
export const houseOf = (path: string): string => {
  const [, house = "", inside] = path.split("/");
  return inside === undefined ? house.replace(/\.tsx?$/, "") : house;
};

/** Draws the houses in this order, and an arrow wherever one imports a file of another. */
export const drawStreet = (street: Street, order: readonly string[]): string => {
  const files = [...street.values()];
  const houses = order.filter((house) => files.some((file) => houseOf(file.path) === house));
  const arrows = houses.flatMap((house) => {
    const inside = files.filter((file) => houseOf(file.path) === house);
    const imports = inside.flatMap((file) => file.imports);
    const ours = imports.filter(({ target }) => target.startsWith("src/"));
    const targets = ours.map(({ target }) => houseOf(target));
    return houses
      .filter((other) => other !== house && targets.includes(other))
      .map((other) => `  ${house} --> ${other}`);
  });
  const nodes = houses.map((house) => `  ${house}`);
  return ["```mermaid", "flowchart TD", ...nodes, ...arrows, "```"].join("\n");
};

const map = join(root, "src/README.md");
const frame = /(<!-- street -->\n)([\s\S]*?)(<!-- \/street -->)/;

/** The drawing that stands in src/README.md. */
export const readDrawing = async (): Promise<string | undefined> =>
  frame.exec(await Bun.file(map).text())?.[2]?.trim();

/** Puts a drawing into src/README.md, which is begun where there is none. */
export const writeDrawing = async (drawing: string): Promise<void> => {
  const empty = "# The street\n\n<!-- street -->\n<!-- /street -->\n";
  const text = await Bun.file(map)
    .text()
    .catch(() => empty);
  await Bun.write(
    map,
    text.replace(frame, (_, open, __, close) => `${open}${drawing}\n${close}`),
  );
};
