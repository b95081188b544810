// The connections that this process has accepted, as Linux counts them; elsewhere unknown.
import { countDescriptors, readDescriptorLimit } from "./descriptors.ts";
import { openLibc } from "./libc.ts";
import type { Address } from "./network.ts";

export interface OwnSocket {
  descriptor: number;
  /** Of the other side; an IPv4 address within IPv6 is that IPv4 address. */
  address: Address;
  port: number;
  has_received: boolean;
  has_sent: boolean;
  /** Milliseconds since then; where nothing was, since it was accepted. */
  received_ago: number;
  sent_ago: number;
}

export interface OwnSockets {
  /** As many files as this process may open. */
  limit: number;
  /** How many it has open. */
  count(): number;
  /** The connections to a port of this process, among the descriptors of this range. */
  list(local_port: number, from: number, to: number): OwnSocket[];
  /** Ends a connection, unless its descriptor has become another's or something came on it. */
  end(socket: OwnSocket): void;
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
export function openOwnSockets(): OwnSockets | null {
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
  const read = (descriptor: number, local_port: number): OwnSocket | null => {
    if (readName(libc.getsockname, descriptor)?.port !== local_port) return null;
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
    list(local_port, from, to) {
      const found: OwnSocket[] = [];
      for (let descriptor = from; descriptor < to; descriptor++) {
        const socket = read(descriptor, local_port);
        if (socket) found.push(socket);
      }
      return found;
    },
    end(socket) {
      const { descriptor, address, port, has_received, received_ago } = socket;
      const local_port = readName(libc.getsockname, descriptor)?.port;
      const now = local_port === undefined ? null : read(descriptor, local_port);
      const isSame = now?.port === port && now.address.value === address.value;
      if (!isSame || now.has_received !== has_received) return;
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
    has_received: view.getBigUint64(128, true) > 0n,
    has_sent: view.getUint32(156, true) > 0,
  };
}
