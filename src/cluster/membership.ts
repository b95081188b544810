// A process among others on the same data: what it tells of itself, and what it is asked for.
import type { Bound, Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import type { Process } from "./process.ts";
import { PROCESSES, type ProcessAbout, type ProcessState, processStore } from "./store.ts";

const RETRY_MS = 1_000;

export interface MembershipOptions {
  process: Pick<Process, "epoch" | "join" | "isSkewed">;
  database: Database;
  clock: Clock;
  log: Log;
  about(): Omit<ProcessAbout, "reloads_done">;
  /** Reads the settings again. */
  reload(): Promise<void>;
  /** Begins no more work that another process may begin. */
  pause(): Promise<void>;
  /** Works again after a drain, whether that was over or not. */
  resume(): void;
  /** Counts what the process has claimed. */
  countHeld(epoch: number): Promise<number>;
}

export class Membership implements Service {
  readonly name = "membership";
  readonly #options: MembershipOptions;
  readonly #store: Bound<typeof processStore>;
  readonly #loop: WorkerLoop;
  #unlisten = () => {};
  #pausing: Promise<void> | null = null;
  #isPaused = false;
  /** Why it drains, and its epoch then: others may declare it dead meanwhile. */
  #cause: { epoch: number; state: ProcessState } | null = null;
  /** Other live processes have other settings. */
  doSettingsDiffer = false;

  constructor(options: MembershipOptions) {
    const { clock, log, database, process } = options;
    this.#options = options;
    this.#store = database.bind(processStore);
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: () => this.#work(),
      onError: (error) => log.error("process: its row could not be kept", { error }),
    });
    process.join({
      reclaim: async () => {},
      onEpochLost() {},
      onHeartbeat: () => this.look(),
    });
  }

  get isDraining(): boolean {
    return this.#pausing !== null;
  }

  start(): void {
    this.#unlisten = this.#options.database.listen(PROCESSES, () => this.look());
  }

  /** Tells of the process where anything has changed, and does what it is asked for. */
  look(): void {
    this.#loop.wake();
  }

  stop(): Promise<void> {
    this.#unlisten();
    return this.#loop.stop();
  }

  async #work(): Promise<NextPass> {
    const { epoch } = this.#options.process;
    const orders = await this.#store.readOrders(epoch);
    // A process that others declared dead gets another row.
    if (!orders) return "on_wake";
    this.doSettingsDiffer = orders.differing > 0;
    await this.#tell(epoch, orders.reloads_asked);
    await this.#follow(epoch, await this.#noteSkew(epoch, orders.state));
    const mayEnd = this.#isPaused && orders.state === "draining";
    if (mayEnd && (await this.#options.countHeld(epoch)) === 0) {
      await this.#store.endDrain(epoch);
      this.#options.log.info("process: drained, and waits for its end");
    }
    return "on_wake";
  }

  /** A process whose clock is wrong takes no work, and the others must know; its state then. */
  async #noteSkew(epoch: number, state: ProcessState | null): Promise<ProcessState | null> {
    const { isSkewed } = this.#options.process;
    if (isSkewed === (state === "skewed") || (state !== null && state !== "skewed")) return state;
    await this.#store.noteSkew(epoch, isSkewed);
    return isSkewed ? "skewed" : null;
  }

  async #follow(epoch: number, state: ProcessState | null): Promise<void> {
    if (state !== null) {
      this.#cause = { epoch, state };
      this.#pause();
    } else if (this.isDraining) {
      const { epoch: before, state: cause } = this.#cause!;
      if (before === epoch || cause === "skewed") this.#resume();
      else await this.#store.drain(epoch);
    }
  }

  async #tell(epoch: number, reloadsAsked: number): Promise<void> {
    const known = await this.#store.readAbout(epoch);
    if (known && known.reloads_done < reloadsAsked) await this.#options.reload();
    const about = { ...this.#options.about(), reloads_done: reloadsAsked };
    if (!Bun.deepEquals(about, known)) await this.#store.describe(epoch, about);
  }

  #pause(): void {
    if (this.#pausing) return;
    this.#options.log.info("process: drains: it begins no more work");
    const pausing = this.#options.pause().then(() => {
      // The drain may have been undone meanwhile.
      this.#isPaused = this.#pausing === pausing;
      this.look();
    });
    this.#pausing = pausing;
  }

  #resume(): void {
    this.#options.log.info("process: works again");
    this.#pausing = null;
    this.#isPaused = false;
    this.#options.resume();
  }
}
