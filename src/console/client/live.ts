// Live data: resources of the operator API, read again when their rows change.
import { effect, type Signal, signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ApiFailure } from "./api.ts";
import { followChanges, isSignedIn, type RowChange, type StreamNews } from "./changes.ts";
import { ResourceReader } from "./reader.ts";

/** After this silence the page says that it is behind. */
const STALE_MS = 5_000;
/** Interval of reads for what changes by time alone, such as sums of an hour. */
const REFRESH_MS = 60_000;

export interface Resource<T> {
  data: T | null;
  failure: ApiFailure | null;
  /** Path that the data were read from, which may be an earlier one. */
  path?: string;
}

/** Kinds of rows whose changes a page can follow. */
export type LiveTopic =
  | "accounts"
  | "agents"
  | "approvals"
  | "keys"
  | "models"
  | "requests"
  | "runs"
  | "sessions"
  | "triggers"
  | "webhooks";

/** A topic, or one of its rows: `runs`, `runs:ID`. */
type Interest = LiveTopic | `${LiveTopic}:${string}`;

export const now = signal(Date.now());
export const isPaused = signal(false);
/** Changes held back since the page was paused. */
const held = signal(0);
const heardAt = signal(Date.now());
/** Reading without the stream keeps a page nearly fresh, too. */
const readAt = signal(0);
const readers = new Map<ResourceReader, readonly Interest[]>();

type LiveState =
  | { kind: "live" }
  | { kind: "paused"; held: number }
  | { kind: "stale"; sinceMs: number };

export const liveState = (): LiveState => {
  if (isPaused.value) return { kind: "paused", held: held.value };
  const isStale = now.value - heardAt.value > STALE_MS;
  if (!isStale) return { kind: "live" };
  return { kind: "stale", sinceMs: now.value - Math.max(heardAt.value, readAt.value) };
};

export function togglePause(): void {
  isPaused.value = !isPaused.value;
}

const mayRead = () => !document.hidden && !isPaused.peek();

const wakeAll = () => {
  for (const reader of readers.keys()) reader.wake();
};

function concerns({ topic, id }: RowChange, interest: Interest): boolean {
  if (interest === topic || interest === `${topic}:${id}`) return true;
  return id === null && interest.startsWith(`${topic}:`);
}

function hear(news: StreamNews): void {
  heardAt.value = Date.now();
  if (news.kind === "open") wakeAll();
  if (news.kind !== "change") return;
  const concerned = [...readers].filter(([, interests]) =>
    interests.some((interest) => concerns(news.change, interest)),
  );
  if (isPaused.peek() && concerned.length > 0) held.value += news.change.changes;
  for (const [reader] of concerned) reader.wake();
}

/** A page that asks again and again is live without the stream. */
export const noteAnswer = (): void => hear({ kind: "beat" });

/** Follows changes for as long as the page runs; called once. */
export function startLive(): void {
  let following: AbortController | null = null;
  const isVisible = signal(!document.hidden);
  document.addEventListener("visibilitychange", () => {
    isVisible.value = !document.hidden;
  });
  effect(() => {
    const isFollowing = isVisible.value && isSignedIn();
    if (isFollowing === (following !== null)) return;
    following?.abort();
    following = isFollowing ? new AbortController() : null;
    if (!following) return;
    // A tab that was hidden has missed what happened.
    hear({ kind: "open" });
    void followChanges(hear, following.signal);
  });
  effect(() => {
    if (isPaused.value) return;
    held.value = 0;
    for (const reader of readers.keys()) reader.resume();
  });
  let refreshedAt = Date.now();
  setInterval(() => {
    now.value = Date.now();
    const everyMs = liveState().kind === "stale" ? STALE_MS : REFRESH_MS;
    if (now.value - refreshedAt < everyMs) return;
    refreshedAt = now.value;
    if (mayRead()) wakeAll();
  }, 1_000);
}

/**
 * Reads `path` at once, and again when rows of its topics have changed; the old data stay until
 * then. `runs:ID` is told of one run only.
 */
export function useResource<T>(
  path: string | null,
  topics: readonly Interest[] = [],
): Signal<Resource<T>> & { reload(): void } {
  const state = useSignal<Resource<T>>({ data: null, failure: null });
  const current = useRef<ResourceReader>(undefined);
  useEffect(() => {
    if (path === null) return;
    const reader = new ResourceReader({
      ...{ path, mayRead },
      onText(text) {
        state.value = { data: JSON.parse(text) as T, failure: null, path };
      },
      onRead() {
        readAt.value = Date.now();
        if (state.peek().failure) state.value = { ...state.peek(), failure: null };
      },
      onFailure(failure) {
        state.value = { ...state.peek(), failure };
      },
    });
    current.current = reader;
    readers.set(reader, topics);
    reader.wake();
    return () => {
      readers.delete(reader);
      reader.close();
    };
  }, [path, topics.join()]);
  return Object.assign(state, { reload: () => current.current?.wake(true) });
}
