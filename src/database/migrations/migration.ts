// What a migration is: a number, a name, and statements for either engine.

/** The few words in which the engines' DDL differs. */
export interface Dialect {
  /** A whole number of 64 bits. */
  integer: "INTEGER" | "BIGINT";
  /** Text that sorts by its code points, on PostgreSQL too, whatever language its server speaks. */
  text: "TEXT" | 'TEXT COLLATE "C"';
  /** Stands behind a table's closing bracket. */
  strict: " STRICT" | "";
  /** The same for a table that lies in the order of its primary key, where the engine has such. */
  clustered: " STRICT, WITHOUT ROWID" | "";
}

export interface Migration {
  number: number;
  name: string;
  statements(dialect: Dialect): string[];
}
