// The bounds of all inputs in an OpenAPI document, for tests that state them as numbers.

interface Part {
  properties?: Record<string, Part>;
  items?: Part;
  anyOf?: Part[];
  additionalProperties?: Part | boolean;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  default?: unknown;
}
interface Operation {
  operationId?: string;
  parameters?: { name: string; in: string; schema?: Part }[];
  requestBody?: { content: Record<string, { schema: Part & { $ref?: string } }> };
}
interface InputDocument {
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Part> };
}

/** Names of inputs by their bounds: `{ "1..200 characters": "NewAgent.name NewTool.name" }`. */
export function listBounds({ paths, components }: InputDocument): Record<string, string> {
  const found = new Map<string, Set<string>>();
  const note = (bounds: string, place: string) =>
    found.set(bounds, (found.get(bounds) ?? new Set()).add(place));
  const walk = (schema: Part, place: string): void => {
    const bounds = writeBounds(schema);
    if (bounds !== "") note(bounds, place);
    for (const [name, one] of Object.entries(schema.properties ?? {}))
      walk(one, `${place}.${name}`);
    for (const one of schema.anyOf ?? []) walk(one, place);
    if (schema.items) walk(schema.items, `${place}[]`);
    if (typeof schema.additionalProperties === "object")
      walk(schema.additionalProperties, `${place}{}`);
  };
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    const { operationId, parameters = [], requestBody } = operation;
    for (const { name, schema } of parameters) if (schema) walk(schema, `${operationId}?${name}`);
    for (const { schema } of Object.values(requestBody?.content ?? {})) {
      const name = schema.$ref?.split("/").at(-1);
      if (name === undefined) walk(schema, String(operationId));
      else walk(components!.schemas![name]!, name);
    }
  }
  const lines = [...found].map(([bounds, places]) => [bounds, [...places].toSorted().join(" ")]);
  return Object.fromEntries(lines);
}

function writeBounds(schema: Part): string {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems } = schema;
  const pairs = [
    [minimum, maximum, ""],
    [minLength, maxLength, " characters"],
    [minItems, maxItems, " items"],
  ] as const;
  const texts = pairs
    .filter(([min, max]) => min !== undefined || max !== undefined)
    .map(([min = "", max = "", unit]) => `${min}..${max}${unit}`);
  if (typeof schema.default === "number") texts.push(`default ${schema.default}`);
  return texts.join(", ");
}
