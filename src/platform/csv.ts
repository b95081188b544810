// Comma-separated values by RFC 4180, which a spreadsheet must not run as formulas.

export function writeCsv(rows: readonly (readonly unknown[])[]): string {
  return rows.map((row) => `${row.map(writeCell).join(",")}\r\n`).join("");
}

function writeCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = String(value);
  // A quote before them makes a text of what would be a formula.
  const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
