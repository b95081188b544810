// One step of the schema's history, in the dialect of either engine.

export interface Dialect {
  integer: "INTEGER" | "BIGINT";
  /** Text that sorts by code points, independent of the server's locale. */
  text: "TEXT" | 'TEXT COLLATE "C"';
  strict: " STRICT" | "";
  clustered: " STRICT, WITHOUT ROWID" | "";
}

export interface Migration {
  number: number;
  name: string;
  /**
   * An expansion adds tables, indexes, and columns that writers may leave out. The version before
   * works with the database after it. Any other migration raises the schema's number.
   */
  kind?: "expansion";
  /**
   * Number of an expansion after which programs use nothing that this migration removes. Those that
   * know the expansion go on. Without it, only programs that know this migration do.
   */
  compatible_from?: number;
  statements(dialect: Dialect): string[];
}
