// The connections that this process has accepted, as Linux counts them; elsewhere unknown.
import { countDescriptors, readDescriptorLimit } from "../platform/descriptors.ts";
import { openLibc } from "../platform/libc.ts";
import type { Address } from "./network.ts";

export interface ProcessSocket {
  descriptor: number;
  /** Of the other side; an IPv4 address within IPv6 is that IPv4 address. */
  address: Address;
  port: number;
  hasReceived: boolean;
  hasSent: boolean;
  /** Milliseconds since then; where nothing was, since it was accepted. */
  received_ago: number;
  sent_ago: number;
}

export interface ProcessSockets {
  /** As many files as this process may open. */
  limit: number;
  /** How many it has open. */
  count(): number;
  /** The connections to a port of this process, among the descriptors of this range. */
  list(localPort: number, from: number, to: number): ProcessSocket[];
  /** Ends a connection, unless its descriptor has become another's or something came on it. */
  end(socket: ProcessSocket): void;
}

const TCP = 6;
const TCP_INFO = 11;
const SHUT_RDWR = 2;
const INFO_BYTES = 256;
/** As far as we read in it: Linux 4.6 and later. */
const INFO_BYTES_LEAST = 160;
const ADDRESS_BYTES = 28;
const AF_INET = 2;
const AF_INET6 = 10;
const MAPPED = 0xffffn;

/** null: this system does not tell. */
export function openProcessSockets(): ProcessSockets | null {
  const libc = openLibc({
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    getpeername: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    shutdown: { args: ["i32", "i32"], returns: "i32" },
  });
  const limit = readDescriptorLimit();
  if (!libc || limit === null) return null;
  const bytes = new Uint8Array(INFO_BYTES);
  const view = new DataView(bytes.buffer);
  const length = new Uint32Array(1);
  const readName = (read: typeof libc.getsockname, descriptor: number) => {
    length[0] = ADDRESS_BYTES;
    return read(descriptor, bytes, length) === 0 ? readAddress(view) : null;
  };
  const read = (descriptor: number, localPort: number): ProcessSocket | null => {
    if (readName(libc.getsockname, descriptor)?.port !== localPort) return null;
    // A listening one has no other side.
    const peer = readName(libc.getpeername, descriptor);
    if (!peer) return null;
    length[0] = INFO_BYTES;
    if (libc.getsockopt(descriptor, TCP, TCP_INFO, bytes, length) !== 0) return null;
    return length[0]! < INFO_BYTES_LEAST ? null : { descriptor, ...peer, ...readInfo(view) };
  };
  return {
    limit,
    count: countDescriptors,
    list(localPort, from, to) {
      const found: ProcessSocket[] = [];
      for (let descriptor = from; descriptor < to; descriptor++) {
        const socket = read(descriptor, localPort);
        if (socket) found.push(socket);
      }
      return found;
    },
    end(socket) {
      const { descriptor, address, port, hasReceived, received_ago } = socket;
      const localPort = readName(libc.getsockname, descriptor)?.port;
      const now = localPort === undefined ? null : read(descriptor, localPort);
      const isSame = now?.port === port && now.address.value === address.value;
      if (!isSame || now.hasReceived !== hasReceived) return;
      if (now.received_ago >= received_ago) libc.shutdown(descriptor, SHUT_RDWR);
    },
  };
}

/** `struct sockaddr_in` and `sockaddr_in6`; null: another family. */
function readAddress(view: DataView): { address: Address; port: number } | null {
  const family = view.getUint16(0, true);
  const port = view.getUint16(2);
  if (family === AF_INET) return { port, address: { bits: 32, value: BigInt(view.getUint32(4)) } };
  if (family !== AF_INET6) return null;
  const [high, low] = [view.getBigUint64(8), view.getBigUint64(16)];
  const isMapped = high === 0n && low >> 32n === MAPPED;
  if (isMapped) return { port, address: { bits: 32, value: low & 0xffff_ffffn } };
  return { port, address: { bits: 128, value: (high << 64n) | low } };
}

/** Of `struct tcp_info`: two times, bytes that came, and pieces of data that went. */
function readInfo(view: DataView) {
  return {
    sent_ago: view.getUint32(44, true),
    received_ago: view.getUint32(52, true),
    hasReceived: view.getBigUint64(128, true) > 0n,
    hasSent: view.getUint32(156, true) > 0,
  };
}
