// Sends one request to one address that was checked, and reads its reply up to a limit.
import { isIPv6 } from "node:net";
import { explainFetchFailure, type FetchFailure } from "./failure.ts";
import { failUnderway, type GuardedOutcome } from "./outcome.ts";
import { hasIpHost } from "./url.ts";

export type Fetch = (url: string, init: BunFetchRequestInit) => Promise<Response>;

/** One request of possibly several: a redirect makes another. */
export interface Hop {
  method: "GET" | "POST";
  url: URL;
  headers: Headers;
  body?: string | Uint8Array<ArrayBuffer>;
  response_bytes_max: number;
  limits: Limits;
}

/** What may end a request early: its caller, and whichever comes first of caller and deadline. */
export interface Limits {
  caller: AbortSignal | undefined;
  either: AbortSignal;
}

// These belong to the connection, not to a request; `upgrade` would even make a raw socket of it.
const connectionHeaders = ["connection", "keep-alive", "te", "trailer", "upgrade", "expect"];

/**
 * Connects to the address and to nothing else, with the certificate checked against the URL's name.
 */
export async function exchange(fetch: Fetch, hop: Hop, address: string): Promise<GuardedOutcome> {
  const { url, method, body } = hop;
  const port = url.port === "" ? "" : `:${url.port}`;
  const place = isIPv6(address) ? `[${address}]` : address;
  const target = `${url.protocol}//${place}${port}${url.pathname}${url.search}`;
  let status: number | null = null;
  try {
    const response = await fetch(target, {
      method,
      body,
      headers: dressHeaders(hop),
      signal: hop.limits.either,
      redirect: "manual",
      decompress: false,
      proxy: false,
      // Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment cannot unsay it.
      tls: { rejectUnauthorized: true, ...(hasIpHost(url) ? {} : { serverName: url.hostname }) },
    });
    status = response.status;
    const read = await readCapped(response, hop.response_bytes_max);
    return { ok: true, url: url.href, status, headers: response.headers, ...read };
  } catch (error) {
    return failUnderway(explainEnd(error, hop.limits), url, status);
  }
}

/** Why work under these limits ended with an error, whatever reason its caller gave for leaving. */
export function explainEnd(error: unknown, limits: Limits): FetchFailure {
  return limits.caller?.aborted ? "aborted" : explainFetchFailure(error);
}

function dressHeaders(hop: Hop): Headers {
  const headers = new Headers(hop.headers);
  for (const name of connectionHeaders) headers.delete(name);
  headers.set("host", hop.url.host);
  // Compressed replies are never unpacked here: 0.4 MB on the wire can be 400 MB.
  headers.set("accept-encoding", "identity");
  return headers;
}

async function readCapped(
  response: Response,
  bytes_max: number,
): Promise<{ body: Uint8Array; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let room = bytes_max;
  // Leaving the loop early cancels the stream, which closes the connection.
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk.subarray(0, room));
    if (chunk.length > room) return { body: Buffer.concat(chunks), truncated: true };
    room -= chunk.length;
  }
  return { body: Buffer.concat(chunks), truncated: false };
}
