// The format of a backup: lines of JSON in zstd, which begin with a header and end with a manifest.
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { maybe } from "../platform/schema.ts";

/** A refusal or a failure of a backup, a restore or a move, as one sentence. */
export class BackupError extends Error {
  override name = "BackupError";
}

export const FORMAT = 1;

const text = (description: string) => Type.String({ description });
/** An identity, without what a database or a terminal would refuse. */
const id = (description: string) => Type.String({ description, pattern: "^[0-9A-Za-z-]{1,64}$" });
/** Printable ASCII, which no terminal takes for a command. */
const line = (description: string) =>
  Type.String({ description, pattern: "^[\\x20-\\x7e]{1,64}$" });
const time = (description: string) =>
  Type.String({
    description,
    pattern: "^\\d{4}-(0\\d|1[0-2])-[0-3]\\dT[0-2]\\d:[0-5]\\d:[0-5]\\d\\.\\d{3}Z$",
  });

/** First line. */
export const BackupHeader = Type.Object({
  wadi_backup: Type.Integer({ description: "Version of the format." }),
  program: text("Version of the program that wrote it."),
  created_at: text("Moment of the snapshot."),
  schema: Type.Array(Type.Integer(), { description: "Numbers of the schema's migrations." }),
});
export type BackupHeader = Static<typeof BackupHeader>;

/** Line before the rows of a table; each row is a line with an array of its values. */
export const TableHead = Type.Object({
  table: text("Name of the table."),
  columns: Type.Array(Type.String(), { description: "Columns in the order of the values." }),
});
export type TableHead = Static<typeof TableHead>;

/** Last line. */
export const BackupManifest = Type.Object({
  program: line("Version of the program that wrote it."),
  created_at: time("Moment of the snapshot."),
  schema: Type.Array(Type.Integer(), { description: "Numbers of the schema's migrations." }),
  installation_id: maybe(id("Identity of the installation; null: its schema has none.")),
  key_id: maybe(id("Name of the key that its secrets are sealed with; null: none yet.")),
  secrets_key: maybe(text("The key itself; null unless it was asked for.")),
  tables: Type.Array(
    Type.Object({
      name: text("Name of the table."),
      rows: Type.Integer({ description: "Its rows." }),
    }),
    { description: "Tables in the order of the file." },
  ),
  sha256: text("SHA-256 of all lines before this one, in hexadecimal digits."),
});
export type BackupManifest = Static<typeof BackupManifest>;

/** Done and total rows of a task under way. */
export type OnProgress = (done: number, total: number) => void;

export function parseLine<T>(schema: Parameters<typeof Value.Check>[0], line: string): T | null {
  try {
    const value: unknown = JSON.parse(line);
    return Value.Check(schema, value) ? (value as T) : null;
  } catch {
    return null;
  }
}

export function sumRows({ tables }: Pick<BackupManifest, "tables">): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}
