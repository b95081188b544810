// The note that a watchdog leaves for the next start.
import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import type { CurrentCall } from "./memory.ts";

/** Longer files are no notes. */
const NOTE_BYTES_MAX = 65_536;

export interface Note {
  /** When the process was ended. */
  at: string;
  /** The call that the event loop was in; null: none of a run. */
  hung: CurrentCall | null;
  /** The runs that the process executed. */
  runs: string[];
}

export function writeNote(file: string, note: Note): void {
  const descriptor = openSync(file, "w", 0o600);
  writeSync(descriptor, JSON.stringify(note));
  closeSync(descriptor);
}

/** null: there is none, or it was not written whole. */
export function readNote(file: string): Note | null {
  try {
    const text = readFileSync(file, "utf8");
    if (text.length > NOTE_BYTES_MAX) return null;
    const { at, hung, runs } = JSON.parse(text) as Partial<Note>;
    if (typeof at !== "string" || !Array.isArray(runs)) return null;
    return { at, hung: isCall(hung) ? hung : null, runs };
  } catch {
    return null;
  }
}

function isCall(hung: Partial<CurrentCall> | null | undefined): hung is CurrentCall {
  return (
    typeof hung?.run_id === "string" &&
    typeof hung.call === "string" &&
    Number.isInteger(hung.epoch)
  );
}

export function removeNote(file: string): void {
  rmSync(file, { force: true });
}
