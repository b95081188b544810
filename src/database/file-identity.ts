// Whether the files of an open SQLite database are still those that SQLite writes to.
import { realpathSync, statSync } from "node:fs";

/**
 * Notes which files lie there now, behind the first read of a connection; the returned function
 * names the first that is another or gone. SQLite goes on writing into a file without a name.
 */
export function noteIdentities(file: string): () => string | null {
  // SQLite puts the other two beside what a link shows.
  const real = realpathSync(file);
  const noted = [file, `${real}-wal`, `${real}-shm`].map((path) => ({
    path,
    identity: identify(path),
  }));
  return () => {
    const lost = noted.find(({ path, identity }) => {
      const found = identify(path);
      // What cannot be looked at now says nothing.
      return found !== undefined && found !== identity;
    });
    return lost?.path ?? null;
  };
}

/** Device and inode; "gone": nothing is there; undefined: nobody can say. */
function identify(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? "gone" : undefined;
  }
}
