// Writes values as TOML: for the files and blocks that the program makes for people.

/** A text, number, boolean, list or table on one line, as it stands behind a `=`. */
export function writeValue(value: unknown): string {
  if (typeof value === "string") return writeText(value);
  if (Array.isArray(value)) return `[${value.map(writeValue).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const pairs = Object.entries(value).map(
    ([name, one]) => `${writeKey(name)} = ${writeValue(one)}`,
  );
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}

function writeKey(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : writeText(name);
}

/** JSON's escapes are TOML's; only DEL is free there and not here. */
function writeText(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\x7f", "\\u007f");
}
