// What two attempts have in common if they give the same answer: its key, whatever its form.
import { listAnswers } from "./marker.ts";
import { readParts } from "./parts.ts";

/** A longer answer is a text of its own, and compared as it stands. */
const ANSWER_CHARACTERS_MAX = 2_000;

/** What stands between two operands, so that brackets around them mean something. */
const INFIX = /^[-+/^×:=<>≤≥≠±√|]$/;

/** The key of a reply's answer; "": it says nothing. */
export function readKey(text: string): string {
  for (const answer of listAnswers(text)) {
    const key = writeKey(answer);
    if (key !== "") return key;
  }
  // Nothing but signs, such as an emoji: then they are the answer.
  return text.trim();
}

/** Without case, spaces, punctuation and the formatting of numbers. */
function writeKey(answer: string): string {
  const plain = answer.trim();
  if (plain.length > ANSWER_CHARACTERS_MAX) return plain.toLowerCase();
  const parts = dropBrackets(readParts(plain));
  let key = "";
  for (const part of parts) {
    // 1 and 2 are not 12.
    const isBorder = /\d$/.test(key) && /^[\d.]/.test(part);
    key += isBorder ? ` ${part}` : part;
  }
  return key;
}

/** Brackets tell one answer from another only where there is something to bracket. */
function dropBrackets(parts: string[]): string[] {
  const isBracket = (part: string) => part === "(" || part === ")";
  const plain = parts.filter((part) => !isBracket(part));
  if (!plain.some((part, at) => at > 0 && INFIX.test(part))) return plain;
  const idle = new Set<number>();
  const open: number[] = [];
  const first = parts.findIndex((part) => part !== "(");
  for (const [at, part] of parts.entries()) {
    if (part === "(") open.push(at);
    if (part !== ")") continue;
    const start = open.pop();
    // Around all of it, around one part, or one with its sign.
    const held = start === undefined ? 0 : at - start - 1;
    const isSigned = held === 2 && parts[at - 2]!.trim() === "-";
    const isAll = start !== undefined && start < first && at === parts.length - 1 - start;
    const isIdle = start === undefined || held <= 1 || isSigned || isAll;
    if (isIdle) idle.add(at).add(start ?? at);
  }
  for (const at of open) idle.add(at);
  return parts.filter((_, at) => !idle.has(at));
}
