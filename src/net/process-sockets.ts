// The accepted connections of this process, as Linux reports them.
import { countDescriptors, readDescriptorLimit } from "../platform/descriptors.ts";
import { openLibc } from "../platform/libc.ts";
import type { Address } from "./ip-address.ts";

export interface ProcessSocket {
  descriptor: number;
  address: Address;
  port: number;
  hasReceived: boolean;
  hasSent: boolean;
  /** Time since the last bytes, or since the accept. */
  receivedAgoMs: number;
  sentAgoMs: number;
}

export interface ProcessSockets {
  limit: number;
  count(): number;
  list(localPort: number, from: number, to: number): ProcessSocket[];
  /** Ends a connection, unless its descriptor was reused or bytes have come. */
  end(socket: ProcessSocket): void;
}

const TCP = 6;
const TCP_INFO = 11;
const SHUT_RDWR = 2;
const INFO_BYTES = 256;
/** Minimum bytes of a record; Linux 4.6 and later write them. */
const INFO_BYTES_LEAST = 160;
const ADDRESS_BYTES = 28;
const AF_INET = 2;
const AF_INET6 = 10;
const MAPPED = 0xffffn;

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
    // A listening socket has no peer.
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
      const { descriptor, address, port, hasReceived, receivedAgoMs } = socket;
      const localPort = readName(libc.getsockname, descriptor)?.port;
      const now = localPort === undefined ? null : read(descriptor, localPort);
      const isSame = now?.port === port && now.address.value === address.value;
      if (!isSame || now.hasReceived !== hasReceived) return;
      if (now.receivedAgoMs >= receivedAgoMs) libc.shutdown(descriptor, SHUT_RDWR);
    },
  };
}

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

function readInfo(view: DataView) {
  return {
    sentAgoMs: view.getUint32(44, true),
    receivedAgoMs: view.getUint32(52, true),
    hasReceived: view.getBigUint64(128, true) > 0n,
    hasSent: view.getUint32(156, true) > 0,
  };
}
