// Hidden characters of a text, which pages show as tags.

/** Control and direction characters, by which a text can look like another. */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu;

export type TextPart = { kind: "text" | "hidden"; text: string };

/** Splits a text into what is shown as it is, and hidden characters, shown as `U+202E`. */
export function splitHidden(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) parts.push({ kind: "text", text: text.slice(from, match.index) });
    const code = match[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    parts.push({ kind: "hidden", text: `U+${code}` });
    from = match.index + match[0].length;
  }
  if (from < text.length || parts.length === 0)
    parts.push({ kind: "text", text: text.slice(from) });
  return parts;
}
