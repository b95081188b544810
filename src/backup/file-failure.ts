// Failures of files as sentences: the name that the user knows, the system's code, and the cause.
import { BackupError } from "./format.ts";

const CAUSES: Readonly<Record<string, string>> = {
  EACCES: "this user has no right to that",
  EDQUOT: "this user's share of the disk is used up",
  EEXIST: "another file has that name",
  EFBIG: "it is larger than the file system or `ulimit -f` allows",
  EIO: "the disk fails to read or write",
  EISDIR: "it is a directory",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "its directory does not exist",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of its path is no directory",
  EPERM: "this user has no right to that",
  EROFS: "the file system is read-only",
};

/** Explains a failure of the system; others stay as they are. */
export function explainFile(file: string, what: "read" | "written", failure: unknown): unknown {
  const { code } = (failure ?? {}) as { code?: unknown };
  if (typeof code !== "string") return failure;
  const cause = CAUSES[code];
  return new BackupError(
    `${file} cannot be ${what} (${code})${cause === undefined ? "" : `: ${cause}`}`,
  );
}
