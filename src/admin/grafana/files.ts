// Writes the Grafana dashboard and the alert rules of Prometheus; existing files stay as they are.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unpackText } from "../../platform/packed.ts";
import { AdminError } from "../errors.ts";
import alerts from "./alerts.yml" with { type: "file" };
import dashboard from "./dashboard.json" with { type: "file" };

/** Paths of the files; the compiler takes the type of a JSON import from its content. */
const FILES: Readonly<Record<string, string>> = {
  "wadi-dashboard.json": dashboard as unknown as string,
  "wadi-alerts.yml": alerts,
};

export interface WrittenFiles {
  written: string[];
  /** Files that were there already. */
  kept: string[];
}

export function writeGrafanaFiles(directory: string): WrittenFiles {
  const files: WrittenFiles = { written: [], kept: [] };
  try {
    if (mkdirSync(directory, { recursive: true }) !== undefined) chmodSync(directory, 0o755);
    for (const [name, path] of Object.entries(FILES)) {
      const file = join(directory, name);
      files[
        addFile(file, unpackText(new Uint8Array(readFileSync(path)))) ? "written" : "kept"
      ].push(file);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new AdminError(`the files of ${directory} cannot be written (${code})`);
  }
  return files;
}

function addFile(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "wx" });
    // Prometheus and Grafana run as users of their own, and no secret is in it.
    chmodSync(file, 0o644);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
