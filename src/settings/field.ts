// One field of the table as the reader walks it: JSON Schema's words and the few of our own.
export interface Field {
  type?: string;
  /** A name of formats.ts. */
  format?: string;
  const?: unknown;
  enum?: readonly unknown[];
  description?: string;
  default?: unknown;
  /** Stands in a new file where there is no default to show. */
  example?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  unquoted?: boolean;
  reloads?: boolean;
  /** A table whose fields nobody here knows. */
  any_fields?: boolean;
  items?: Field;
  anyOf?: readonly Field[];
  properties?: Readonly<Record<string, Field>>;
  patternProperties?: Readonly<Record<string, Field>>;
}

/** The settings with one place in the file, by path: all but those inside the list of models. */
export function listFields(table: Field, path = ""): [string, Field][] {
  return Object.entries(table.properties ?? {}).flatMap(([name, field]): [string, Field][] => {
    const here = path === "" ? name : `${path}.${name}`;
    if (field.properties) return listFields(field, here);
    return field.items?.properties ? [] : [[here, field]];
  });
}
