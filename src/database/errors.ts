// Errors of databases: one sentence that says what is wrong and what to do.
import { dirname } from "node:path";
import { stateOf } from "./postgres-failures.ts";
import { codeOf } from "./sqlite.ts";

/** The database cannot be opened; the message is one sentence for people, without a secret. */
export class DatabaseUnusable extends Error {
  override name = "DatabaseUnusable";
}

/** The database cannot be read or written at the moment: the same may succeed later. */
export class DatabaseUnavailable extends DatabaseUnusable {
  override name = "DatabaseUnavailable";
}

/** A newer program wrote the database: running on would lose what this one does not know. */
export class NewerDatabase extends DatabaseUnusable {
  override name = "NewerDatabase";
  constructor(found: number, known: number) {
    super(
      `the database is newer than this program (schema ${found}, this program knows ${known}): ` +
        "use the newer wadi, or restore a backup made by this one: `wadi restore FILE --data DIR`",
    );
  }
}

/** The server that runs could not read the database after the migration. */
export class SchemaContracted extends DatabaseUnusable {
  override name = "SchemaContracted";
  constructor() {
    super(
      "this version changes the database in a way that a running server cannot read: " +
        "stop each server of an older version, then start this one",
    );
  }
}

const TO_DO = {
  alone:
    "stop it, or restart it with the same server.valkey as this one: " +
    "several servers need that setting",
  shared: "set server.valkey as they do, or give this one another database",
} as const;

/**
 * Another server, or a restore or a move, works on the same data; its lock is the same. `alone`: it
 * lets no other in, as this server would; `shared`: several do, which this one has no setting for.
 */
export class DatabaseInUse extends DatabaseUnusable {
  override name = "DatabaseInUse";
  constructor(place: string, kind?: keyof typeof TO_DO) {
    const who =
      kind === "shared"
        ? "servers that share their limits use"
        : "another wadi process (a server, a move or a restore) uses";
    const then = kind ? TO_DO[kind] : "stop it, or give this one another database";
    super(`${who} ${place}: ${then}`);
  }
}

/** A takeover found other data than those of the running server, whose clients it would get. */
export class OtherDatabase extends DatabaseUnusable {
  override name = "OtherDatabase";
  constructor(place: string) {
    super(
      `the running server serves other data than ${place}, and a takeover cannot change them: ` +
        "restart the server instead",
    );
  }
}

/** A file under a running server is not the one that it opened: what is written is lost. */
export class DatabaseLost extends DatabaseUnusable {
  override name = "DatabaseLost";
  constructor(path: string) {
    super(
      `${path} was removed, moved or replaced while the server ran: ` +
        "put the right files in place, and start it again",
    );
  }
}

/** PostgreSQL's code of the refusal to write to the source of a move. */
export const MOVED_STATE = "WM001";
const MOVED = "were moved while this ran: name their new place in the settings";

export function explainSqlite(file: string, failure: unknown): unknown {
  if (failure instanceof DatabaseUnusable) return failure;
  const directory = dirname(file);
  const sentences: [RegExp, string][] = [
    [
      /^(EACCES|EPERM|EROFS|SQLITE_(READONLY|PERM|CANTOPEN))/,
      `${directory} cannot be written to: give this user the right, or choose another directory`,
    ],
    [
      /^(ENOTDIR|EEXIST|ENOENT|ELOOP|ENAMETOOLONG)$/,
      `${directory} cannot be a data directory: choose another`,
    ],
    [
      /^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)/,
      `the disk of ${directory} is full: make room`,
    ],
    [
      /^SQLITE_NOTADB/,
      `${file} is no database of SQLite: move it away, or choose another data directory`,
    ],
    [/^SQLITE_CORRUPT/, `${file} is damaged: restore a backup with \`wadi restore FILE --yes\``],
    [/^SQLITE_CONSTRAINT_TRIGGER/, `the data of ${directory} ${MOVED}`],
    [/^SQLITE_BUSY/, `another process keeps ${file} locked: wait for it or end it`],
    [/^(EIO|SQLITE_IOERR)/, `the disk of ${directory} fails to read or write: look after it`],
  ];
  const code = codeOf(failure) || String((failure as { code?: unknown } | null)?.code);
  const sentence = sentences.find(([codes]) => codes.test(code))?.[1];
  return sentence ? new DatabaseUnusable(sentence) : failure;
}

const FOREIGN_NAMED_MAX = 3;

/** Explains that a PostgreSQL database has tables of Wadi's names that Wadi did not make. */
export function explainForeign(url: string, names: readonly string[]): DatabaseUnusable {
  const named = names.slice(0, FOREIGN_NAMED_MAX).join(", ");
  const more = names.length > FOREIGN_NAMED_MAX ? ", …" : "";
  const { host, pathname } = new URL(url);
  return new DatabaseUnusable(
    `database "${pathname.slice(1)}" of PostgreSQL at ${host} has tables of another program ` +
      `(${named}${more}): name another database, or a schema of its own by ?search_path=NAME`,
  );
}

/** PostgreSQL's code of a drop that would take other objects along. */
const DEPENDENT_OBJECTS = "2BP01";

/** Explains why a table of Wadi's cannot be dropped; PostgreSQL lists what depends on it. */
function explainDependents(name: string, server: string, failure: unknown): DatabaseUnusable {
  const { detail, message } = failure as { detail?: string; message: string };
  const [first, ...others] = (detail ?? message).replace(/[^\P{C}\n]/gu, "").split("\n");
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return new DatabaseUnusable(
    `${name} of ${server} has an object of another program: ${first}${more}: ` +
      "drop it, or use another database",
  );
}

/** Explains a failure of PostgreSQL without the password of `url`. */
export function explainPostgres(url: string, failure: unknown): unknown {
  if (failure instanceof DatabaseUnusable) return failure;
  const address = URL.parse(url);
  if (!address) {
    return new DatabaseUnusable(
      "the database's address cannot be read: write postgres://USER:PASSWORD@HOST/DATABASE",
    );
  }
  const server = `PostgreSQL at ${address.host}`;
  const user = `the user "${address.username}"`;
  const name = `database "${address.pathname.slice(1)}"`;
  const sentences: [RegExp, string][] = [
    [/^(28|0P)/, `${server} does not let ${user} in: correct its name or password`],
    [/^3D000/, `${server} has no ${name}: create it, or correct the name`],
    [/^42501/, `${server} does not let ${user} make tables in its ${name}: grant that right`],
    [/^53300/, `${server} has no connection left: raise its limit or close others`],
    [/^53/, `${server} has no disk or memory left: make room`],
    [/^(40001|40P01)/, `too many writes to ${name} collide: send fewer at once`],
    [/^55P03/, `another program keeps tables of ${name} locked: wait for it or end it`],
    [new RegExp(`^${MOVED_STATE}`), `the data of ${server} ${MOVED}`],
    [/^25006/, `${server} is read-only: give the address of the one that takes writes`],
    [
      /^(08|57P|ERR_POSTGRES_CONNECTION)/,
      `${server} does not answer: start it, or correct the address`,
    ],
  ];
  const code = stateOf(failure);
  if (code === DEPENDENT_OBJECTS) return explainDependents(name, server, failure);
  const sentence = sentences.find(([codes]) => codes.test(code))?.[1];
  return sentence ? new DatabaseUnusable(sentence) : failure;
}
