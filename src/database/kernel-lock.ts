// A lock of the kernel on a database file itself: no file that can be deleted keeps others off.
import { constants, openSync } from "node:fs";
import { openLibc } from "../platform/libc.ts";

const F_OFD_GETLK = 36;
const F_OFD_SETLK = 37;
const F_WRLCK = 1;
const F_UNLCK = 2;
/** Far behind the bytes that SQLite locks, which lie at 2^30. */
const START = 2n ** 62n;
/** Size of `struct flock` on 64-bit Linux: type, whence, start, length, process. */
const FLOCK_BYTES = 32;

const openFcntl = () => openLibc({ fcntl: { args: ["i32", "i32", "ptr"], returns: "i32" } });

/**
 * Takes `file`, which is made where it is missing, until the returned function is called or the
 * process ends. null: another process holds it. Systems without such a lock take nothing.
 *
 * The descriptor is never closed: closing any descriptor of a file drops all POSIX locks that the
 * process has on it, SQLite's among them. To be called before SQLite opens the file.
 */
export function lockInKernel(file: string): (() => void) | null {
  const libc = openFcntl();
  if (!libc) return () => {};
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  const call = (command: number, type: number) => {
    const lock = writeFlock(type);
    const isDone = libc.fcntl(descriptor, command, lock) === 0;
    return { isDone, type: lock.readInt16LE(0) };
  };
  if (call(F_OFD_SETLK, F_WRLCK).isDone) return () => void call(F_OFD_SETLK, F_UNLCK);
  // A file system without such locks refuses both calls.
  const found = call(F_OFD_GETLK, F_WRLCK);
  return found.isDone && found.type !== F_UNLCK ? null : () => {};
}

function writeFlock(type: number): Buffer {
  const lock = Buffer.alloc(FLOCK_BYTES);
  lock.writeInt16LE(type, 0);
  lock.writeBigInt64LE(START, 8);
  lock.writeBigInt64LE(1n, 16);
  return lock;
}
