// Databases for the tests of backups and moves: one with rows in most tables, and its content.
import { cpSync, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createBackupFile, makeBackup } from "../../src/backup/index.ts";
import { openSnapshot, type TransferPlace } from "../../src/database/index.ts";
import { populate } from "../spec/agents/population.ts";
import { startService } from "../spec/agents/service.ts";
import { KEY } from "../support/app.ts";
import { createManualClock } from "../support/clock.ts";

export const clock = createManualClock();

export const makeDirectory = () => mkdtempSync(join(tmpdir(), "wadi-backup-"));
export const placeFile = (directory = makeDirectory()): TransferPlace & { kind: "sqlite" } => ({
  ...{ kind: "sqlite", file: join(directory, "wadi.db") },
});

/** Finds the number of a process that has ended. */
export async function findDeadPid(): Promise<number> {
  const child = Bun.spawn([process.execPath, "--version"], { stdout: "ignore" });
  await child.exited;
  return child.pid;
}

/** A directory that a server has filled, of which others are copies. */
let original: string | undefined;

/** Fills a place through the API of a server, which then stops. */
export async function fill(place: TransferPlace, secretsKeyFile?: string): Promise<void> {
  const isNew = place.kind === "sqlite" && !existsSync(place.file);
  if (!isNew || secretsKeyFile) return serveOnce(place, secretsKeyFile);
  if (!original) {
    const { file } = placeFile();
    await serveOnce({ kind: "sqlite", file });
    original = dirname(file);
  }
  cpSync(original, dirname(place.file), { recursive: true });
}

async function serveOnce(place: TransferPlace, secretsKeyFile?: string): Promise<void> {
  const app = await startService({ place, listens: true, secretsKeyFile });
  await populate(app, KEY);
  await app.chat("Hello");
  const notes = await app.post("/v1/agents", {
    ...{ name: 'Odd "texts" \\ \u0001\u001f\t\u007f\u2028 😀 \u00e9', system_prompt: "x" },
  });
  if (notes.status !== 201) throw new Error(await notes.text());
  await app.app.stop(0);
}

/** Every row of every table, except where each installation has its own. */
export async function readAll(place: TransferPlace): Promise<Record<string, string[]>> {
  const snapshot = await openSnapshot(place);
  const content: Record<string, string[]> = {};
  for (const table of snapshot.tables) {
    if (["processes", "wadi_installation"].includes(table.name)) continue;
    content[table.name] = [];
    for await (const rows of snapshot.scan(table)) content[table.name]!.push(...rows);
  }
  await snapshot.close();
  return content;
}

export const backUp = (place: TransferPlace, file: string, secretsKeyFile: string | null = null) =>
  makeBackup({
    ...{ place, program: "1.2.3", clock, secretsKeyFile },
    open: () => createBackupFile(file),
  });
