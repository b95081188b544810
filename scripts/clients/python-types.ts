// Writes the schemas of an OpenAPI document as TypedDicts.

import type { OpenApiDocument, Schema } from "./document.ts";

const KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except " +
    "finally for from global if import in is lambda nonlocal not or pass raise return try while " +
    "with yield"
  ).split(" "),
);

export const isIdentifier = (name: string): boolean =>
  /^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name);

const PLAIN: Record<string, string> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

export class PythonTypes {
  readonly #schemas: OpenApiDocument["components"]["schemas"];
  readonly #events: readonly string[];
  /** Classes and aliases by name; a nested object is a class of its own. */
  readonly #classes = new Map<string, string>();
  readonly #aliases = new Map<string, string>();

  constructor({ components, webhooks }: OpenApiDocument) {
    this.#schemas = components.schemas;
    for (const [name, schema] of Object.entries(this.#schemas)) {
      if (isObject(schema)) this.#defineClass(name, schema);
      else this.#aliases.set(name, this.#typeOf(schema, name));
    }
    this.#events = Object.values(webhooks).map(({ post }) => {
      return this.refer(post.requestBody!.content!["application/json"]!.schema);
    });
  }

  /** The type of a schema outside the components: of a body, a reply or a parameter. */
  refer(schema: Schema, prefix = ""): string {
    if (schema.$ref) return prefix + nameOf(schema.$ref);
    return this.#typeOf(schema, "Parameter");
  }

  write(): string {
    const aliases = this.#sortAliases().map(([name, type]) => `${name}: TypeAlias = ${type}`);
    return `"""Written by \`bun run clients\` from the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

${[...this.#classes.values()].join("\n\n")}

${aliases.join("\n")}
#: What the server sends to a webhook, told apart by its \`type\`.
SignedEvent: TypeAlias = ${this.#events.join(" | ")}
`;
  }

  /** Those that others name come first, since Python evaluates them. */
  #sortAliases(): [string, string][] {
    const sorted = new Map<string, string>();
    const add = (name: string) => {
      const type = this.#aliases.get(name);
      if (type === undefined || sorted.has(name)) return;
      for (const [one] of type.matchAll(/\w+/g)) if (one !== name) add(one);
      sorted.set(name, type);
    };
    for (const name of this.#aliases.keys()) add(name);
    return [...sorted];
  }

  #defineClass(name: string, { properties = {}, required = [], description }: Schema): string {
    // Reserved before its fields, whose nested objects are named after it.
    this.#classes.set(name, "");
    const fields = Object.entries(properties).map(([field, schema]) => {
      const type = this.#typeOf(schema, name + titleCase(field));
      return { field, type: required.includes(field) ? type : `NotRequired[${type}]`, schema };
    });
    const text = fields.every(({ field }) => isIdentifier(field))
      ? `class ${name}(TypedDict):\n${[
          comment(description),
          ...fields.map(({ field, type, schema }) => {
            return `    ${field}: ${type}\n${comment(schema.description)}`;
          }),
        ].join("")}${fields.length === 0 && !description ? "    pass\n" : ""}`
      : `${name} = TypedDict(${JSON.stringify(name)}, {${fields
          .map(({ field, type }) => `${JSON.stringify(field)}: ${JSON.stringify(type)}`)
          .join(", ")}})\n`;
    this.#classes.set(name, text);
    return name;
  }

  #typeOf(schema: Schema, name: string): string {
    if (schema.$ref) return nameOf(schema.$ref);
    if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
    if (schema.enum) return `Literal[${schema.enum.map(literal).join(", ")}]`;
    const variants = schema.anyOf ?? schema.oneOf;
    if (variants) return unite(variants.map((one) => this.#typeOf(one, name)));
    if (Array.isArray(schema.type)) {
      return unite(schema.type.map((type) => this.#typeOf({ ...schema, type }, name)));
    }
    if (schema.type === "array") {
      return `list[${schema.items ? this.#typeOf(schema.items, `${name}Item`) : "Any"}]`;
    }
    if (isObject(schema)) return this.#defineClass(this.#freeName(name), schema);
    if (schema.type === "object") {
      const { additionalProperties: value } = schema;
      return `dict[str, ${typeof value === "object" ? this.#typeOf(value, `${name}Value`) : "Any"}]`;
    }
    return PLAIN[String(schema.type)] ?? "Any";
  }

  #freeName(name: string): string {
    const isTaken = (one: string) => one in this.#schemas || this.#classes.has(one);
    let free = name;
    for (let nth = 2; isTaken(free); nth++) free = `${name}${nth}`;
    return free;
  }
}

const isObject = ({ type, properties = {}, anyOf, oneOf }: Schema): boolean =>
  type === "object" && !anyOf && !oneOf && Object.keys(properties).length > 0;

const nameOf = (reference: string): string => reference.split("/").at(-1)!;

const unite = (types: readonly string[]): string => [...new Set(types)].join(" | ");

const literal = (value: unknown): string =>
  value === true ? "True" : value === false ? "False" : JSON.stringify(value);

const titleCase = (name: string): string =>
  name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A documentation string behind a field, where editors look for it. */
const comment = (text?: string): string =>
  text ? `    """${text.replaceAll("\\", "\\\\").replaceAll('"', "'")}"""\n` : "";
