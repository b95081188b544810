// Drafts: files beside a database that a restore or a move fills before they get its name.
import { existsSync, realpathSync, rmSync } from "node:fs";

export const placeDraft = (file: string, work: "restore" | "move"): string => `${file}.${work}`;

/** Removes what killed restores and moves have left; the caller holds the lock of the database. */
export function removeDrafts(file: string): void {
  // For a linked database, they are beside the link's target.
  const real = existsSync(file) ? realpathSync(file) : file;
  for (const draft of [placeDraft(real, "restore"), placeDraft(real, "move")]) {
    for (const part of [draft, `${draft}-journal`]) {
      try {
        rmSync(part, { force: true });
      } catch {
        // A draft that stays only takes room.
      }
    }
  }
}
