// The fields that settings are declared with: JSON Schema's keywords and a few of our own.
import { type TUnsafe, Type } from "@sinclair/typebox";
import type { AllowEntry } from "../net/index.ts";
import type { FormatName } from "./formats.ts";

export interface FieldOptions<Value> {
  description: string;
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

export const text = (format: FormatName, options: FieldOptions<string>) =>
  Type.String({ format, ...options });

export const word = <const T extends string>(values: readonly T[], options: FieldOptions<T>) =>
  Type.Unsafe<T>({ type: "string", enum: values, ...options });

export const choice = <const T extends number>(values: readonly T[], options: FieldOptions<T>) =>
  Type.Unsafe<T>({ type: "integer", enum: values, ...options });

export const count = (default_: number, maximum: number, description: string) =>
  Type.Integer({ description, default: default_, minimum: 1, maximum });

/** "5s" in the file; whole milliseconds in the program, which names the field `…_ms`. */
export interface Duration extends TUnsafe<number> {
  format: "duration";
}
export const duration = (options: FieldOptions<string>) =>
  Type.Unsafe<number>({ type: "string", format: "duration", ...options }) as Duration;

/** "1.20" in the file; whole micro-SAR in the program. */
export const money = (options: FieldOptions<string>) =>
  Type.Unsafe<number>({ type: "string", format: "money", ...options });

/** "30d" or "forever" in the file; whole milliseconds or null in the program. */
export const retention = (options: FieldOptions<string>) =>
  Type.Unsafe<number | null>({ type: "string", format: "retention", ...options });

/** "10.0.0.9:8443" in the file; host and port in the program. */
export const place = (options: FieldOptions<string>) =>
  Type.Unsafe<AllowEntry>({ type: "string", format: "place", ...options });

export const fields = (options: FieldOptions<object>) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({ type: "object", isOpen: true, ...options });

export const serverFields = () => ({
  api_key_env: text("variable", {
    description: "The environment variable that holds the server's key.",
    default: "",
    unquoted: true,
  }),
  api_key_file: Type.String({
    description: "The file that holds the server's key.",
    default: "",
    unquoted: true,
  }),
  headers: Type.Record(
    Type.String(),
    text("header", { description: "One header.", unquoted: true }),
    {
      description: "Further headers of each request; a key goes into api_key_env or api_key_file.",
      default: {},
    },
  ),
  connect_timeout: duration({
    description: "How long connecting may take.",
    default: "5s",
    minimum: 1,
    maximum: 86_400_000,
  }),
});

export const healthEvery = () =>
  duration({
    description: "How often the health is checked; 0s is never.",
    default: "10s",
    maximum: 86_400_000,
  });

/** A program and its arguments; no shell reads them. */
export const command = (description: string) =>
  Type.Array(
    Type.String({ description: "The program, then each argument.", minLength: 1, unquoted: true }),
    { description, default: [], maxItems: 64 },
  );
