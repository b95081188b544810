// Keys of pages: single letters, which do nothing while a person writes, or where they are off.
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { TextId } from "./texts.ts";

/** Keys and their effect, for people. */
export interface KeyHint {
  keys: readonly string[];
  text: TextId;
}

export type KeyHandlers = Readonly<Record<string, () => void>>;

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest("input, textarea, select, dialog[open], [contenteditable]") !== null;

/** Enter and Space belong to a button or link that has the focus. */
const isActing = ({ key, target }: KeyboardEvent): boolean =>
  (key === "Enter" || key === " ") &&
  target instanceof Element &&
  target.closest("a, button, summary") !== null;

/** People who dictate, or whose hand touches keys, switch single letters off. */
const LETTERS = "letters";
export const areLettersOff = signal(localStorage.getItem(LETTERS) === "off");

export function switchLetters(): void {
  areLettersOff.value = !areLettersOff.value;
  localStorage.setItem(LETTERS, areLettersOff.value ? "off" : "on");
}

/** Time within which the second key of a pair such as `g a` counts. */
const PAIR_MS = 1_000;
let first: { key: string; at: number } | null = null;

/** Handlers of the parts that are shown, the newest last. */
const shown = new Set<{ current: KeyHandlers }>();

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target)) return;
  if (isActing(event)) return;
  if (areLettersOff.peek() && event.key.length === 1) return;
  const isPair = first !== null && event.timeStamp - first.at < PAIR_MS;
  const find = (key: string) => [...shown].findLast(({ current }) => current[key])?.current[key];
  const handler = (isPair && find(`${first!.key} ${event.key}`)) || find(event.key);
  first = handler ? null : { key: event.key, at: event.timeStamp };
  if (!handler) return;
  event.preventDefault();
  handler();
});

/** Handles keys such as `j`, and pairs such as `g a`; those of another part keep working. */
export function useKeys(handlers: KeyHandlers): void {
  const own = useRef(handlers);
  own.current = handlers;
  // Before the page is painted: a key that is pressed at its sight is not lost.
  useLayoutEffect(() => {
    shown.add(own);
    return () => shown.delete(own);
  }, []);
}
