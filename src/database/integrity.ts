// Whether the pages of a SQLite database are sound: `quick_check`, in a thread of its own.
import { Database as Connection } from "bun:sqlite";
import { openWorker } from "../platform/descriptors.ts";
import { DatabaseUnusable, explainSqlite } from "./errors.ts";
import { codeOf } from "./sqlite.ts";

/** More of them say nothing more. */
const PROBLEMS_MAX = 5;

/** What SQLite says of pages that it cannot read as such. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/;

/**
 * What is wrong with the pages of `file`, in a sentence; null: nothing that can be seen. Reads all
 * of it, seconds for each gigabyte, in one read transaction beside whoever writes. Throws a
 * DatabaseUnusable where it cannot be read now: that says nothing of its pages.
 */
export function findDamage(file: string): string | null {
  let connection: Connection | undefined;
  try {
    connection = new Connection(file, { readwrite: true, strict: true });
    connection.run("PRAGMA query_only = ON");
    connection.run("PRAGMA cell_size_check = ON");
    const rows = connection.query(`PRAGMA quick_check(${PROBLEMS_MAX})`).values().flat();
    const problems = rows.map(String).join("; ").replaceAll(/\s+/g, " ");
    return problems === "ok" ? null : `${file} is damaged: restore a backup (${problems})`;
  } catch (failure) {
    const explained = explainSqlite(file, failure);
    const { message } = explained as Error;
    if (DAMAGE.test(codeOf(failure))) return message;
    throw explained instanceof DatabaseUnusable ? explained : new DatabaseUnusable(message);
  } finally {
    connection?.close();
  }
}

/** What a Worker finds. */
export type Inspected = { damage: string | null } | { unreadable: string };

/** For a thread of its own. */
export function inspectPages(file: string): Inspected {
  try {
    return { damage: findDamage(file) };
  } catch (failure) {
    return { unreadable: (failure as Error).message };
  }
}

/** The same in the Worker of `script`, whose end `signal` brings; undefined: it has been ended. */
export function findDamageInWorker(
  script: URL,
  file: string,
  signal: AbortSignal,
): Promise<string | null | undefined> {
  const worker = openWorker(script);
  const result = Promise.withResolvers<string | null | undefined>();
  worker.onmessage = ({ data }: { data: Inspected }) => {
    if ("damage" in data) result.resolve(data.damage);
    else result.reject(new DatabaseUnusable(data.unreadable));
  };
  worker.onerror = ({ message }) => result.reject(new Error(`the check broke off: ${message}`));
  worker.addEventListener("close", () => result.resolve(undefined));
  signal.addEventListener("abort", () => result.resolve(undefined), { once: true });
  worker.postMessage({ check: file });
  return result.promise.finally(() => worker.terminate());
}
