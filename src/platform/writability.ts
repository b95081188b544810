// Whether a line can be written now: a pipe that nobody reads holds up whoever writes to it.
import { openLibc } from "./libc.ts";

const POLLOUT = 4;
/** `struct pollfd`: descriptor, events asked for, events found. */
const POLLFD_BYTES = 8;

/** Systems without such a call say yes. A line is at most 4,096 bytes. */
export function canWriteLine(descriptor: number): boolean {
  const libc = openLibc({ poll: { args: ["ptr", "u64", "i32"], returns: "i32" } });
  if (!libc) return true;
  const asked = Buffer.alloc(POLLFD_BYTES);
  asked.writeInt32LE(descriptor, 0);
  asked.writeInt16LE(POLLOUT, 4);
  return libc.poll(asked, 1, 0) === 1 && (asked.readInt16LE(6) & POLLOUT) !== 0;
}
