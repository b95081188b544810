// Keys of pages: single letters, which do nothing while a person writes, or where they are off.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
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

/** Handles keys such as `j`, and pairs such as `g a`. */
export function useKeys(handlers: KeyHandlers): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target)) return;
      if (isActing(event)) return;
      if (areLettersOff.peek() && event.key.length === 1) return;
      const isPair = first !== null && event.timeStamp - first.at < PAIR_MS;
      const handler = (isPair && handlers[`${first!.key} ${event.key}`]) || handlers[event.key];
      if (!handler) {
        first = { key: event.key, at: event.timeStamp };
        return;
      }
      first = null;
      event.preventDefault();
      handler();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });
}
