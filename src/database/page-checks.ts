// Checks the pages of a SQLite database in the background: behind each start, and once a day.
import { Database as Connection } from "bun:sqlite";
import type { Clock } from "../platform/clock.ts";
import { hasFreeDescriptors, openWorker } from "../platform/descriptors.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import { DatabaseUnusable, explainSqlite } from "./errors.ts";
import { codeOf } from "./sqlite.ts";
import type { DatabaseLocation } from "./store.ts";

/** Delay of the first check: a start has other work first. */
const FIRST_AFTER_MS = 10_000;
const EVERY_MS = 24 * 60 * 60 * 1_000;
const RETRY_AFTER_MS = 60_000;
/** Minimum free descriptors for the Worker; without them its start ends the whole process. */
const DESCRIPTORS_MIN = 8;
const PROBLEMS_MAX = 5;

/** Pattern of SQLite's codes for unreadable pages. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/;

export type PageCheckResult = { damage: string | null } | { unreadable: string };

/** Finds damage and reports failures as data, because errors cannot leave a Worker. */
export function checkPages(file: string): PageCheckResult {
  try {
    return { damage: findDamage(file) };
  } catch (failure) {
    return { unreadable: (failure as Error).message };
  }
}

/**
 * Returns what is wrong with the pages of `file`, in a sentence. It reads the whole file in one
 * transaction: seconds per gigabyte. Throws DatabaseUnusable where it cannot be read now.
 */
export function findDamage(file: string): string | null {
  let connection: Connection | undefined;
  try {
    connection = new Connection(file, { readwrite: true, strict: true });
    connection.run("PRAGMA query_only = ON");
    connection.run("PRAGMA cell_size_check = ON");
    const rows = connection.query(`PRAGMA quick_check(${PROBLEMS_MAX})`).values().flat();
    const problems = rows.map(String).join("; ").replaceAll(/\s+/g, " ");
    return problems === "ok"
      ? null
      : `${file} is damaged: restore a backup with \`wadi restore FILE --yes\` (${problems})`;
  } catch (failure) {
    const explained = explainSqlite(file, failure);
    const { message } = explained as Error;
    if (DAMAGE.test(codeOf(failure))) return message;
    throw explained instanceof DatabaseUnusable ? explained : new DatabaseUnusable(message);
  } finally {
    connection?.close();
  }
}

export function findDamageInWorker(
  script: URL,
  file: string,
  signal: AbortSignal,
): Promise<string | null | undefined> {
  const worker = openWorker(script);
  const result = Promise.withResolvers<string | null | undefined>();
  worker.onmessage = ({ data }: { data: PageCheckResult }) => {
    if ("damage" in data) result.resolve(data.damage);
    else result.reject(new DatabaseUnusable(data.unreadable));
  };
  worker.onerror = ({ message }) => result.reject(new Error(`the check broke off: ${message}`));
  worker.addEventListener("close", () => result.resolve(undefined));
  signal.addEventListener("abort", () => result.resolve(undefined), { once: true });
  worker.postMessage({ check: file });
  return result.promise.finally(() => worker.terminate());
}

export interface PageChecksOptions {
  place: DatabaseLocation;
  clock: Clock;
  log: Log;
}

export class PageChecks implements Service {
  readonly name = "page checks";
  readonly #options: PageChecksOptions;
  readonly #loop: WorkerLoop;
  #isDamaged = false;

  constructor(options: PageChecksOptions) {
    this.#options = options;
    this.#loop = new WorkerLoop({
      clock: options.clock,
      work: (stopping) => this.#check(stopping),
      onError(failure) {
        const error = failure instanceof DatabaseUnusable ? failure.message : failure;
        options.log.error("database: pages could not be checked", { error });
      },
      retryMs: RETRY_AFTER_MS,
    });
  }

  listStatuses(): { name: string; state: "damaged" }[] {
    return this.#isDamaged ? [{ name: "data", state: "damaged" }] : [];
  }

  start(): void {
    this.#loop.wakeWithin(FIRST_AFTER_MS);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #check(stopping: AbortSignal): Promise<NextPass> {
    const { place, clock, log } = this.#options;
    if (place.kind !== "sqlite" || !place.writer) return "on_wake";
    if (!hasFreeDescriptors(DESCRIPTORS_MIN)) return { inMs: RETRY_AFTER_MS };
    const startedAt = clock.monotonic();
    const damage = await findDamageInWorker(place.writer, place.file, stopping);
    if (damage === undefined) return "on_wake";
    this.#isDamaged = damage !== null;
    const duration_ms = Math.round(clock.monotonic() - startedAt);
    if (damage === null) log.info("database: pages are sound", { duration_ms });
    else log.error("database: pages are damaged", { duration_ms, error: damage });
    return { inMs: EVERY_MS };
  }
}
