// The search engine inside the program: over a folder of Markdown files, or a few pages of its own.

import { createFullText, type FullText } from "../../../database/index.ts";
import { timeoutError, type UpstreamError } from "../../../models/index.ts";
import { type Cancel, type Clock, endsWithin } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import type { EngineQuery, SearchEngine } from "../contract.ts";
import { createFolderIndex, SITE, type Update } from "./folder-index.ts";
import { PAGES } from "./pages.ts";

/** The folder is looked at again for the first search so long after the last look. */
const LOOK_EVERY_MS = 5_000;
/** That search waits so long for what has changed, which in a small folder is enough. */
const FRESH_MS = 250;

export interface StubSearchOptions {
  /** "": pages of its own. */
  folder: string;
  /** How long a search waits for the folder to be read for the first time. */
  timeout_ms: number;
  clock: Clock;
  log: Log;
}

export function createStubSearch(options: StubSearchOptions): SearchEngine {
  return options.folder === "" ? createOwnSearch() : createFolderSearch(options);
}

/** Nothing is indexed before the first search: who never searches starts no slower for it. */
function createOwnSearch(): SearchEngine {
  let index: FullText | null = null;
  return {
    isDown: () => false,
    start() {},
    stop() {},
    async search(ask, signal) {
      if (signal.aborted) return timeoutError("left");
      index ??= indexOwnPages();
      return find(index, ask);
    },
  };
}

function indexOwnPages(): FullText {
  const index = createFullText();
  index.write(() => {
    for (const { path, title, text } of PAGES) {
      index.addPart(index.addPage({ title, url: SITE + path, language: null }), text);
    }
  });
  return index;
}

function find(index: FullText, { query, max_results, language }: EngineQuery) {
  const found = index.search(query, { limit: max_results, language });
  const hits = found.map(({ title, url, snippet }) => ({
    title: escapeMarkup(title),
    url,
    snippet: escapeMarkup(snippet),
  }));
  return { ok: true as const, hits };
}

/** Its texts are plain already: a tag in them is one that the page shows, such as in code. */
function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

const UNREADABLE: UpstreamError = {
  ok: false,
  code: "model_unavailable",
  elsewhere: false,
  why: "its folder cannot be read",
};

function openIndex(folder: string) {
  const index = createFullText();
  return { index, files: createFolderIndex(folder, index) };
}

function createFolderSearch({ folder, timeout_ms, clock, log }: StubSearchOptions): SearchEngine {
  let opened: ReturnType<typeof openIndex> | null = null;
  let isRead = false;
  let isDown = false;
  let isStopped = false;
  let hasToldLeftOut = false;
  /** Searches that wait for the first look; for them it goes on after a stop. */
  let waiting = 0;
  let looking: Promise<void> | null = null;
  let lookedAt = 0;
  let cancel: Cancel = () => {};

  const tellLeftOut = ({ leftOut }: Update) => {
    if (leftOut === 0 || hasToldLeftOut) return;
    hasToldLeftOut = true;
    log.warn("some files of the search folder are left out: unreadable, too large, or too many");
  };
  const fall = (failure: unknown) => {
    const { code } = failure as NodeJS.ErrnoException;
    if (!isDown && code) log.warn("the search folder cannot be read", { code });
    else if (!isDown) log.error("the search folder's index failed", { error: failure });
    isDown = true;
    // Readiness tells how it stands, also while nobody searches.
    if (!isStopped) cancel = clock.after(LOOK_EVERY_MS, () => void look());
  };
  const update = async () => {
    cancel();
    try {
      opened ??= openIndex(folder);
      const made = await opened.files.update(() => !isStopped || waiting > 0);
      isRead ||= made.isWhole;
      isDown = false;
      tellLeftOut(made);
    } catch (failure) {
      fall(failure);
    } finally {
      lookedAt = clock.monotonic();
      looking = null;
      release();
    }
  };
  /** After a stop its memory is given back at once: with each reload there could be another one. */
  const release = () => {
    if (!isStopped || waiting > 0 || looking) return;
    opened?.index.close();
    opened = null;
    isRead = false;
  };
  /** One look at a time: who comes meanwhile waits for the same. */
  const look = (): Promise<void> => {
    looking ??= update();
    return looking;
  };
  const isStale = () => looking === null && clock.monotonic() - lookedAt >= LOOK_EVERY_MS;
  /** What is waited for before a search; null: nothing. */
  const prepare = (): Promise<unknown> | null => {
    // A disk that is gone may never say so.
    if (!isRead && !isDown) return endsWithin(clock, timeout_ms, look());
    return isStale() || isDown ? endsWithin(clock, FRESH_MS, look()) : null;
  };
  return {
    isDown: () => isDown,
    start() {
      isStopped = false;
      void look();
    },
    stop() {
      isStopped = true;
      cancel();
      release();
    },
    async search(ask, signal) {
      waiting += 1;
      try {
        const ready = prepare();
        if (signal.aborted || (ready && !(await endsBefore(signal, ready)))) {
          return timeoutError("left");
        }
        if (isDown) return UNREADABLE;
        return isRead && opened ? find(opened.index, ask) : timeoutError("late");
      } finally {
        waiting -= 1;
        release();
      }
    },
  };
}

/** True when the work comes to its end before the caller leaves. */
async function endsBefore(signal: AbortSignal, work: Promise<unknown>): Promise<boolean> {
  const left = Promise.withResolvers<false>();
  const leave = () => left.resolve(false);
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([work.then(() => true), left.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
