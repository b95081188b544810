// The words in which settings are declared: JSON Schema's own, and the few of ours.
import { type TUnsafe, Type } from "@sinclair/typebox";
import type { AllowEntry } from "../net/index.ts";
import type { FormatName } from "./formats.ts";

/** What a setting may say beside JSON Schema's own words. */
export interface Words<Value> {
  description: string;
  default?: Value;
  /** Stands in a new file where there is no default to show. */
  example?: Value;
  /** Durations and numbers; those of a duration are milliseconds. */
  minimum?: number;
  maximum?: number;
  /** The value may hold a password: no message quotes it. */
  unquoted?: true;
  /**
   * Said by every setting outside of models, which all reload. true: a change counts from the next
   * request on; false: it waits for the next start.
   */
  reloads?: boolean;
}

/** Text of a named form (formats.ts). */
export const text = (format: FormatName, words: Words<string>) => Type.String({ format, ...words });

/** One of a few words. */
export const word = <const T extends string>(values: readonly T[], words: Words<T>) =>
  Type.Unsafe<T>({ type: "string", enum: values, ...words });

/** One of a few whole numbers. */
export const choice = <const T extends number>(values: readonly T[], words: Words<T>) =>
  Type.Unsafe<T>({ type: "integer", enum: values, ...words });

/** "5s" in the file; whole milliseconds, under the name with `_ms` behind it, in the program. */
export interface Duration extends TUnsafe<number> {
  format: "duration";
}
export const duration = (words: Words<string>) =>
  Type.Unsafe<number>({ type: "string", format: "duration", ...words }) as Duration;

/** "1.20" in the file; whole micro-SAR in the program. */
export const money = (words: Words<string>) =>
  Type.Unsafe<number>({ type: "string", format: "money", ...words });

/** "30d" or "forever" in the file; whole milliseconds, or null, in the program. */
export const retention = (words: Words<string>) =>
  Type.Unsafe<number | null>({ type: "string", format: "retention", ...words });

/** "10.0.0.9:8443" in the file; host and port in the program. */
export const place = (words: Words<string>) =>
  Type.Unsafe<AllowEntry>({ type: "string", format: "place", ...words });

/** Any table: it goes into a JSON body as it stands. */
export const fields = (words: Words<object>) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    any_fields: true,
    ...words,
  });

/** A program and its arguments, each as it is: no shell reads them. */
export const command = (description: string) =>
  Type.Array(
    Type.String({ description: "The program, then each argument.", minLength: 1, unquoted: true }),
    { description, default: [], maxItems: 64 },
  );
