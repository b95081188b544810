// Listening sockets that two processes share while one takes over from the other; Linux only.
import { ptr } from "bun:ffi";
import { countDescriptors } from "../platform/descriptors.ts";
import { openLibc } from "../platform/libc.ts";

const SOL_SOCKET = 1;
const SO_REUSEPORT = 15;
const SO_ACCEPTCONN = 30;
const SO_ATTACH_REUSEPORT_CBPF = 51;
const BPF_RETURN = 0x06;
/** Index of the newer of two sockets in their group. */
const NEWER = 1;
const ADDRESS_BYTES = 28;
/** Number of unused descriptors in a row after which the search ends. */
const UNUSED_MAX = 256;

function openSockets() {
  return openLibc({
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
  });
}

type Sockets = NonNullable<ReturnType<typeof openSockets>>;

/**
 * Finds the port on which several processes can listen together; 0 is any. Throws where another
 * program listens there, also one that shares its port.
 */
export function findSharedPort(hostname: string, port: number): number {
  const listener = Bun.listen({ hostname, port, exclusive: true, socket: { data() {} } });
  listener.stop(true);
  return listener.port;
}

/**
 * Lets another process of this user listen on `port` beside this one, with `reusePort`. A listen
 * without that option is still refused.
 */
export function sharePort(port: number): boolean {
  const sockets = openSockets();
  if (!sockets) return false;
  const isOn = new Int32Array([1]);
  return setAll(sockets, port, SO_REUSEPORT, isOn);
}

/**
 * Sends new connections of a shared port to the newer of two sockets, which is this process's. The
 * kernel ignores the choice once one socket is left.
 */
export function attractConnections(port: number): boolean {
  const sockets = openSockets();
  if (!sockets) return false;
  // One `struct sock_filter`: code, two jumps, value.
  const filter = Buffer.alloc(8);
  filter.writeUInt16LE(BPF_RETURN, 0);
  filter.writeUInt32LE(NEWER, 4);
  // `struct sock_fprog`: number of filters, their address.
  const program = Buffer.alloc(16);
  program.writeUInt16LE(1, 0);
  program.writeBigUInt64LE(BigInt(ptr(filter)), 8);
  return setAll(sockets, port, SO_ATTACH_REUSEPORT_CBPF, program);
}

function setAll(sockets: Sockets, port: number, option: number, value: NodeJS.TypedArray): boolean {
  const listeners = listListeners(sockets, port);
  const set = (descriptor: number) =>
    sockets.setsockopt(descriptor, SOL_SOCKET, option, value, value.byteLength) === 0;
  return listeners.length > 0 && listeners.every(set);
}

function listListeners({ getsockname, getsockopt }: Sockets, port: number): number[] {
  const found: number[] = [];
  const name = Buffer.alloc(ADDRESS_BYTES);
  const flag = new Int32Array(1);
  const length = new Uint32Array(1);
  const last = countDescriptors() + UNUSED_MAX;
  for (let descriptor = 0; descriptor < last; descriptor++) {
    length[0] = flag.byteLength;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, flag, length) !== 0) continue;
    length[0] = ADDRESS_BYTES;
    const isListening = flag[0] === 1 && getsockname(descriptor, name, length) === 0;
    if (isListening && name.readUInt16BE(2) === port) found.push(descriptor);
  }
  return found;
}
