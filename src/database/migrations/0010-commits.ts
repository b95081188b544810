// The number of commits of this database, by which a start detects that some are missing.
import type { Migration } from "./migration.ts";

export const commits: Migration = {
  number: 10,
  name: "commits",
  // A database server looks after its own commits; only SQLite has this table.
  statements: ({ strict }) =>
    strict === ""
      ? []
      : [
          `CREATE TABLE wadi_commits (commits INTEGER NOT NULL)${strict}`,
          "INSERT INTO wadi_commits VALUES (0)",
        ],
};
