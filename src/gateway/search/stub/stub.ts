// The search engine inside the program: over a folder of Markdown files, or a few pages of its own.
import { FullTextIndex } from "../../../database/index.ts";
import { timeoutError, upstreamError } from "../../../models/index.ts";
import { type Cancel, type Clock, wait, yieldToEventLoop } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import type { EngineQuery, Search, SearchEngine } from "../contract.ts";
import { type FolderFile, listFiles, readText } from "./folder.ts";
import { readPage } from "./page.ts";
import ownPages from "./pages.md" with { type: "text" };

/** Age from which on a search reads the folder again; also the pause after a failure. */
const REFRESH_AFTER_MS = 5_000;
/** Maximum time that a search waits for changes; a small folder needs less. */
const REFRESH_WAIT_MS = 250;
const READS_MAX = 8;
const ROWS_A_TURN = 2;
/** Maximum characters of all pages together; the index takes about three times as much memory. */
const CHARACTERS_MAX = 268_435_456;

const UNREADABLE = upstreamError("model_unavailable", "its folder cannot be read");

export interface StubSearchOptions {
  /** "": the engine has pages about this service. */
  folder: string;
  timeout_ms: number;
  clock: Clock;
  log: Log;
}

export function createStubSearch(options: StubSearchOptions): SearchEngine {
  return options.folder === "" ? createOwnSearch() : new FolderSearch(options);
}

/** Indexes its pages at the first search, so that they slow no start. */
function createOwnSearch(): SearchEngine {
  let index: FullTextIndex | undefined;
  return {
    isDown: () => false,
    start() {},
    stop() {},
    async search(query, signal) {
      if (signal.aborted) return timeoutError("left");
      index ??= indexOwnPages();
      return find(index, query);
    },
  };
}

function indexOwnPages(): FullTextIndex {
  const index = new FullTextIndex();
  const [, ...parts] = ownPages.split(/^<!-- (\w+) -->$/m);
  for (let at = 0; at < parts.length; at += 2) {
    for (const row of readPage(parts[at]!, parts[at + 1]!)) index.add(row);
  }
  return index;
}

function find(index: FullTextIndex, { query, max_results, language }: EngineQuery) {
  const found = index.search(query, { limit: max_results, language });
  const hits = found.map(({ title, url, snippet }) => ({
    title: escapeMarkup(title),
    url,
    snippet: escapeMarkup(snippet),
  }));
  return { ok: true as const, hits };
}

/** Escapes the plain text of the index, because hits are read as markup. */
function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

interface IndexedFile {
  stamp: string;
  rows: number[];
  characters: number;
}

class FolderSearch implements SearchEngine {
  readonly #options: StubSearchOptions;
  #index: FullTextIndex | undefined;
  readonly #files = new Map<string, IndexedFile>();
  #characters = 0;
  /** Number of users: the started service and each search; without users, reading stops. */
  #users = 0;
  #isStarted = false;
  #isComplete = false;
  #isDown = false;
  #reading: Promise<void> | undefined;
  #readAt = 0;
  #cancelRetry: Cancel = () => {};
  #hasLoggedSkipped = false;

  constructor(options: StubSearchOptions) {
    this.#options = options;
  }

  isDown = () => this.#isDown;

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#users += 1;
    void this.#refresh();
  }

  stop(): void {
    if (!this.#isStarted) return;
    this.#isStarted = false;
    this.#cancelRetry();
    this.#leave();
  }

  search: Search = async (query, signal) => {
    this.#users += 1;
    try {
      if (!signal.aborted) await this.#prepare(signal);
      if (signal.aborted) return timeoutError("left");
      if (this.#isDown) return UNREADABLE;
      return this.#isComplete && this.#index ? find(this.#index, query) : timeoutError("late");
    } finally {
      this.#leave();
    }
  };

  async #prepare(signal: AbortSignal): Promise<void> {
    const { clock, timeout_ms } = this.#options;
    const isOld = clock.monotonic() - this.#readAt >= REFRESH_AFTER_MS;
    if (this.#isComplete && !this.#isDown && !isOld) return;
    // A lost disk may never respond.
    const wait_ms = this.#isComplete || this.#isDown ? REFRESH_WAIT_MS : timeout_ms;
    const done = new AbortController();
    const over = wait(clock, wait_ms, AbortSignal.any([signal, done.signal]));
    await Promise.race([this.#refresh(), over]);
    done.abort();
  }

  /** Reads the folder; concurrent callers share one reading. */
  #refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#readAt = this.#options.clock.monotonic();
      this.#reading = undefined;
      this.#release();
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { clock, log } = this.#options;
    this.#cancelRetry();
    try {
      this.#index ??= new FullTextIndex();
      await this.#update(this.#index);
      this.#isDown = false;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (!this.#isDown && code) log.warn("search: the folder cannot be read", { code });
      else if (!this.#isDown) log.error("search: the index of the folder failed", { error });
      this.#isDown = true;
      // Readiness reports the folder's state also between searches.
      const retry = () => void this.#refresh();
      if (this.#isStarted) this.#cancelRetry = clock.after(REFRESH_AFTER_MS, retry);
    }
  }

  async #update(index: FullTextIndex): Promise<void> {
    const { files, skipped } = await listFiles(this.#options.folder);
    const paths = new Set(files.map(({ path }) => path));
    for (const path of this.#files.keys()) if (!paths.has(path)) await this.#remove(index, path);
    let unread = skipped;
    const changed = files.filter(({ path, stamp }) => this.#files.get(path)?.stamp !== stamp);
    for (let at = 0; at < changed.length; at += READS_MAX) {
      if (this.#users === 0) return;
      const some = changed.slice(at, at + READS_MAX);
      const texts = await Promise.all(some.map(readText));
      for (const [nth, file] of some.entries()) {
        if (!(await this.#replace(index, file, texts[nth]))) unread += 1;
      }
    }
    this.#isComplete = true;
    if (unread === 0 || this.#hasLoggedSkipped) return;
    this.#hasLoggedSkipped = true;
    const message = "search: files are left out: unreadable, too large, or too many";
    this.#options.log.warn(message);
  }

  async #replace(index: FullTextIndex, { path, stamp }: FolderFile, text: string | undefined) {
    await this.#remove(index, path);
    const rows = text === undefined ? [] : readPage(path, text);
    if (rows.length === 0 || this.#characters >= CHARACTERS_MAX) return false;
    const file: IndexedFile = { stamp, rows: [], characters: 0 };
    this.#files.set(path, file);
    for (let at = 0; at < rows.length; at += ROWS_A_TURN) {
      const some = rows.slice(at, at + ROWS_A_TURN);
      index.write(() => file.rows.push(...some.map((row) => index.add(row))));
      for (const row of some) file.characters += row.text.length;
      await yieldToEventLoop();
    }
    this.#characters += file.characters;
    return true;
  }

  async #remove(index: FullTextIndex, path: string): Promise<void> {
    const file = this.#files.get(path);
    if (!file) return;
    this.#files.delete(path);
    this.#characters -= file.characters;
    index.write(() => {
      for (const row of file.rows) index.remove(row);
    });
    await yieldToEventLoop();
  }

  #leave(): void {
    this.#users -= 1;
    this.#release();
  }

  /** Frees the index of a stopped engine at once, since each reload may open another. */
  #release(): void {
    if (this.#users > 0 || this.#reading) return;
    this.#index?.close();
    this.#index = undefined;
    this.#files.clear();
    this.#characters = 0;
    this.#isComplete = false;
  }
}
