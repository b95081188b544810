// Keys of a list: one row is chosen by `j` and `k`, opened by Enter, and closed by Escape.
import { type Signal, useSignal } from "@preact/signals";
import { useKeys } from "./keyboard.ts";
import { findRow } from "./window.tsx";

/** Handles the keys of rows with an id; `c` copies the id. */
export function useRows<Row extends { id: string }>(
  rows: readonly Row[],
  { onOpen, onPeek, onMark, onCopy, onClose }: RowActions,
): Signal<string | null> {
  const chosen = useSignal<string | null>(null);
  const move = (by: number) => {
    const at = rows.findIndex(({ id }) => id === chosen.peek());
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (!next) return;
    chosen.value = next.id;
    const row = findRow(next.id);
    if (row) row.scrollIntoView({ block: "nearest" });
    else document.dispatchEvent(new CustomEvent("reveal", { detail: next.id }));
  };
  const act = (action: ((id: string) => void) | undefined) => () => {
    if (chosen.peek() !== null) action?.(chosen.peek()!);
  };
  const mark = (by: number) => () => {
    if (!onMark) return;
    act(onMark)();
    move(by);
    act(onMark)();
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    J: mark(1),
    K: mark(-1),
    Enter: act(onOpen),
    " ": act(onPeek),
    c: act(onCopy),
    Escape: () => {
      chosen.value = null;
      onClose?.();
    },
  });
  return chosen;
}

interface RowActions {
  onOpen(id: string): void;
  onPeek?(id: string): void;
  /** Marks the row that `J` or `K`, with Shift, leaves, and the next one. */
  onMark?(id: string): void;
  onCopy?(id: string): void;
  onClose?(): void;
}
