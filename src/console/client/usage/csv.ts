// Saves the table as comma-separated values.
import { writeCsv } from "../../../platform/csv.ts";

export function saveCsv(name: string, rows: readonly (readonly (string | number)[])[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([writeCsv(rows)], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
