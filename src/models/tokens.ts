// The stub's tokenizer, and estimates where a server reports no usage.
import type { ModelRequest } from "./providers/contract.ts";

/** Maximum white-space characters of a token, and maximum others behind them. */
const CODE_POINTS_MAX = 4;
const MESSAGE_TOKENS = 4;
const IMAGE_TOKENS = 256;
/** Average number of o200k tokens for a letter of prose or code. */
const ASCII_TOKENS = 0.25;
const LETTER_TOKENS: readonly [below: number, tokens: number][] = [
  // Greek, Cyrillic, Hebrew and accents.
  [0x600, 0.22],
  [0x900, 0.3],
  // The scripts of India and South-East Asia.
  [0x2000, 0.35],
  [0xd800, 0.7],
  // Half of an emoji.
  [0x10000, 0.8],
];

/** Returns the first tokens of a text; all of them joined are the text again. */
export function splitTokens(text: string, countMax = Number.POSITIVE_INFINITY): string[] {
  const tokens: string[] = [];
  for (let start = 0; start < text.length && tokens.length < countMax; ) {
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

export function estimateTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    count += unit < 0x80 ? ASCII_TOKENS : LETTER_TOKENS.find(([below]) => unit < below)![1];
  }
  return count;
}

export function countPromptTokens(request: ModelRequest, count = countTokens): number {
  let tokens = countFrame(request) + countTools(request.tools, count);
  for (const text of listMessageTexts(request.messages)) tokens += count(text);
  return tokens;
}

/** Estimates the tokens of a prompt beside its texts. */
export function countFrame(request: ModelRequest): number {
  return MESSAGE_TOKENS * request.messages.length + IMAGE_TOKENS * countImages(request);
}

export function listTexts({ messages, tools }: ModelRequest): string[] {
  const texts = listMessageTexts(messages);
  if (tools.length > 0) texts.push(writeTools(tools).text);
  return texts;
}

function listMessageTexts(messages: ModelRequest["messages"]): string[] {
  const texts: string[] = [];
  for (const { content, tool_calls } of messages) {
    for (const { function: called } of tool_calls ?? []) texts.push(called.name, called.arguments);
    if (typeof content === "string") texts.push(content);
    else for (const part of content ?? []) if (part.type === "text") texts.push(part.text);
  }
  return texts;
}

type Tools = ModelRequest["tools"];

/** Texts of tools, which come again in each round and are long. */
const written = new WeakMap<Tools, { text: string; counts: Map<typeof countTokens, number> }>();

function writeTools(tools: Tools) {
  let known = written.get(tools);
  if (!known) {
    known = { text: JSON.stringify(tools), counts: new Map() };
    written.set(tools, known);
  }
  return known;
}

function countTools(tools: Tools, count: typeof countTokens): number {
  if (tools.length === 0) return 0;
  const { text, counts } = writeTools(tools);
  let tokens = counts.get(count);
  if (tokens === undefined) {
    tokens = count(text);
    counts.set(count, tokens);
  }
  return tokens;
}

export function countImages({ messages }: ModelRequest): number {
  let images = 0;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) if (part.type === "image_url") images++;
  }
  return images;
}

/** Returns the start of a text, without half a surrogate pair at its end. */
export function takeCodePoints(text: string, count: number): string {
  let end = 0;
  for (let n = 0; n < count && end < text.length; n++) end += sizeAt(text, end);
  return text.slice(0, end);
}

/** Returns the index behind the token at `start`, never inside a surrogate pair. */
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

function isSpace(text: string, index: number): boolean {
  return text.charCodeAt(index) <= 0x20;
}
