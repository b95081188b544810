// What is looked for where a secret may stand: its characters, and what encodings make of them.
import { openView, unescapeView } from "./view.ts";

export interface Needle {
  /** Folded characters. */
  pattern: Uint8Array;
  /** For each character: how many of the first ones also end with it. */
  fallback: Uint32Array;
  /** By the code of a character: what it is compared as. Those beyond ASCII are 0, all alike. */
  fold: Uint8Array;
  /** Encoders break long lines. */
  skipsLineBreaks: boolean;
  /** Only where neither letter nor digit stands beside it. */
  standsAlone: boolean;
}

/** Fewer stand in every text: taken out everywhere they would tell what they are. */
const PLAIN_CHARACTERS_MIN = 4;
/** Fewer, encoded, could be found by chance. */
const ENCODED_CHARACTERS_MIN = 6;

const lower = createFold((code) => (code >= 65 && code <= 90 ? code + 32 : code));
/** The two alphabets of base64 as one. */
const base64 = createFold((code) => (code === 45 ? 43 : code === 95 ? 47 : code));

/** A secret is of ASCII characters. */
export function listNeedles(secret: string): Needle[] {
  return listTargets(secret).flatMap(listForms);
}

/**
 * What must not be seen: of `Token abc` only what follows, of `Basic …` also the password in it.
 */
function listTargets(secret: string): string[] {
  const space = secret.indexOf(" ");
  const behind = space === -1 ? "" : secret.slice(space + 1);
  if (behind.length < ENCODED_CHARACTERS_MIN) return [secret];
  if (secret.slice(0, space).toLowerCase() !== "basic") return [behind];
  const pair = Buffer.from(behind, "base64").toString("latin1");
  const password = pair.slice(pair.indexOf(":") + 1);
  const mayBeFound = password.length >= PLAIN_CHARACTERS_MIN && /^[ -~]+$/.test(password);
  return mayBeFound ? [behind, password] : [behind];
}

function listForms(text: string): Needle[] {
  const needles = [createPlain(text)];
  // What looks like an escape in it is read as one wherever others are.
  const unescaped = unescapeView(openView(text));
  if (unescaped) needles.push(createPlain(String.fromCharCode(...unescaped.units)));
  if (text.length < ENCODED_CHARACTERS_MIN) return needles;
  const encoded = { fold: base64, skipsLineBreaks: true, standsAlone: false };
  needles.push(createNeedle(Buffer.from(text).toString("hex"), { ...encoded, fold: lower }));
  for (const before of [0, 1, 2]) needles.push(createNeedle(encodeInside(text, before), encoded));
  return needles;
}

function createPlain(text: string): Needle {
  const standsAlone = text.length < PLAIN_CHARACTERS_MIN;
  return createNeedle(text, { fold: lower, skipsLineBreaks: false, standsAlone });
}

/** How it stands inside of what was encoded with so many more bytes in front of it. */
function encodeInside(text: string, before: number): string {
  const all = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
  // Six bits a character: what shares one with a neighbour is another each time.
  const from = Math.ceil((before * 8) / 6);
  return all.toString("base64").slice(from, Math.floor((all.length * 8) / 6));
}

function createNeedle(text: string, how: Omit<Needle, "pattern" | "fallback">): Needle {
  const pattern = Uint8Array.from(text, (character) => how.fold[character.charCodeAt(0)] ?? 0);
  const fallback = new Uint32Array(pattern.length);
  for (let at = 1, same = 0; at < pattern.length; at++) {
    while (same > 0 && pattern[at] !== pattern[same]) same = fallback[same - 1]!;
    if (pattern[at] === pattern[same]) same++;
    fallback[at] = same;
  }
  return { ...how, pattern, fallback };
}

function createFold(fold: (code: number) => number): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => fold(code));
}
