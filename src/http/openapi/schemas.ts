// Rewrites schemas for the document: named ones by reference, and without our symbols.
import type { TSchema } from "@sinclair/typebox";

export type SpecObject = Record<string, unknown>;

export function refer(schema: TSchema): SpecObject {
  if (!schema.$id) return strip(schema);
  const { $id, description } = schema;
  return { ...referTo($id), ...(description && { description }) };
}

const referTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Returns how a parameter is written, where it is an object. */
export const styleOf = ({ type }: SpecObject): SpecObject =>
  type === "object" ? { style: "deepObject", explode: true } : {};

/** Returns a schema's own content, with inner named ones as `$ref`. */
export function strip(schema: TSchema): SpecObject {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    const inner = value as TSchema;
    if (inner.$id && inner !== schema) return refer(inner);
    const { $id, ...rest } = spell(inner);
    return Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, walk(one)]));
  };
  return walk(schema) as SpecObject;
}

/** Pattern by which TypeBox allows any name; generators need `additionalProperties` instead. */
const ANY_NAME = "^(.*)$";

function spell(schema: TSchema): TSchema {
  const { patternProperties, ...others } = schema;
  if (patternProperties?.[ANY_NAME]) {
    return { ...others, additionalProperties: patternProperties[ANY_NAME] } as TSchema;
  }
  // Generators of Python need an `enum` for a constant number.
  if (typeof schema.const === "number") {
    const { const: value, ...rest } = schema;
    return { ...rest, enum: [value] } as unknown as TSchema;
  }
  if (!Array.isArray(schema.anyOf)) return schema;
  return "discriminator" in schema ? spellDiscriminated(schema) : spellWords(schema);
}

const isWord = (schema: TSchema) => "const" in schema && schema.type === "string";

function spellWords(schema: TSchema): TSchema {
  const { anyOf, ...others } = schema;
  const variants = anyOf as TSchema[];
  const words = variants.filter(isWord).map((one) => one.const as string);
  if (words.length < 2) return schema;
  const rest = variants.filter((one) => !isWord(one));
  const word = { type: "string", enum: words };
  return (rest.length === 0
    ? { ...word, ...others }
    : { anyOf: [word, ...rest], ...others }) as unknown as TSchema;
}

/** Writes named variants that one field of words tells apart. */
function spellDiscriminated(schema: TSchema): TSchema {
  const { anyOf, discriminator: propertyName, ...others } = schema;
  const variants = anyOf as TSchema[];
  const mapping = Object.fromEntries(
    variants.map(({ $id, properties }) => [properties[propertyName].const, referTo($id!).$ref]),
  );
  return { ...others, oneOf: variants, discriminator: { propertyName, mapping } } as TSchema;
}

export function collect(schema: TSchema, schemas: SpecObject): void {
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { $id } = value as TSchema;
    if ($id && !Array.isArray(value)) {
      if ($id in schemas) return;
      schemas[$id] = strip(value as TSchema);
    }
    for (const one of Object.values(value)) walk(one);
  };
  walk(schema);
}

interface DocumentedOperation {
  responses: Record<string, SpecObject>;
}

const ERROR = /#\/components\/schemas\/(\w+Error)"/;

export function shareResponses(paths: SpecObject): SpecObject {
  const operations = Object.values(paths).flatMap((one) => Object.values(one as SpecObject));
  const counts = new Map<string, Map<string, number>>();
  const all = (operations as DocumentedOperation[]).flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, response]) => {
      const text = JSON.stringify(response);
      const error = ERROR.exec(text)?.[1];
      return error ? [{ responses, status, text, name: `${error}${status}` }] : [];
    }),
  );
  for (const { name, text } of all) {
    const texts = counts.get(name) ?? new Map<string, number>();
    counts.set(name, texts.set(text, (texts.get(text) ?? 0) + 1));
  }
  const shared: SpecObject = {};
  for (const [name, texts] of counts) {
    const [text, count] = [...texts].reduce((most, one) => (one[1] > most[1] ? one : most));
    if (count > 1) shared[name] = JSON.parse(text);
  }
  const written = new Map(Object.entries(shared).map(([name, one]) => [name, JSON.stringify(one)]));
  for (const { responses, status, text, name } of all) {
    if (written.get(name) === text) responses[status] = { $ref: `#/components/responses/${name}` };
  }
  return shared;
}
