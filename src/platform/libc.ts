// The C library of Linux, for the few calls that the runtime does not offer; elsewhere none.
import { dlopen, type FFIFunction } from "bun:ffi";

const MUSL_ARCH = process.arch === "arm64" ? "aarch64" : "x86_64";
/** glibc's name, and musl's. */
const NAMES = ["libc.so.6", `libc.musl-${MUSL_ARCH}.so.1`];

/** These functions of the C library; null: the system has no such library. */
export function openLibc<F extends Record<string, FFIFunction>>(functions: F) {
  if (process.platform !== "linux") return null;
  for (const name of NAMES) {
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // The other one may be there.
    }
  }
  return null;
}
