// What two attempts have in common if they give the same answer: its key, whatever its form.
import { dropBrackets } from "./brackets.ts";
import { listAnswers } from "./marker.ts";
import { readParts } from "./parts.ts";
import { readRecord } from "./record.ts";

/** A longer answer is a text of its own, and compared as it stands. */
const ANSWER_CHARACTERS_MAX = 2_000;

/** The key of a reply's answer; "": it says nothing. */
export function readKey(text: string): string {
  const record = readRecord(text);
  if (record) return "whole" in record ? record.whole : readLine(record.answer);
  return readLine(text);
}

function readLine(text: string): string {
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
