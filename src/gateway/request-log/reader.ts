// Reads entries of the request log for an operator, in ranges that block nothing for long.
import type { Bound, Database } from "../../database/index.ts";
import { yieldToEventLoop } from "../../platform/clock.ts";
import { firstIdAt } from "../../platform/ids.ts";
import type { LogEntry } from "./entry.ts";
import {
  type IdRange,
  type RequestFilter,
  type RequestTimes,
  requestLogStore,
} from "./store/index.ts";

/** Entries of one read; only their ids are indexed, so each of them is looked at. */
const RANGE_SIZE = 2_000;
/** Ranges of one search, after which the caller decides if it goes on. */
const RANGES_MAX = 250;
/** Time after which an entry is written, unless the database is away. */
const WRITTEN_AFTER_MS = 1_000;
const SAME_ID_MAX = 20;

export interface EntryPage {
  /** Newest first. */
  entries: LogEntry[];
  /** `before` of the next page; null: nothing older can match. */
  next: string | null;
}

export interface LaterEntries {
  /** Oldest first. */
  entries: LogEntry[];
  /** The last entry that was looked at: `after` of the next read. */
  last: string;
}

export class RequestLogReader {
  readonly #store: Bound<typeof requestLogStore>;

  constructor(database: Database) {
    this.#store = database.bind(requestLogStore);
  }

  /** Times of the newest requests that ended since then, at most `limit`. */
  listTimes(since: number, limit: number): Promise<RequestTimes[]> {
    return this.#store.listTimes(firstIdAt(since), limit);
  }

  /** Finds by request id, which a caller may send again, or by the id of a row. */
  find(id: string): Promise<LogEntry[]> {
    return this.#store.find(id, SAME_ID_MAX);
  }

  async findByPart(idPart: string): Promise<LogEntry[]> {
    return (await this.list({ idPart }, SAME_ID_MAX, null)).entries;
  }

  async list(filter: RequestFilter, limit: number, before: string | null): Promise<EntryPage> {
    const entries: LogEntry[] = [];
    let next = before;
    for (let ranges = 0; ranges < RANGES_MAX; ranges++) {
      const oldest = await this.#store.findOldest(next, RANGE_SIZE);
      const range: IdRange = {
        lower: oldest && { from: oldest.id },
        upper: next === null ? undefined : { before: next },
      };
      entries.push(...(await this.#store.list(filter, range, limit - entries.length)));
      if (entries.length === limit) return { entries, next: entries.at(-1)!.id };
      // Older ones ended before, so that they arrived before, too.
      if (!oldest || oldest.ended_at < (filter.since ?? 0)) return { entries, next: null };
      next = oldest.id;
      await yieldToEventLoop();
    }
    return { entries, next };
  }

  /** Reads entries after that id that ended a moment ago: processes write theirs at other times. */
  async listLater(filter: RequestFilter, after: string, now: number): Promise<LaterEntries> {
    const before = firstIdAt(now - WRITTEN_AFTER_MS);
    const newest = await this.#store.findNewest(after, before, RANGE_SIZE);
    if (!newest) return { entries: [], last: after };
    const range: IdRange = { lower: { after }, upper: { to: newest.id } };
    const entries = await this.#store.list(filter, range, RANGE_SIZE);
    return { entries: entries.reverse(), last: newest.id };
  }
}
