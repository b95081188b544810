// Waits for changes of runs, for callers who would otherwise ask again and again (RFC 7240).
import { type FindCaller, KeyRevocations } from "../../access/index.ts";
import type { Database } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
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

/** Reads the preference `wait`, in seconds up to 60; null without one. */
export function readWait({ headers }: Request): number | null {
  const found = WAIT.exec(headers.get("prefer") ?? "");
  return found ? Math.min(Number(found[1]), SECONDS_MAX) : null;
}

export const hasWait = (request: Request): boolean => readWait(request) !== null;

export const hasStopped = ({ status }: RunPosition): boolean =>
  FINAL.has(status) || status.startsWith("waiting");

/** A final run never changes. */
export const hasChangedSince = (run: RunRow) => (now: RunPosition) =>
  FINAL.has(now.status) ||
  now.status !== run.status ||
  now.last_seq !== run.last_seq ||
  now.started_at !== run.started_at;

export interface RunWaitsOptions {
  runs: Pick<RunStore, "findPosition">;
  database: Pick<Database, "listen">;
  findCaller: FindCaller;
  clock: Clock;
  log: Log;
}

export interface WaitRequest {
  key_id: string;
  run: RunRow;
  request: Request;
  isOver(position: RunPosition): boolean;
}

export class RunWaits implements Service {
  readonly name = "waits for runs";
  readonly #options: RunWaitsOptions;
  readonly #keys: KeyRevocations;
  readonly #wakes = new Map<string, Set<() => void>>();
  readonly #ends = new Set<() => void>();
  readonly #unlisten: () => void;
  #isStopping = false;

  constructor(options: RunWaitsOptions) {
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

  /**
   * Waits where the request asks for it, until `isOver` or as long as asked. Returns the header
   * that says so; none where no wait was asked for, or the key waits too often.
   */
  async wait(asked: WaitRequest): Promise<Record<string, string>> {
    const seconds = readWait(asked.request);
    if (seconds === null) return {};
    if (!asked.isOver(asked.run)) {
      if (this.#isStopping || this.#keys.count(asked.key_id) >= PER_KEY_MAX) return {};
      await this.#waitFor(asked, seconds);
    }
    return { "preference-applied": `wait=${seconds}` };
  }

  async #waitFor({ key_id, run, request, isOver }: WaitRequest, seconds: number): Promise<void> {
    const { runs, clock, log } = this.#options;
    let isEnded = false;
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    const end = () => {
      isEnded = true;
      wake();
    };
    const left = request.signal;
    left.addEventListener("abort", end, { once: true });
    const cancelEnd = clock.after(seconds * 1_000, end);
    const forgetKey = this.#keys.add(key_id, end);
    this.#ends.add(end);
    const wakes = this.#wakes.get(run.id) ?? new Set();
    this.#wakes.set(run.id, wakes.add(wake));
    try {
      while (!isEnded && !left.aborted) {
        woken = Promise.withResolvers();
        const position = await runs.findPosition(run.id);
        if (!position || isOver(position)) return;
        if (!isEnded) await woken.promise;
      }
    } catch (error) {
      log.error("runs: a wait could not read its run", { run_id: run.id, error });
    } finally {
      left.removeEventListener("abort", end);
      cancelEnd();
      forgetKey();
      this.#ends.delete(end);
      wakes.delete(wake);
      if (wakes.size === 0) this.#wakes.delete(run.id);
    }
  }
}
