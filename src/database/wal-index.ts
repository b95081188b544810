// Notices commits of other connections by SQLite's shared memory, without a system call.
import { type Pointer, toArrayBuffer } from "bun:ffi";
import type { Database as Connection } from "bun:sqlite";
import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { openLibc } from "../platform/libc.ts";
import { watchVersion } from "./sqlite.ts";

const PROT_READ = 1;
const MAP_SHARED = 1;
const PAGE_BYTES = 4_096;
const DESCRIPTORS = "/proc/self/fd";

/** Words of the header: changes, frames, and two halves of the last frame's checksum. */
const CHANGES = 2;
const FRAMES = 4;
const CHECKSUM_1 = 6;
const CHECKSUM_2 = 7;

/**
 * Returns a function that tells if another connection has committed since its last call: a commit
 * changes the header before it is acknowledged. It must not be called on a closed connection.
 */
export function watchCommits(connection: Connection): () => boolean {
  return watchIndex(connection) ?? watchVersion(connection);
}

function watchIndex(connection: Connection): (() => boolean) | null {
  const words = mapIndex(connection);
  if (!words) return null;
  let [changes, frames, checksum1, checksum2] = [-1, -1, -1, -1];
  return () => {
    // Another process may restart the count of changes, so that one word is not enough.
    if (
      words[CHANGES] === changes &&
      words[FRAMES] === frames &&
      words[CHECKSUM_1] === checksum1 &&
      words[CHECKSUM_2] === checksum2
    ) {
      return false;
    }
    changes = words[CHANGES]!;
    frames = words[FRAMES]!;
    checksum1 = words[CHECKSUM_1]!;
    checksum2 = words[CHECKSUM_2]!;
    return true;
  };
}

/**
 * Maps the header by the descriptor that SQLite has open. A descriptor of our own must never be
 * closed: that drops SQLite's locks on the file. Atomics on a read-only mapping end the process.
 */
function mapIndex(connection: Connection): Uint32Array | null {
  const libc = openLibc({
    mmap: { args: ["ptr", "u64", "i32", "i32", "i32", "i64"], returns: "ptr" },
  });
  if (!libc) return null;
  // SQLite opens its shared memory at the first read.
  connection.query("SELECT 1 FROM sqlite_schema").values();
  const descriptor = findDescriptor(`${realpathSync(connection.filename)}-shm`);
  if (descriptor === undefined) return null;
  const address = Number(libc.mmap(null, PAGE_BYTES, PROT_READ, MAP_SHARED, descriptor, 0n));
  const isMapped = address > 0 && address <= Number.MAX_SAFE_INTEGER;
  return isMapped ? new Uint32Array(toArrayBuffer(address as Pointer, 0, PAGE_BYTES)) : null;
}

function findDescriptor(path: string): number | undefined {
  return readdirSync(DESCRIPTORS)
    .map(Number)
    .find((descriptor) => {
      try {
        return readlinkSync(`${DESCRIPTORS}/${descriptor}`) === path;
      } catch {
        // The descriptor of the listing itself is closed by now.
        return false;
      }
    });
}
