// Sends one request to one address that was checked, and reads its reply up to a limit.
import type { Cancel, Clock } from "../platform/clock.ts";
import { guardCallback } from "../platform/error-boundary.ts";
import { portOf } from "./allow-list.ts";
import type { FetchFailure } from "./failure.ts";
import type { HttpConnection, ReplyListener } from "./http-connection.ts";
import type { dial } from "./http-dial.ts";
import type { ReplyHead } from "./http-head.ts";
import { writeHeaders, writeRequest } from "./http-request.ts";
import { failUnderway, failUnsent, type GuardedOutcome } from "./result.ts";
import type { EndedBy, TimeLimit } from "./time-limit.ts";
import { hasIpHost } from "./url.ts";

/** Time to connect to one address, so that the name's next address gets its turn. */
const CONNECT_TIMEOUT_MS = 5_000;
const FIRST_BYTES = 16_384;
/** Size of buffers to free early, far above that of buffers which Node and Bun pool. */
const LARGE_BYTES = 65_536;

export interface ConnectionFactory {
  dial: typeof dial;
  clock: Clock;
  /** Asked right before the first byte of the request. */
  fence?: { readonly isOpen: boolean };
  ca?: string;
}

export type GuardedMethod = "GET" | "POST" | "DELETE";

export interface HttpHop {
  method: GuardedMethod;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  responseBytesMax: number;
  limit: TimeLimit;
  /** Reads pieces of the body as they arrive; true ends the reply after this one. */
  readPiece?(bytes: Uint8Array, head: ReplyHead): boolean;
}

/**
 * Connects to the address and to nothing else, with the certificate checked against the URL's name.
 * Connections are not reused: if a server closes one at that moment, it is unknown whether the
 * request arrived. Returns null where the fence kept it from being sent.
 */
export function exchange(
  factory: ConnectionFactory,
  hop: HttpHop,
  address: string,
): Promise<GuardedOutcome | null> {
  return new GuardedExchange(factory, hop, address).outcome;
}

class GuardedExchange implements ReplyListener {
  readonly outcome: Promise<GuardedOutcome | null>;
  readonly #url: URL;
  readonly #resolve: (outcome: GuardedOutcome | null) => void;
  readonly #reject: (bug: unknown) => void;
  readonly #forgetLimit: Cancel;
  readonly #cancelDial: Cancel;
  readonly #body: BodyBuffer;
  readonly #readPiece: HttpHop["readPiece"];
  #connection: HttpConnection | undefined;
  #head: ReplyHead | undefined;

  constructor({ dial, clock, fence, ca }: ConnectionFactory, hop: HttpHop, address: string) {
    const { url, limit, responseBytesMax } = hop;
    const request = writeHop(hop);
    const { promise, resolve, reject } = Promise.withResolvers<GuardedOutcome | null>();
    this.outcome = promise;
    this.#url = url;
    this.#readPiece = hop.readPiece;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#body = new BodyBuffer(responseBytesMax, () => this.#head?.length ?? null);
    const onBug = (bug: unknown) => this.onBug(bug);
    this.#forgetLimit = limit.onEnd(guardCallback(onBug, (endedBy) => this.#giveUp(endedBy)));
    const serverName = hasIpHost(url) ? undefined : url.hostname;
    const isSecure = url.protocol === "https:";
    this.#cancelDial = dial(
      { hostname: address, serverName, port: portOf(url), isSecure, ca },
      {
        clock,
        timeoutMs: CONNECT_TIMEOUT_MS,
        onOpen: (connection) => {
          if (fence && !fence.isOpen) {
            connection.close();
            return this.#settle(null);
          }
          this.#connection = connection;
          connection.send(request, this);
        },
        onFailure: (failure) => this.#settle(failUnsent(failure, url)),
        onEnd() {},
        onFree: (connection) => connection.close(),
        onGone() {},
        // The connection is not reused, so surplus bytes reach no other request.
        onSurplus() {},
        onBug,
      },
    );
  }

  onHead(head: ReplyHead): void {
    this.#head = head;
  }

  onBody(bytes: Buffer): void {
    // Read first, since the buffer may free the piece.
    const isEnough = this.#readPiece?.(bytes, this.#head!) ?? false;
    const fits = this.#body.take(bytes);
    if (fits && !isEnough) return;
    this.#connection!.cut(this);
    this.#settleReply(!fits);
  }

  onEnd(): void {
    this.#settleReply(false);
  }

  onFailure(failure: FetchFailure): void {
    this.#settle(failUnderway(failure, this.#url, this.#head?.status ?? null));
  }

  onBug(bug: unknown): void {
    this.#forgetLimit();
    this.#cancelDial();
    this.#connection?.cut(this);
    this.#reject(bug);
  }

  #giveUp(endedBy: EndedBy): void {
    this.#cancelDial();
    if (this.#connection) {
      this.#connection.cut(this);
      this.onFailure(endedBy);
    } else this.#settle(failUnsent(endedBy, this.#url));
  }

  #settleReply(truncated: boolean): void {
    const { status, header } = this.#head!;
    const get = (name: string) => header(name.toLowerCase());
    const headers = { get, has: (name: string) => get(name) !== null };
    const body = this.#body.read();
    this.#settle({ ok: true, url: this.#url.href, status, headers, body, truncated });
  }

  #settle(outcome: GuardedOutcome | null): void {
    this.#forgetLimit();
    this.#resolve(outcome);
  }
}

function writeHop({ method, url, headers, body }: HttpHop): Buffer {
  const first = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  // Replies are never unpacked: 0.4 MB on the wire can be 400 MB.
  const own = "accept-encoding: identity\r\nconnection: close\r\n";
  const head = `${first}${writeHeaders(headers)}${own}`;
  if (method !== "POST") return Buffer.from(`${head}\r\n`, "latin1");
  return writeRequest(head, body ?? "");
}

/** The beginning of a body. Pieces are copied, since each keeps its whole buffer alive. */
class BodyBuffer {
  readonly #bytesMax: number;
  readonly #announcedLength: () => number | null;
  #kept = new Uint8Array(0);
  #length = 0;

  constructor(bytesMax: number, announcedLength: () => number | null) {
    this.#bytesMax = bytesMax;
    this.#announcedLength = announcedLength;
  }

  take(bytes: Uint8Array): boolean {
    const whole = this.#length + bytes.length;
    const end = Math.min(whole, this.#bytesMax);
    if (end > this.#kept.length) this.#grow(end);
    this.#kept.set(bytes.subarray(0, end - this.#length), this.#length);
    this.#length = end;
    freeLarge(bytes);
    return whole <= this.#bytesMax;
  }

  read(): Uint8Array {
    return this.#kept.subarray(0, this.#length);
  }

  #grow(least: number): void {
    const wanted = Math.max(least, 2 * this.#kept.length, this.#announcedLength() ?? FIRST_BYTES);
    const before = this.#kept;
    this.#kept = new Uint8Array(Math.min(wanted, this.#bytesMax));
    this.#kept.set(before.subarray(0, this.#length));
    freeLarge(before);
  }
}

/** Frees memory early: a fast server fills 100 MB before the garbage is collected. */
function freeLarge({ buffer }: Uint8Array): void {
  if (buffer.byteLength >= LARGE_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
