// Requests as a command of the shell, without the key.

const BARE = /^[\w@%+=:,./-]+$/;

/** Quotes a word for a shell, where it needs that. */
export const quote = (text: string): string =>
  BARE.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Writes a command whose values a shell takes as they are. */
export const writeCommand = (...words: readonly string[]): string =>
  ["wadi", ...words.map(quote)].join(" ");

export function formatCurl(path: string, body: object): string {
  return [
    `curl ${location.origin}${path}`,
    `-H "Authorization: Bearer $WADI_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quote(JSON.stringify(body))}`,
  ].join(" ");
}
