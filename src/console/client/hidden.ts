// Hidden characters of a text, which pages show as tags.

/**
 * Control, direction and invisible characters, by which a text can look like another. Persian and
 * emoji need joiners and the selector of their variant.
 */
const HIDDEN =
  /(?:(?![\t\n]|\u200C|\u200D|\uFE0F)[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}])+/gu;

/** Hidden characters side by side that are named each. */
const NAMED_MAX = 4;
/** Tags of one text: more elements would make a page slow. */
const TAGS_MAX = 1_000;

export type TextPart = { kind: "text" | "hidden"; text: string; raw: string };

/** Splits a text into what is shown as it is, and hidden characters, shown as `U+202E`. */
export function splitHidden(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  const add = (kind: TextPart["kind"], raw: string, shown = raw) => {
    if (raw !== "") parts.push({ kind, text: shown, raw });
  };
  for (const { index, 0: run } of text.matchAll(HIDDEN)) {
    if (parts.length >= TAGS_MAX) break;
    add("text", text.slice(from, index));
    add("hidden", run, nameRun(run));
    from = index + run.length;
  }
  const rest = text.slice(from);
  add("text", rest, nameHidden(rest));
  return parts;
}

/** Writes hidden characters as text, for places without elements. */
export const nameHidden = (text: string): string => text.replaceAll(HIDDEN, nameRun);

function nameRun(run: string): string {
  const all = [...run];
  const names = all.slice(0, NAMED_MAX).map((character) => {
    const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    return `U+${code}`;
  });
  if (all.length > NAMED_MAX) names.push(`… (${all.length})`);
  return names.join(" ");
}
