// One text for one JSON value, whoever wrote it: RFC 8785.

/** Numbers and texts as JSON.stringify writes them, which is what the RFC asks for; keys sorted. */
export function writeCanonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(",")}]`;
  const fields = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    // By UTF-16 code units, as the RFC says.
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${writeCanonical(inner)}`);
  return `{${fields.join(",")}}`;
}
