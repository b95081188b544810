// Reads what a stranger's JSON may hold: a wrong shape is like an absent one.
import type { ProbeJson } from "./client.ts";

/** Longer than any name that is meant to be read. */
const TEXT_CHARACTERS_MAX = 256;
const TOKENS_MAX = 100_000_000;

export function readTable(value: unknown): ProbeJson {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as ProbeJson)
    : {};
}

export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A short text on one line, which may be shown on a terminal. */
export function readWord(value: unknown): string | null {
  const isWord =
    typeof value === "string" &&
    value !== "" &&
    value.length <= TEXT_CHARACTERS_MAX &&
    !/[\p{C}\p{Zl}\p{Zp}]/u.test(value);
  return isWord ? value : null;
}

export function readCount(value: unknown): number | null {
  const isCount = Number.isSafeInteger(value) && (value as number) > 0;
  return isCount && (value as number) <= TOKENS_MAX ? (value as number) : null;
}

export function readFlag(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}
