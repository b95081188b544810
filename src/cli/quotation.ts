// Texts of strangers on a terminal: whole or cut, and with nothing in them that it would obey.

/** What people see of a text where there is one line for it. */
const TEXT_CHARACTERS = 100;

/**
 * What a terminal obeys, what turns a line round and what nobody sees: it could show another text
 * than the one that is meant.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The beginning of a text, on one line and in quotes; what is hidden in it is written out. */
export function quote(text: unknown): string {
  const whole = String(text);
  const quoted = escapeHidden(JSON.stringify(whole.slice(0, TEXT_CHARACTERS).toWellFormed()));
  return whole.length > TEXT_CHARACTERS ? `${quoted}…` : quoted;
}

/** All of a text, or of a value, on one line as `quote` writes it. */
export function quoteWhole(value: unknown): string {
  return escapeHidden(JSON.stringify(value));
}

/** A value as indented JSON, which parses to the same value. */
export function drawJson(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split("\n");
  return `${lines.map(escapeHidden).join("\n")}\n`;
}

/** Inside JSON: what stands there outside of texts hides nothing. */
function escapeHidden(json: string): string {
  return json.replace(HIDDEN, (mark) =>
    Array.from({ length: mark.length }, (_, i) => mark.charCodeAt(i))
      .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
