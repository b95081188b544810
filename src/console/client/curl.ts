// Requests as a command of the shell, without the key.

/** Quotes a text for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function formatCurl(path: string, body: object): string {
  return [
    `curl ${location.origin}${path}`,
    `-H "Authorization: Bearer $WADI_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quote(JSON.stringify(body))}`,
  ].join(" ");
}
