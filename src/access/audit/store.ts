// The audit log: a row for every change by a person, written before it and completed after it.
import { type Static, Type } from "@sinclair/typebox";
import { into, none, type Sql, sql, store } from "../../database/index.ts";
import { maybe, oneOf, Resource, Timestamp } from "../../platform/schema.ts";

const Json = Type.Unknown();

export const AuditEntry = Resource("AuditEntry", {
  id: Type.String({ format: "uuid", description: "Identifier, in the order of the changes." }),
  at: Timestamp("Begin of the change."),
  actor_kind: oneOf(
    ["operator", "user"],
    "`operator`: by a token or session; `user`: a user of the server's system, by a command.",
  ),
  actor: Type.String({ description: "Name of the operator or the system's user." }),
  via: oneOf(
    ["command line", "operator API", "console", "approval link"],
    "What the change was made through; `approval link`: by whom the operator made a link for.",
  ),
  operation: Type.String({ description: "The command's words, such as `keys revoke`." }),
  target: maybe(Type.String({ description: "Id or name of what was changed; null: unknown yet." })),
  outcome: oneOf(
    ["begun", "done", "failed"],
    "`begun` stays where the process ended in the middle: the change may have happened.",
  ),
  state_before: maybe(
    Type.Unsafe<unknown>({ ...Json, description: "The target before; null: it did not exist." }),
  ),
  state_after: maybe(
    Type.Unsafe<unknown>({ ...Json, description: "The target after; null: it does not exist." }),
  ),
  error: maybe(Type.String({ description: "Why the change failed." })),
});
export type AuditEntry = Static<typeof AuditEntry>;

export interface AuditFilter {
  actor?: string;
  /** Words of a command, with or without its options. */
  operation?: string;
  /** A whole name or id, or at least 6 first or last characters of an id. */
  target?: string;
  /** Milliseconds since 1970; entries from then on. */
  since?: number;
  /** Milliseconds since 1970; entries before then. */
  until?: number;
  limit: number;
}

const ID_PART = /^[0-9a-f-]{6,35}$/;

export const auditStore = store(
  "audit",
  {
    /** Newest first. */
    list: (db, { actor, operation, target, since, until, limit }: AuditFilter) =>
      db.all(
        AuditEntry,
        sql`SELECT * FROM audit WHERE at >= ${since ?? 0}
            ${until === undefined ? none : sql`AND at < ${until}`}
            ${actor === undefined ? none : sql`AND actor = ${actor}`}
            ${operation === undefined ? none : sql`AND ${isOperation(operation)}`}
            ${target === undefined ? none : sql`AND ${isTarget(target)}`}
            ORDER BY id DESC LIMIT ${limit}`,
      ),
  },
  {
    begin: async (tx, row: AuditEntry) => {
      await tx.run(sql`INSERT INTO audit ${into(AuditEntry, row)}`);
    },
    /** Completes an entry. */
    end: async (tx, row: AuditEntry) => {
      const { id, target, outcome, error } = row;
      const before = JSON.stringify(row.state_before);
      const after = JSON.stringify(row.state_after);
      await tx.run(
        sql`UPDATE audit SET target = ${target}, outcome = ${outcome}, error = ${error},
              state_before = ${before}, state_after = ${after} WHERE id = ${id}`,
      );
    },
    /** Deletes up to `limit` entries from before `until`, the oldest first; returns how many. */
    sweep: (tx, until: number, limit: number) =>
      tx.run(
        sql`DELETE FROM audit WHERE id IN
              (SELECT id FROM audit WHERE at < ${until} ORDER BY at LIMIT ${limit})`,
      ),
  },
);

function isOperation(words: string): Sql {
  const beginning = `${words} `;
  return sql`(operation = ${words} OR SUBSTR(operation, 1, ${beginning.length}) = ${beginning})`;
}

function isTarget(typed: string): Sql {
  if (!ID_PART.test(typed)) return sql`target = ${typed}`;
  return sql`(target = ${typed} OR target LIKE ${`${typed}%`} OR target LIKE ${`%${typed}`})`;
}
