// Reads the modules of src/ with their imports, and writes the graph and the import table.

import { dirname, join, normalize } from "node:path/posix";
import { type Layers, lineAt, readLayers } from "../../scripts/source.ts";

export interface Import {
  /** A file of this repository from the repository's root (`src/app.ts`), or a package's name. */
  target: string;
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

export type ModuleGraph = ReadonlyMap<string, SourceFile>;

const root = join(import.meta.dir.replaceAll("\\", "/"), "../..");

const importForms = [
  /\b(?:import|export)\b(?<clause>[\w$\s{},*]*?)\bfrom\s*["'](?<name> *)["']/dg,
  /\bimport\s*(?<clause>)["'](?<name> *)["']/dg,
  /\bimport\s*\(\s*(?<clause>)["'](?<name> *)["']/dg,
];

/** Import names come from the text, because the code layer has blank strings. */
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

export const buildGraph = (texts: Record<string, string>): ModuleGraph =>
  new Map(Object.entries(texts).map(([path, text]) => [path, readSource(path, text)]));

export const readGraph = async (): Promise<ModuleGraph> => {
  const paths = [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync({ cwd: root })];
  const texts: Record<string, string> = {};
  for (const path of paths.map((path) => path.replaceAll("\\", "/")).sort()) {
    texts[path] = await Bun.file(join(root, path)).text();
  }
  return buildGraph(texts);
};

/** The module of a file; a file directly in src/ is a module of its own. */
export const moduleOf = (path: string): string => {
  const [, module = "", inside] = path.split("/");
  return inside === undefined ? module.replace(/\.tsx?$/, "") : module;
};

/** A Mermaid drawing of the modules; an import that follows from two others has no arrow. */
export const drawGraph = (graph: ModuleGraph, order: readonly string[]): string => {
  const imports = listImports(graph);
  const modules = order.filter((module) => imports.has(module));
  const lines = modules.flatMap((module) => {
    const direct = modules.filter((other) => other !== module && imports.get(module)!.has(other));
    const shown = direct.filter(
      (other) => !direct.some((between) => between !== other && reaches(imports, between, other)),
    );
    return shown.length > 0 ? [`  ${module} --> ${shown.join(" & ")}`] : [];
  });
  return ["```mermaid", "flowchart TD", ...lines, "```"].join("\n");
};

function reaches(imports: ReadonlyMap<string, Set<string>>, from: string, to: string): boolean {
  const direct = imports.get(from);
  if (!direct) return false;
  return direct.has(to) || [...direct].some((next) => next !== from && reaches(imports, next, to));
}

/** Modules that have files yet. */
export const writeImportTable = (
  mayImport: Readonly<Record<string, readonly string[]>>,
  graph: ModuleGraph,
): string => {
  const present = new Set([...graph.keys()].map(moduleOf));
  const rows = Object.entries(mayImport).filter(([module]) => present.has(module));
  return [
    "| module | may import |",
    "|---|---|",
    ...rows.map(([module, others]) =>
      `| `.concat("`", module, "` | ", others.join(", ") || "nothing", " |"),
    ),
  ].join("\n");
};

function listImports(graph: ModuleGraph): Map<string, Set<string>> {
  const modules = new Map<string, Set<string>>();
  for (const file of graph.values()) {
    const module = moduleOf(file.path);
    const known = modules.get(module) ?? new Set<string>();
    modules.set(module, known);
    for (const { target } of file.imports)
      if (target.startsWith("src/")) known.add(moduleOf(target));
  }
  return modules;
}

const map = join(root, "src/README.md");
const frameOf = (name: string) =>
  new RegExp(`(<!-- ${name} -->\\n)([\\s\\S]*?)(<!-- /${name} -->)`);

export const readSection = async (name: string): Promise<string | undefined> =>
  frameOf(name)
    .exec(await Bun.file(map).text())?.[2]
    ?.trim();

export const writeSection = async (name: string, content: string): Promise<void> => {
  const text = await Bun.file(map).text();
  await Bun.write(
    map,
    text.replace(frameOf(name), (_, open, __, close) => `${open}${content}\n${close}`),
  );
};
