// Reads TOML with the position of every key, and writes values as TOML.
import { type AST, ParseError, parseTOML } from "toml-eslint-parser";

/** Maximum nesting of lists and inline tables; the settings need three levels. */
const DEPTH_MAX = 32;

/** Line and column, counted from 1. */
export interface TomlPosition {
  line: number;
  column: number;
}

type TomlTable = Record<string, unknown>;

export interface TomlDocument {
  value: TomlTable;
  positions: ReadonlyMap<string, TomlPosition>;
}

/** The message quotes nothing of the text, which may hold a password. */
export class TomlError extends Error {
  override name = "TomlError";

  constructor(
    message: string,
    readonly position: TomlPosition,
  ) {
    super(message);
  }
}

export function readToml(text: string): TomlDocument {
  // Without a file there is nothing to load the parser for.
  if (text === "") return { value: Object.create(null), positions: new Map() };
  return new DocumentReader().read(parse(text));
}

export function joinPath(parent: string, name: string): string {
  const shown = isBareKey(name) ? name : JSON.stringify(name);
  return parent === "" ? shown : `${parent}.${shown}`;
}

/** Place of a top-level table; the line behind the header of an empty one begins at `at`. */
export type TablePlace =
  | { kind: "absent" }
  | { kind: "empty"; at: number }
  | { kind: "filled"; line: number };

/** Finds where a table can be filled without changing what the text says. */
export function placeTable(text: string, name: string): TablePlace {
  const nodes = parse(text).body[0].body.filter(({ key }) => nameOf(key.keys[0]!) === name);
  const [first, ...others] = nodes;
  if (!first) return { kind: "absent" };
  const isHeader = first.type === "TOMLTable" && first.kind === "standard";
  const isEmpty = isHeader && first.key.keys.length === 1 && first.body.length === 0;
  if (!isEmpty || others.length > 0) return { kind: "filled", line: first.loc.start.line };
  const lineEnd = text.indexOf("\n", first.range[1]);
  return { kind: "empty", at: lineEnd === -1 ? text.length : lineEnd + 1 };
}

export function writeValue(value: unknown): string {
  if (typeof value === "string") return writeText(value);
  if (Array.isArray(value)) return `[${value.map(writeValue).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const pairs = Object.entries(value).map(
    ([name, one]) => `${isBareKey(name) ? name : writeText(name)} = ${writeValue(one)}`,
  );
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}

/** JSON's escapes are TOML's, except that TOML also escapes DEL. */
function writeText(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\x7f", "\\u007f");
}

const isBareKey = (name: string) => /^[A-Za-z0-9_-]+$/.test(name);

function parse(text: string): AST.TOMLProgram {
  try {
    // A space for the byte order mark keeps every offset.
    return parseTOML(text.replace(/^\ufeff/, " "), { tomlVersion: "1.1" });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const message = error.message.charAt(0).toLowerCase() + error.message.slice(1);
    throw new TomlError(message, { line: error.lineNumber, column: error.column + 1 });
  }
}

/** Tables have no prototype, so that `__proto__` is a name like any other. */
class DocumentReader {
  readonly #root: TomlTable = Object.create(null);
  readonly #positions = new Map<string, TomlPosition>();

  read(program: AST.TOMLProgram): TomlDocument {
    for (const node of program.body[0].body) {
      if (node.type === "TOMLKeyValue") this.#readPair(this.#root, "", node, 0);
      else this.#readTable(node);
    }
    return { value: this.#root, positions: this.#positions };
  }

  /** A resolved key holds an index behind the name of each list of tables. */
  #readTable({ key, resolvedKey, body }: AST.TOMLTable): void {
    requireDepth(resolvedKey.length, key);
    let table: TomlTable = this.#root;
    let path = "";
    let depth = 0;
    for (const [at, step] of resolvedKey.entries()) {
      if (typeof step === "string") path = joinPath(path, step);
      else path = `${path}[${step}]`;
      this.#note(path, key.keys[typeof step === "string" ? depth++ : depth - 1]!);
      const isList = typeof resolvedKey[at + 1] === "number";
      table[step] ??= isList ? [] : Object.create(null);
      table = table[step] as TomlTable;
    }
    for (const pair of body) this.#readPair(table, path, pair, 0);
  }

  #readPair(parent: TomlTable, parentPath: string, pair: AST.TOMLKeyValue, depth: number): void {
    const { keys } = pair.key;
    requireDepth(depth + keys.length, pair);
    let table = parent;
    let path = parentPath;
    for (const key of keys) {
      const name = nameOf(key);
      path = joinPath(path, name);
      this.#note(path, key);
      if (key === keys.at(-1)) {
        table[name] = this.#readValue(pair.value, path, depth);
      } else {
        table[name] ??= Object.create(null);
        table = table[name] as TomlTable;
      }
    }
  }

  #readValue(node: AST.TOMLContentNode, path: string, depth: number): unknown {
    requireDepth(depth, node);
    switch (node.type) {
      case "TOMLArray":
        return node.elements.map((element, index) => {
          const here = `${path}[${index}]`;
          this.#note(here, element);
          return this.#readValue(element, here, depth + 1);
        });
      case "TOMLInlineTable": {
        const table: TomlTable = Object.create(null);
        for (const pair of node.body) this.#readPair(table, path, pair, depth + 1);
        return table;
      }
      case "TOMLValue":
        if (node.kind === "integer" && BigInt(node.value) !== node.bigint) {
          throw new TomlError("the number has too many digits", toPosition(node));
        }
        return node.value;
    }
  }

  #note(path: string, node: AST.TOMLNode): void {
    if (!this.#positions.has(path)) this.#positions.set(path, toPosition(node));
  }
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === "TOMLBare" ? key.name : key.value;
}

function requireDepth(depth: number, node: AST.TOMLNode): void {
  if (depth > DEPTH_MAX) throw new TomlError("more than 32 levels", toPosition(node));
}

function toPosition({ loc }: AST.TOMLNode): TomlPosition {
  return { line: loc.start.line, column: loc.start.column + 1 };
}
