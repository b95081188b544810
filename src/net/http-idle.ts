// Connections between requests: each settles before its reuse, and few are kept for long.
import type { Cancel, Clock } from "../platform/clock.ts";
import type { HttpConnection } from "./http-connection.ts";

const IDLE_MS = 30_000;
/** Maximum idle connections to one origin, and in all; the longest unused are closed. */
const ORIGIN_MAX = 2_048;
const IDLE_MAX = 4_096;
/** Maximum requests and age of one connection, which bound the effect of its faults. */
const REQUESTS_MAX = 1_000;
const AGE_MAX_MS = 600_000;
/**
 * Minimum share of a server's shortest reply time. A faster reply may have been sent before its
 * request, whose own reply would follow: the connection is closed.
 */
const QUICK_SHARE = 0.5;

export class IdleOrigin {
  /** Lists by account, the last used last; none is empty. */
  readonly ready = new Map<string, PooledConnection[]>();
  count = 0;
  shortestReplyMs = 0;
}

export interface PooledConnection {
  readonly connection: HttpConnection;
  readonly origin: IdleOrigin;
  /** The only account whose requests it carries. */
  readonly account: string;
  readonly openedAt: number;
  requests: number;
  askedAt: number;
  unusedSince: number;
  state: "used" | "settling" | "ready";
}

export class IdleConnections {
  readonly #clock: Clock;
  readonly #all = new Set<PooledConnection>();
  #settling: PooledConnection[] = [];
  #cancelSweep: Cancel | undefined;
  #cancelSettle: Cancel | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the account's last used connection, so that those of a past burst expire. */
  take(origin: IdleOrigin, account: string): PooledConnection | undefined {
    const pooled = origin.ready.get(account)?.at(-1);
    if (pooled) this.drop(pooled);
    return pooled;
  }

  keep(pooled: PooledConnection): void {
    const now = this.#clock.monotonic();
    const { origin, openedAt, requests } = pooled;
    const isSpent = requests >= REQUESTS_MAX || now - openedAt >= AGE_MAX_MS;
    if (isSpent || noteReplyTime(pooled, now)) {
      pooled.connection.close();
      return;
    }
    pooled.unusedSince = now;
    pooled.state = "settling";
    origin.count++;
    this.#all.add(pooled);
    this.#settling.push(pooled);
    this.#cancelSweep ??= this.#clock.after(IDLE_MS, () => this.#sweep());
    this.#cancelSettle ??= this.#clock.after(0, () => this.#settle());
    if (origin.count > ORIGIN_MAX) this.#closeLongest((one) => one.origin === origin);
    else if (this.#all.size > IDLE_MAX) this.#closeLongest(() => true);
  }

  drop(pooled: PooledConnection): void {
    const { origin, account, state } = pooled;
    if (state === "used") return;
    pooled.state = "used";
    this.#all.delete(pooled);
    origin.count--;
    if (state === "settling") return;
    const list = origin.ready.get(account)!;
    if (list.at(-1) === pooled) list.pop();
    else list.splice(list.indexOf(pooled), 1);
    if (list.length === 0) origin.ready.delete(account);
  }

  closeOrigin(origin: IdleOrigin): void {
    for (const pooled of [...this.#all]) if (pooled.origin === origin) this.#close(pooled);
    if (this.#all.size > 0) return;
    this.#cancelSweep?.();
    this.#cancelSettle?.();
    this.#cancelSweep = this.#cancelSettle = undefined;
    this.#settling = [];
  }

  /**
   * Readies connections one timer after their use: the event loop reads sockets before timers, so
   * surplus bytes that were sent by then have closed their connection.
   */
  #settle(): void {
    const settling = this.#settling;
    this.#settling = [];
    this.#cancelSettle = undefined;
    for (const pooled of settling) {
      if (pooled.state !== "settling") continue;
      pooled.state = "ready";
      const { ready } = pooled.origin;
      const list = ready.get(pooled.account);
      if (list) list.push(pooled);
      else ready.set(pooled.account, [pooled]);
    }
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    this.#cancelSweep = undefined;
    for (const pooled of this.#all) {
      const leftMs = pooled.unusedSince + IDLE_MS - now;
      if (leftMs > 0) {
        this.#cancelSweep = this.#clock.after(leftMs, () => this.#sweep());
        return;
      }
      this.#close(pooled);
    }
  }

  #closeLongest(matches: (pooled: PooledConnection) => boolean): void {
    const longest = this.#all.values().find(matches);
    if (longest) this.#close(longest);
  }

  #close(pooled: PooledConnection): void {
    this.drop(pooled);
    pooled.connection.close();
  }
}

/** Notes a reply's time; true: it was too quick to be this request's own. */
function noteReplyTime({ origin, requests, askedAt }: PooledConnection, now: number): boolean {
  const tookMs = now - askedAt;
  const { shortestReplyMs } = origin;
  if (requests > 1 && tookMs < shortestReplyMs * QUICK_SHARE) return true;
  if (shortestReplyMs === 0 || tookMs < shortestReplyMs) origin.shortestReplyMs = tookMs;
  return false;
}
