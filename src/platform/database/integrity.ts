// Whether the pages of a SQLite database are sound: `quick_check`, in a thread of its own.
import { Database as Connection } from "bun:sqlite";
import { openWorker } from "../descriptors.ts";
import { explainSqlite } from "./unusable.ts";

/** More of them say nothing more. */
const PROBLEMS_MAX = 5;

/**
 * What is wrong with the pages of `file`, in a sentence; null: nothing that can be seen. Reads all
 * of it, seconds for each gigabyte, in one read transaction beside whoever writes.
 */
export function findDamage(file: string): string | null {
  const connection = new Connection(file, { readwrite: true, strict: true });
  try {
    connection.run("PRAGMA query_only = ON");
    connection.run("PRAGMA cell_size_check = ON");
    const rows = connection.query(`PRAGMA quick_check(${PROBLEMS_MAX})`).values().flat();
    const problems = rows.map(String).join("; ").replaceAll(/\s+/g, " ");
    return problems === "ok" ? null : `${file} is damaged: restore a backup (${problems})`;
  } catch (failure) {
    const explained = explainSqlite(file, failure);
    return explained instanceof Error ? explained.message : String(explained);
  } finally {
    connection.close();
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
  worker.onmessage = ({ data }: { data: { damage: string | null } }) => result.resolve(data.damage);
  worker.onerror = ({ message }) => result.reject(new Error(`the check broke off: ${message}`));
  worker.addEventListener("close", () => result.resolve(undefined));
  signal.addEventListener("abort", () => result.resolve(undefined), { once: true });
  worker.postMessage({ check: file });
  return result.promise.finally(() => worker.terminate());
}
