// Health of one replica, checked at intervals: a replica that does not answer gets no requests.
import { OWN_ACCOUNT, type TrustedEgress, type TrustedServer } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import { WorkerLoop } from "../../platform/worker-loop.ts";
import type { ModelSettings } from "../../settings/index.ts";
import { fetchText } from "../providers/body.ts";
import { rootOf, writeHeaders } from "../providers/openai/request.ts";

const TIMEOUT_MS = 5_000;
/** Interval between checks after a bad one. */
const DOUBT_MS = 2_000;
/** Number of failed checks in a row that make a replica unhealthy. */
const MISSES_MAX = 2;
const BYTES_MAX = 65_536;

/** `unwell`: it says so · `silent`: it does not answer in time · `refused`: nothing listens. */
export type HealthStatus = "alive" | "unwell" | "silent" | "refused";
export type CheckHealth = (signal: AbortSignal) => Promise<HealthStatus>;

export interface ReplicaHealthOptions {
  /** Without a check the replica counts as healthy. */
  check: CheckHealth | null;
  everyMs: number;
  clock: Clock;
  countLife(): number;
  onAlive(): void;
  onTurn(isHealthy: boolean): void;
  onBug(error: unknown): void;
}

export class ReplicaHealth {
  readonly #options: ReplicaHealthOptions;
  #loop: WorkerLoop | null = null;
  #isHealthy = true;
  #misses = 0;
  #checkedAt = 0;

  constructor(options: ReplicaHealthOptions) {
    this.#options = options;
  }

  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** Checks at once after a request without response, unless a check is recent or under way. */
  doubt(): void {
    const isRecent = this.#options.clock.monotonic() - this.#checkedAt < DOUBT_MS;
    if (this.#loop && !this.#loop.isRunning && !isRecent) this.#loop.wake();
  }

  forgive(): void {
    this.#misses = 0;
    this.#setHealthy(true);
  }

  start(): void {
    const { check, clock, onBug } = this.#options;
    if (!check || this.#loop) return;
    const work = (stopping: AbortSignal) => this.#pass(check, stopping);
    this.#loop = new WorkerLoop({ clock, work, onError: onBug, retryMs: DOUBT_MS });
    this.#loop.wake();
  }

  /** Resets to healthy, since waiting requests would not be notified of a change. */
  stop(): void {
    void this.#loop?.stop();
    this.#loop = null;
    this.#misses = 0;
    this.#isHealthy = true;
  }

  async #pass(check: CheckHealth, stopping: AbortSignal) {
    const { clock, everyMs, countLife, onBug } = this.#options;
    this.#checkedAt = clock.monotonic();
    const before = countLife();
    const limit = abortAfter(clock, TIMEOUT_MS, stopping);
    try {
      const status = await check(limit.signal);
      if (!stopping.aborted) this.#note(status, countLife() > before);
    } catch (error) {
      onBug(error);
    } finally {
      limit.cancel();
    }
    return { inMs: this.#misses === 0 ? everyMs : Math.min(DOUBT_MS, everyMs) };
  }

  #note(status: HealthStatus, showedLife: boolean): void {
    if (status === "alive") {
      this.#misses = 0;
      this.#options.onAlive();
    } else if (status === "silent" && showedLife) {
      // The replica is busy: it still answers its requests.
      this.#misses = 0;
    } else this.#misses += status === "refused" ? MISSES_MAX : 1;
    this.#setHealthy(this.#misses < MISSES_MAX);
  }

  #setHealthy(isHealthy: boolean): void {
    if (isHealthy === this.#isHealthy) return;
    this.#isHealthy = isHealthy;
    this.#options.onTurn(isHealthy);
  }
}

/** External servers are checked only if the operator names a route. */
export function isWatched({
  self_hosted,
  upstream,
}: Pick<ModelSettings, "self_hosted" | "upstream">) {
  if (upstream.kind === "stub" || upstream.health_every_ms === 0) return false;
  return self_hosted || upstream.health !== "";
}

export function nameHealth({ health }: { health: string }): string {
  return health || "/health";
}

/** Opens the check of one replica, at the health route of its settings. */
export function openReplicaCheck(
  url: string,
  upstream: Parameters<typeof writeHeaders>[0] & { health: string; connect_timeout_ms: number },
  egress: TrustedEgress,
): CheckHealth {
  const headers = writeHeaders(upstream);
  const connectTimeoutMs = upstream.connect_timeout_ms;
  const address = rootOf(url) + nameHealth(upstream);
  return createHealthCheck(egress.open(address, { headers, connectTimeoutMs }));
}

/** A server without such a route answers 404 and is alive. */
export function createHealthCheck(server: TrustedServer): CheckHealth {
  return async (signal) => {
    const reply = await fetchText(server, { account: OWN_ACCOUNT, bytesMax: BYTES_MAX, signal });
    if (reply.status !== null) return reply.status < 500 ? "alive" : "unwell";
    return reply.failure === "refused" ? "refused" : "silent";
  };
}
