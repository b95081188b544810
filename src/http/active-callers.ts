// The requests under way of callers whose key was found good, by their connections.
import type { Address } from "../net/index.ts";
import { readPeer } from "./client-address.ts";

export interface ActiveCallers {
  add(request: Request): void;
  /** It was answered; a stream is forgotten by itself once it is over. */
  delete(request: Request): void;
  /** The other sides of their connections. */
  list(): { address: Address; port: number }[];
}

/** Between two looks for streams that are over so many more may come. */
const MORE = 256;

/** `findPeer`: null where a request is over. */
export function createActiveCallers(
  findSent: (request: Request) => Request,
  findPeer: (sent: Request) => Bun.SocketAddress | null,
): ActiveCallers {
  const requests = new Set<Request>();
  let most = MORE;
  const list = () =>
    [...requests].flatMap((sent) => {
      const peer = findPeer(sent);
      const address = peer && readPeer(peer.address);
      if (peer && address) return [{ address, port: peer.port }];
      requests.delete(sent);
      return [];
    });
  return {
    add(request) {
      requests.add(findSent(request));
      if (requests.size < most) return;
      list();
      most = 2 * requests.size + MORE;
    },
    delete: (request) => void requests.delete(findSent(request)),
    list,
  };
}
