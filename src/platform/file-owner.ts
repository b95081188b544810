// Owners of files: what root makes must be readable to a server under another user.
import { lchownSync, statSync } from "node:fs";

/** Gives a file that root has made to the owner of another file, or of a directory. */
export function giveToOwnerOf(other: string, file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(other);
  // A link is never followed: its target may be a file of the system.
  lchownSync(file, uid, gid);
}
