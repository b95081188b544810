// Resources of the operator API, read again while the page is visible.
import { type Signal, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiFailure, get } from "./api.ts";

const EVERY_MS = 2_000;
/** Without an answer for this long, the page says that it is behind. */
const STALE_MS = 5_000;

export interface Resource<T> {
  data: T | null;
  failure: ApiFailure | null;
}

/** Time of the last answer, by which the page says whether it is live. */
const answeredAt = signal(Date.now());
export const now = signal(Date.now());
export const isPaused = signal(false);

setInterval(() => {
  now.value = Date.now();
}, 1_000);

export const liveState = (): { kind: "live" | "paused" } | { kind: "stale"; sinceMs: number } => {
  if (isPaused.value) return { kind: "paused" };
  const sinceMs = now.value - answeredAt.value;
  return sinceMs > STALE_MS ? { kind: "stale", sinceMs } : { kind: "live" };
};

/** Kinds of rows of which a page is told when they change. */
export type LiveTopic =
  | "accounts"
  | "agents"
  | "approvals"
  | "keys"
  | "models"
  | "requests"
  | "runs"
  | "triggers"
  | "webhooks";

/**
 * Reads `path` at once, and again when rows of its topics have changed; the old data stay until
 * then.
 */
export function useResource<T>(
  path: string | null,
  _topics: readonly LiveTopic[] = [],
): Signal<Resource<T>> & { reload(): void } {
  const state = useSignal<Resource<T>>({ data: null, failure: null });
  const reloads = useSignal(0);
  const reload = reloads.value;
  useEffect(() => {
    if (path === null) return;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const read = async () => {
      if (!document.hidden && !isPaused.peek()) {
        try {
          const data = await get<T>(path);
          answeredAt.value = Date.now();
          if (!isOver) state.value = { data, failure: null };
        } catch (failure) {
          if (!(failure instanceof ApiFailure)) throw failure;
          if (!isOver) state.value = { ...state.peek(), failure };
        }
      }
      if (!isOver) timer = setTimeout(read, EVERY_MS);
    };
    const wake = () => {
      clearTimeout(timer);
      void read();
    };
    void read();
    document.addEventListener("visibilitychange", wake);
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wake);
    };
  }, [path, reload]);
  return Object.assign(state, {
    reload() {
      reloads.value += 1;
    },
  });
}
