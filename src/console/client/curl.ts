// Requests as a command of the shell, without the key.
import { commands } from "./api.ts";

const BARE = /^[\w@%+=:,./-]+$/;

/** Quotes a word for a shell, where it needs that. */
export const quote = (text: string): string =>
  BARE.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Writes a command that acts on this machine alone. */
export const writeLocal = (...words: readonly string[]): string =>
  [commands.program, ...words].map(quote).join(" ");

/** Writes a command for this server, whose values a shell takes as they are. */
export const writeCommand = (...words: readonly string[]): string =>
  writeLocal(...words, ...(commands.needs_server ? ["--server", location.origin] : []));

export function formatCurl(path: string, body: object): string {
  return [
    `curl ${location.origin}${path}`,
    `-H "Authorization: Bearer $WADI_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quote(JSON.stringify(body))}`,
  ].join(" ");
}
