// The tokenizer inside the program: the stub speaks in it, untold usage is estimated with it.
import type { Ask, Message } from "./upstream/contract.ts";

/** A token is at most so many white-space characters and then so many others. */
const CODE_POINTS_MAX = 4;
/** What a message costs beside its text: its role and its borders. */
const MESSAGE_TOKENS = 4;
const IMAGE_TOKENS = 256;

/** The first `count_max` tokens of a text; all of them joined are the text again. */
export function splitTokens(text: string, count_max = Number.POSITIVE_INFINITY): string[] {
  const tokens: string[] = [];
  for (let start = 0; start < text.length && tokens.length < count_max; ) {
    const end = findTokenEnd(text, start);
    tokens.push(text.slice(start, end));
    start = end;
  }
  return tokens;
}

export function countTokens(text: string): number {
  let count = 0;
  for (let start = 0; start < text.length; start = findTokenEnd(text, start)) count++;
  return count;
}

/** Tokens of everything that the model reads: messages, their images and calls, and the tools. */
export function countPromptTokens({ messages, tools }: Ask): number {
  let count = tools.length > 0 ? countTokens(JSON.stringify(tools)) : 0;
  for (const message of messages) count += MESSAGE_TOKENS + countMessageTokens(message);
  return count;
}

function countMessageTokens({ content, tool_calls = [] }: Message): number {
  let count = 0;
  for (const { function: called } of tool_calls) {
    count += countTokens(called.name) + countTokens(called.arguments);
  }
  if (typeof content === "string") return count + countTokens(content);
  for (const part of content ?? []) {
    count += part.type === "text" ? countTokens(part.text) : IMAGE_TOKENS;
  }
  return count;
}

/** The start of a text, without half a surrogate pair at its end. */
export function takeCodePoints(text: string, count: number): string {
  let end = 0;
  for (let n = 0; n < count && end < text.length; n++) end += sizeAt(text, end);
  return text.slice(0, end);
}

/** The index behind the token that begins at `start`; never inside a surrogate pair. */
function findTokenEnd(text: string, start: number): number {
  let end = start;
  for (let n = 0; n < CODE_POINTS_MAX && isSpace(text, end); n++) end++;
  for (let n = 0; n < CODE_POINTS_MAX && end < text.length && !isSpace(text, end); n++) {
    end += sizeAt(text, end);
  }
  return end;
}

function sizeAt(text: string, index: number): 1 | 2 {
  return text.codePointAt(index)! > 0xffff ? 2 : 1;
}

/** Space, tab, line break and the other controls; past the end it is false. */
function isSpace(text: string, index: number): boolean {
  return text.charCodeAt(index) <= 0x20;
}
