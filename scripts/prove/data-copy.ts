// Copies a data directory.
import { cpSync } from "node:fs";

/** A running or killed server has a socket there, which is no data and cannot be copied. */
export const copyData = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith(".sock") });
