// The fields that settings are declared with: JSON Schema's keywords and a few of our own.
import { type TProperties, type TUnsafe, Type } from "@sinclair/typebox";
import type { AllowEntry } from "../net/index.ts";
import type { FormatName } from "./formats.ts";

export interface FieldOptions<Value> {
  default?: Value;
  /** Shown in a new file if there is no default. */
  example?: Value;
  /** Bounds of numbers, and of durations in milliseconds. */
  minimum?: number;
  maximum?: number;
  /** The value may hold a password: no message quotes it. */
  unquoted?: true;
  /** A change takes effect at the next start, not at the next request. */
  restart?: true;
}

export interface Field {
  type?: string;
  format?: string;
  const?: unknown;
  enum?: readonly unknown[];
  description?: string;
  default?: unknown;
  example?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  unquoted?: boolean;
  restart?: boolean;
  isOpen?: boolean;
  items?: Field;
  anyOf?: readonly Field[];
  properties?: Readonly<Record<string, Field>>;
  patternProperties?: Readonly<Record<string, Field>>;
}

/** Lists the settings with one place in the file, by path: all but those of a list of tables. */
export function listFields(table: Field, path = ""): [string, Field][] {
  return Object.entries(table.properties ?? {}).flatMap(([name, field]): [string, Field][] => {
    const here = path === "" ? name : `${path}.${name}`;
    if (field.properties) return listFields(field, here);
    return field.items?.properties ? [] : [[here, field]];
  });
}

export const table = <Fields extends TProperties>(description: string, fields: Fields) =>
  Type.Object(fields, { description });

/** A top-level table; the file may leave it out. */
export const section = <Fields extends TProperties>(description: string, fields: Fields) =>
  Type.Object(fields, { description, default: {} });

type TextOptions = FieldOptions<string> & Pick<Field, "minLength" | "maxLength">;

export const text = (format: FormatName, description: string, options?: TextOptions) =>
  Type.String({ format, description, ...options });

export const anyText = (description: string, options?: TextOptions) =>
  Type.String({ description, ...options });

export const word = <const T extends string>(
  values: readonly T[],
  description: string,
  options?: FieldOptions<T>,
) => Type.Unsafe<T>({ type: "string", enum: values, description, ...options });

export const choice = <const T extends number>(
  values: readonly T[],
  description: string,
  options?: FieldOptions<T>,
) => Type.Unsafe<T>({ type: "integer", enum: values, description, ...options });

export const flag = (description: string, options: FieldOptions<boolean>) =>
  Type.Boolean({ description, ...options });

export const integer = (description: string, options: FieldOptions<number>) =>
  Type.Integer({ description, ...options });

export const number = (description: string, options: FieldOptions<number>) =>
  Type.Number({ description, ...options });

export const count = (default_: number, maximum: number, description: string) =>
  integer(description, { default: default_, minimum: 1, maximum });

/** "5s" in the file; whole milliseconds in the program, which names the field `…_ms`. */
export interface Duration extends TUnsafe<number> {
  format: "duration";
}
export const duration = (description: string, options: FieldOptions<string>) =>
  readAs<number>("duration", description, options) as Duration;

/** "1.20" in the file; whole micro-SAR in the program. */
export const money = (description: string) => readAs<number>("money", description);

/** "30d" or "forever" in the file; whole milliseconds or null in the program. */
export const retention = (description: string, options: FieldOptions<string>) =>
  readAs<number | null>("retention", description, options);

/** "10.0.0.9:8443" in the file; host and port in the program. */
export const place = (description: string) => readAs<AllowEntry>("place", description);

const readAs = <Value>(format: FormatName, description: string, options?: FieldOptions<string>) =>
  Type.Unsafe<Value>({ type: "string", format, description, ...options });

export const fields = (description: string, options: FieldOptions<object>) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({
    ...{ type: "object", isOpen: true, description },
    ...options,
  });

export const serverFields = () => ({
  api_key_env: text("variable", "The environment variable that holds the server's key.", {
    default: "",
    unquoted: true,
  }),
  api_key_file: anyText("The file that holds the server's key.", { default: "", unquoted: true }),
  headers: Type.Record(Type.String(), text("header", "One header.", { unquoted: true }), {
    description: "Further headers of each request; a key goes into api_key_env or api_key_file.",
    default: {},
  }),
  connect_timeout: duration("How long connecting may take.", {
    default: "5s",
    minimum: 1,
    maximum: 86_400_000,
  }),
});

export const healthEvery = () =>
  duration("How often the health is checked; 0s is never.", {
    default: "10s",
    maximum: 86_400_000,
  });

/** A program and its arguments; no shell reads them. */
export const command = (description: string) =>
  Type.Array(anyText("The program, then each argument.", { minLength: 1, unquoted: true }), {
    description,
    default: [],
    maxItems: 64,
  });
