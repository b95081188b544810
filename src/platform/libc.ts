// The C library of Linux, for the few calls that the runtime lacks.
import { dlopen, type FFIFunction } from "bun:ffi";

const MUSL_ARCH = process.arch === "arm64" ? "aarch64" : "x86_64";
const NAMES = ["libc.so.6", `libc.musl-${MUSL_ARCH}.so.1`];

const POLLOUT = 4;
const POLLFD_BYTES = 8;

export function openLibc<F extends Record<string, FFIFunction>>(functions: F) {
  if (process.platform !== "linux") return null;
  for (const name of NAMES) {
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // The system may have the other library.
    }
  }
  return null;
}

/**
 * Tests if a line of at most 4,096 bytes can be written without blocking: a pipe without a reader
 * blocks its writer. Systems without `poll` say yes.
 */
export function canWriteLine(descriptor: number): boolean {
  const libc = openLibc({ poll: { args: ["ptr", "u64", "i32"], returns: "i32" } });
  if (!libc) return true;
  const asked = Buffer.alloc(POLLFD_BYTES);
  asked.writeInt32LE(descriptor, 0);
  asked.writeInt16LE(POLLOUT, 4);
  return libc.poll(asked, 1, 0) === 1 && (asked.readInt16LE(6) & POLLOUT) !== 0;
}
