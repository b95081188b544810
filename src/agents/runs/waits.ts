// Waits of callers for changes of runs: woken by each change, bounded for each key.
import { type FindCaller, KeyRevocations } from "../../access/index.ts";
import type { Database } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { apiError } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import type { RunRow } from "./run.ts";
import type { RunStore } from "./store/index.ts";
import type { RunPosition } from "./store/reads.ts";
import { FINAL } from "./transitions.ts";

const SECONDS_MAX = 60;
/** Maximum waits of a key, as of its event streams. */
const PER_KEY_MAX = 20;
const WAIT = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[;,]|$)/i;

/** Reads the preference `wait` (RFC 7240), in seconds up to 60; null without one. */
export function readWait({ headers }: Request): number | null {
  const found = WAIT.exec(headers.get("prefer") ?? "");
  return found ? Math.min(Number(found[1]), SECONDS_MAX) : null;
}

export const hasWait = (request: Request): boolean => readWait(request) !== null;

export const hasEnded = ({ status }: RunPosition): boolean => FINAL.has(status);

export const hasStopped = ({ status }: RunPosition): boolean =>
  FINAL.has(status) || status.startsWith("waiting");

/** A final run never changes. */
export const hasChangedSince = (run: RunRow) => (now: RunPosition) =>
  FINAL.has(now.status) ||
  now.status !== run.status ||
  now.last_seq !== run.last_seq ||
  now.started_at !== run.started_at;

export interface RunWaitsOptions {
  /** Name of the service, for logs. */
  name: string;
  runs: Pick<RunStore, "findPosition">;
  database: Pick<Database, "listen">;
  findCaller: FindCaller;
  clock: Clock;
  log: Log;
}

export interface RunWait {
  key_id: string;
  run_id: string;
  /** Aborts when the caller leaves. */
  signal: AbortSignal;
  timeoutMs: number;
  isOver(position: RunPosition): boolean;
  /** Called with each position at which the wait goes on; some come twice. */
  onPosition?(position: RunPosition): void;
}

export interface WaitRequest {
  key_id: string;
  run: RunRow;
  request: Request;
  isOver(position: RunPosition): boolean;
}

export class RunWaits implements Service {
  readonly name: string;
  readonly #options: RunWaitsOptions;
  readonly #keys: KeyRevocations;
  readonly #wakes = new Map<string, Set<() => void>>();
  readonly #ends = new Set<() => void>();
  readonly #unlisten: () => void;
  #isStopping = false;

  constructor(options: RunWaitsOptions) {
    this.name = options.name;
    this.#options = options;
    this.#keys = new KeyRevocations(options);
    this.#unlisten = options.database.listen("run", (id) => {
      const woken = id === null ? [...this.#wakes.values()] : [this.#wakes.get(id) ?? []];
      for (const wakes of woken) for (const wake of wakes) wake();
    });
  }

  start(): void {}

  stop(): void {
    this.#isStopping = true;
    this.#unlisten();
    this.endAll();
    this.#keys.stop();
  }

  /** The callers are answered now, and ask the server that has taken over. */
  endAll(): void {
    for (const end of [...this.#ends]) end();
  }

  count(key_id: string): number {
    return this.#keys.count(key_id);
  }

  /** Throws where the key may not wait once more. */
  requirePlace(key_id: string): void {
    if (this.#isStopping) throw apiError("service_unavailable");
    if (!this.#hasPlace(key_id)) throw apiError("too_many_streams");
  }

  /** Takes a place for a run that has to start before the wait; throws where there is none. */
  takePlace(key_id: string): () => void {
    this.requirePlace(key_id);
    return this.#keys.add(key_id, () => {});
  }

  /**
   * Waits where the request asks for it, until `isOver` or as long as asked. Returns the header
   * that says so; none where no wait was asked for, or the key waits too often.
   */
  async wait({ key_id, run, request, isOver }: WaitRequest): Promise<Record<string, string>> {
    const seconds = readWait(request);
    if (seconds === null) return {};
    if (!isOver(run)) {
      if (this.#isStopping || !this.#hasPlace(key_id)) return {};
      const { id: run_id } = run;
      const asked = { key_id, run_id, signal: request.signal, timeoutMs: seconds * 1_000, isOver };
      await this.follow(asked).catch((error) => {
        this.#options.log.error("runs: a wait could not read its run", { run_id, error });
      });
    }
    return { "preference-applied": `wait=${seconds}` };
  }

  /**
   * Waits until the run is over or deleted, the time has passed or the server stops. Returns false
   * where no answer is due: the caller has left, or its key may not call any more.
   */
  async follow({ key_id, run_id, signal, timeoutMs, isOver, onPosition }: RunWait) {
    if (signal.aborted) return false;
    const { runs, clock } = this.#options;
    let isEnded = false;
    let isDropped = false;
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    const end = () => {
      isEnded = true;
      wake();
    };
    const drop = () => {
      isDropped ||= !isEnded;
      end();
    };
    signal.addEventListener("abort", drop, { once: true });
    const cancelEnd = clock.after(timeoutMs, end);
    const forgetKey = this.#keys.add(key_id, drop);
    this.#ends.add(end);
    const wakes = this.#wakes.get(run_id) ?? new Set();
    this.#wakes.set(run_id, wakes.add(wake));
    try {
      while (!isEnded) {
        woken = Promise.withResolvers();
        const position = await runs.findPosition(run_id);
        if (!position || isOver(position) || isEnded) break;
        onPosition?.(position);
        await woken.promise;
      }
      return !isDropped;
    } finally {
      signal.removeEventListener("abort", drop);
      cancelEnd();
      forgetKey();
      this.#ends.delete(end);
      wakes.delete(wake);
      if (wakes.size === 0) this.#wakes.delete(run_id);
    }
  }

  #hasPlace(key_id: string): boolean {
    return this.count(key_id) < PER_KEY_MAX;
  }
}
