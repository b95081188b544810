// Texts of unknown length and content, made fit for a message of ours.

const QUOTED_CHARACTERS_MAX = 64;
/** Maximum length of a URL; browsers open no longer one. */
export const URL_CHARACTERS_MAX = 2_048;

/** The well-formed beginning of a text, with "…" behind it where more follows. */
export function shorten(text: string, charactersMax = QUOTED_CHARACTERS_MAX): string {
  if (text.length <= charactersMax) return text.toWellFormed();
  const end = isHighSurrogate(text.charCodeAt(charactersMax - 1))
    ? charactersMax - 1
    : charactersMax;
  return `${text.slice(0, end).toWellFormed()}…`;
}

export function writeOneLine(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, " ");
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
