// The table as comma-separated values, which a spreadsheet must not run as formulas.
type CsvValue = string | number;

function writeCell(value: CsvValue): string {
  const text = String(value);
  // A quote before them makes a text of what would be a formula.
  const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

export function saveCsv(name: string, rows: readonly (readonly CsvValue[])[]): void {
  const text = rows.map((row) => `${row.map(writeCell).join(",")}\r\n`).join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
