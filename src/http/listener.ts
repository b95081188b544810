// Listens on an address, or explains why it cannot, with a way out.
import { attractConnections } from "../net/index.ts";
import type { ServerCertificate } from "../settings/index.ts";

export interface ListenAddress {
  host: string;
  port: number;
}

/** Maximum silence of a connection, also of one whose reader has stopped. */
export const IDLE_TIMEOUT_S = 60;
/** Size that turns Bun's limit off: routes bound bodies and answer in their envelope. */
const BODY_BYTES_UNBOUNDED = Number.MAX_SAFE_INTEGER;

/** Reads "HOST:PORT" of the settings; null for an empty text. */
export function readListenAddress(text: string): ListenAddress | null {
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
  return host === undefined ? null : { host, port: Number(port) };
}

/** Names of the settings of an address, for advice. */
export interface ListenSettings {
  host: string;
  port: string;
}

export type ListenAnswers = Pick<
  Bun.Serve.Options<undefined, string>,
  "routes" | "fetch" | "error"
>;

export interface ListenOptions {
  settings?: ListenSettings;
  shared?: readonly ListenAddress[];
  /** Other processes listen on the address for good. */
  isCommon?: boolean;
  certificate?: ServerCertificate | null;
}

const FLAGS: ListenSettings = { host: "--host", port: "--port" };

/**
 * `shared` lists the addresses of the server that this process takes over from: on one of them it
 * listens beside that server and gets all new connections.
 */
export function listen(
  address: ListenAddress,
  answers: ListenAnswers,
  { settings = FLAGS, shared = [], isCommon = false, certificate }: ListenOptions = {},
): Bun.Server<undefined> {
  const found = findShared(shared, address);
  try {
    const server = Bun.serve({
      hostname: address.host,
      port: found?.port ?? address.port,
      // Any other second instance on the same port must fail, not share it.
      reusePort: found !== undefined || isCommon,
      // Bun's own error page shows the message and 50 KB around it.
      development: false,
      idleTimeout: IDLE_TIMEOUT_S,
      ...(certificate && { tls: { ...certificate } }),
      maxRequestBodySize: BODY_BYTES_UNBOUNDED,
      // Routes match the path as it was sent; Bun resolves dots in a request's URL.
      ...answers,
    } as Bun.Serve.Options<undefined, string>);
    // Among several sockets the choice of the newest one would fail.
    if (found && !isCommon) attractConnections(found.port);
    return server;
  } catch (failure) {
    const { code = String(failure) } = failure as { code?: string };
    const place = `port ${address.port} on ${address.host}`;
    throw new CannotListen(explain(code, place, settings), { cause: failure });
  }
}

/** Finds the shared address on which a server that shall listen on `address` does so. */
export function findShared(
  shared: readonly ListenAddress[],
  address: ListenAddress,
): ListenAddress | undefined {
  return shared.find(
    ({ host, port }) => host === address.host && (port === address.port || address.port === 0),
  );
}

class CannotListen extends Error {}

function explain(code: string, place: string, settings: ListenSettings): string {
  switch (code) {
    case "EADDRINUSE":
      return `${place} is taken: stop what listens there, or choose another with ${settings.port}`;
    case "EACCES":
      return `${place} may not be opened by this user: choose one above 1023 with ${settings.port}`;
    default:
      return `cannot listen on ${place} (${code}): choose another address with ${settings.host}`;
  }
}
