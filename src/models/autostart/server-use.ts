// Processes that share a managed server: they tell each other that it is used, and one of them
// starts or stops it at a time.
import type { Process } from "../../cluster/index.ts";
import type { Bound } from "../../database/index.ts";
import { type Cancel, type Clock, wait } from "../../platform/clock.ts";
import type { managedServerStore } from "./store.ts";

/** Interval in which a process tells of its use. */
const TELL_EVERY_MS = 5_000;
/** Minimum idle time before a stop: the others hear of a use late. */
const IDLE_MIN_MS = 2 * TELL_EVERY_MS;
const LEASE_RETRY_MS = 1_000;

/** Asked right before an action: false where another process may have the lease by now. */
export type MayAct = () => Promise<boolean>;

export interface ServerUseOptions {
  id: string;
  clock: Clock;
  process: Pick<Process, "withLease">;
  /** Set where other processes may use the server. */
  isShared: boolean;
  store: Pick<Bound<typeof managedServerStore>, "use" | "findUse" | "beginStop">;
  onFailure(failure: unknown): void;
}

export class ServerUse {
  readonly #options: ServerUseOptions;
  #toldAt = Number.NEGATIVE_INFINITY;
  #telling: Promise<boolean> | null = null;
  /** Uses by all processes at the last look. */
  #seen = -1;
  #inFlight = 0;
  #cancel: Cancel | null = null;
  #working: Promise<void> = Promise.resolve();

  constructor(options: ServerUseOptions) {
    this.#options = options;
  }

  get isShared(): boolean {
    return this.#options.isShared;
  }

  /** The others know of a use by this process, and do not stop the server. */
  get isTold(): boolean {
    const { clock, isShared } = this.#options;
    return !isShared || clock.monotonic() - this.#toldAt < TELL_EVERY_MS;
  }

  limitIdle(idleMs: number): number {
    return this.isShared && idleMs > 0 ? Math.max(idleMs, IDLE_MIN_MS) : idleMs;
  }

  /** Notes a use that others see by the server's row. */
  noteTold(): void {
    this.#toldAt = this.#options.clock.monotonic();
  }

  /** Tells of a use; false: another process has stopped the server. */
  tell(): Promise<boolean> {
    this.#telling ??= this.#tell().finally(() => {
      this.#telling = null;
    });
    return this.#telling;
  }

  enter(): void {
    this.#inFlight++;
    this.#plan();
  }

  leave(): void {
    this.#inFlight--;
  }

  /** Notes that the server is being stopped, unless a process has used it since the last look. */
  async beginStop(): Promise<boolean> {
    const { store, id, clock } = this.#options;
    const found = await store.findUse(id);
    const isIdle = found !== undefined && !found.is_put_down && found.uses === this.#seen;
    this.#seen = found?.uses ?? -1;
    return isIdle && (await store.beginStop(id, this.#seen, clock.now()));
  }

  /** Runs work on the server when no other process does, nor other work of this one. */
  alone(work: (mayAct: MayAct) => Promise<void>): Promise<void> {
    const { process, id, clock } = this.#options;
    const run = async () => {
      while (!(await process.withLease(`model server ${id}`, work))) {
        await wait(clock, LEASE_RETRY_MS);
      }
    };
    if (!this.isShared) return run();
    const running = this.#working.then(run);
    this.#working = running.catch(() => {});
    return running;
  }

  async #tell(): Promise<boolean> {
    const { store, id, onFailure } = this.#options;
    try {
      const told = await store.use(id);
      if (told?.is_put_down) return false;
      this.#seen = told?.uses ?? -1;
    } catch (failure) {
      // Without a database no process stops it either.
      onFailure(failure);
    }
    this.noteTold();
    return true;
  }

  /** Tells again as long as a request is under way. */
  #plan(): void {
    if (!this.isShared || this.#cancel) return;
    this.#cancel = this.#options.clock.after(TELL_EVERY_MS, () => {
      this.#cancel = null;
      if (this.#inFlight === 0) return;
      void this.tell();
      this.#plan();
    });
  }
}
