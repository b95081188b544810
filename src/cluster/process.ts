// The process on its database: its epoch, its heartbeat, and the dead ones around it.
import { type Bound, type Database, retryUnavailable } from "../database/index.ts";
import type { Cancel, Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Service } from "../platform/service.ts";
import { LeaseFence } from "./lease-fence.ts";
import { Members, type SeenProcess } from "./members.ts";
import { processStore } from "./store.ts";
import { BEAT_EVERY_MS, DEAD_AFTER_MS } from "./times.ts";

const ENDED = "another server has taken over this data: only one may run on it; this one ends";

/** Maximum difference to the database's clock, above which the process is not ready. */
const SKEW_MAX_MS = 1_000;
const SKEWED = "process: its clock differs from the database's, so that it is not ready";

type IsDead = (epoch: number) => boolean;

/** A module whose rows name the process that has claimed them. */
export interface Claimant {
  /**
   * Puts back what dead processes have claimed, at the start and before each heartbeat. `isDead`
   * judges the epoch of a row; the module itself handles 0 and its own epoch.
   */
  reclaim(isDead: IsDead): Promise<void>;
  /** Drops all claims: other processes have declared this one dead. */
  onEpochLost(): void;
  /** Runs after each heartbeat, once the rows of dead processes were reclaimed. */
  onHeartbeat(): void;
}

export interface ProcessOptions {
  database: Database;
  clock: Clock;
  log: Log;
  /** Another server declared this process dead and may use the same data: this one must exit. */
  onFatal(reason: Error): void;
}

interface Heartbeat {
  beats: number;
  seenAt: number;
  /** Set where it has beaten since this process's first look, or came later. */
  isProven: boolean;
}

/** Started before all claimants, so that it stops after them. */
export class Process implements Service {
  readonly name = "process";
  readonly fence: LeaseFence;
  readonly members: Members;
  readonly #options: ProcessOptions;
  readonly #store: Bound<typeof processStore>;
  /** A lock keeps other servers off SQLite; PostgreSQL's lock can be lost with its connection. */
  readonly #isAlone: boolean;
  readonly #claimants: Claimant[] = [];
  #heartbeats: Map<number, Heartbeat> | null = null;
  /** Highest epoch of any process that was seen. */
  #newest = 0;
  #epoch = 0;
  #cancel: Cancel | null = null;
  #isStopped = false;
  #isBeating = false;
  #isSkewed = false;
  #isReclaiming = false;
  #spares: (epoch: number) => boolean = () => false;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#store = options.database.bind(processStore);
    this.#isAlone = options.database.engine !== "postgres";
    this.members = new Members(!options.database.isShared);
    this.fence = new LeaseFence({
      clock: options.clock,
      isGuarded: !this.#isAlone,
      onClosed: () => this.#hasten(),
    });
  }

  /** Set while its wall clock is over a second apart from the database's, which all share. */
  get isSkewed(): boolean {
    return this.#isSkewed;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Takes epochs for alive although a lock says that this process is alone. */
  spare(spares: (epoch: number) => boolean): void {
    this.#spares = spares;
  }

  /** Call it before the start. */
  join(claimant: Claimant): void {
    this.#claimants.push(claimant);
  }

  /**
   * Runs work that one process does at a time; false: another one does it. The work calls `mayAct`
   * right before an effect: a process that was frozen may have lost the lease.
   */
  async withLease(
    name: string,
    work: (mayAct: () => Promise<boolean>) => Promise<void>,
  ): Promise<boolean> {
    const { database, clock } = this.#options;
    if (!database.isShared) {
      await work(async () => true);
      return true;
    }
    const epoch = this.#epoch;
    const mayAct = async () => (await this.fence.pass()) && this.#epoch === epoch;
    if (!(await this.#store.takeLease(name, epoch))) return false;
    try {
      await work(mayAct);
    } finally {
      // Else it would stay with this process for as long as that lives.
      await retryUnavailable(clock, () => this.#store.endLease(name, epoch));
    }
    return true;
  }

  async start(): Promise<void> {
    await this.#register();
    const isDead = await this.#findDead();
    await this.#callAll((claimant) => claimant.reclaim(isDead));
    this.#plan();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#store.end(this.#epoch, this.#options.clock.now());
  }

  async #register(): Promise<void> {
    const sent = this.fence.readTimes();
    this.#epoch = await this.#store.register(this.#options.clock.now());
    this.fence.renew(sent);
  }

  #plan(delayMs = BEAT_EVERY_MS): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(delayMs, () => void this.#live());
  }

  #hasten(): void {
    // Before the start there is nothing to beat for, and the start opens the fence.
    if (this.#isBeating || this.#isStopped || this.#epoch === 0) return;
    this.#cancel?.();
    void this.#live();
  }

  /** Plans the next heartbeat before the work of the dead, which may take long. */
  async #live(): Promise<void> {
    const { log } = this.#options;
    let isAlive = false;
    this.#isBeating = true;
    try {
      isAlive = await this.#beat();
      if (!isAlive) return;
    } catch (error) {
      log.error("process: the heartbeat could not be written", { error });
    } finally {
      this.#isBeating = false;
    }
    // An answer that came too late leaves the fence closed.
    this.#plan(isAlive && !this.fence.isOpen ? 0 : BEAT_EVERY_MS);
    if (isAlive) await this.#reclaim();
  }

  /** Writes a sign of life; false: this process has to end, or does so already. */
  async #beat(): Promise<boolean> {
    const { log, onFatal } = this.#options;
    const sent = this.fence.readTimes();
    const wasFenced = !this.fence.isOpen;
    if (await this.#isListed(sent.wall)) {
      // The database was away for the others, too: their silence counts from now.
      if (wasFenced) this.#restartSilences();
      this.fence.renew(sent);
      return !this.#isStopped;
    }
    // Stopping ends the epoch too.
    if (this.#isStopped) return false;
    if (this.#isAlone) {
      log.error(ENDED);
      onFatal(new Error(ENDED));
      return false;
    }
    log.error("process: declared dead by another process; it continues with a new epoch");
    for (const claimant of this.#claimants) claimant.onEpochLost();
    await this.#register();
    return true;
  }

  #restartSilences(): void {
    const seenAt = this.#options.clock.monotonic();
    for (const heartbeat of this.#heartbeats?.values() ?? []) heartbeat.seenAt = seenAt;
  }

  async #isListed(sentAt: number): Promise<boolean> {
    if (!this.#isAlone) {
      const at = await this.#store.beat(this.#epoch);
      if (at !== null) this.#noteClock(sentAt, at);
      return at !== null;
    }
    return (await this.#store.list()).some((one) => one.epoch === this.#epoch);
  }

  /** Compares the clocks; between the request and its answer the database's may be anything. */
  #noteClock(sentAt: number, at: number): void {
    const { clock, database, log } = this.#options;
    if (!database.isShared) return;
    const aheadMs = Math.max(sentAt - at, 0) - Math.max(at - clock.now(), 0);
    const isSkewed = Math.abs(aheadMs) > SKEW_MAX_MS;
    if (isSkewed && !this.#isSkewed) log.error(`${SKEWED}: ${aheadMs} ms ahead`);
    if (!isSkewed && this.#isSkewed) log.info("process: its clock is right again");
    this.#isSkewed = isSkewed;
  }

  async #reclaim(): Promise<void> {
    if (this.#isReclaiming) return;
    this.#isReclaiming = true;
    try {
      const isDead = await this.#findDead();
      await this.#callAll(async (claimant) => {
        await claimant.reclaim(isDead);
        claimant.onHeartbeat();
      });
    } catch (error) {
      this.#options.log.error("process: work of dead processes could not be found", { error });
    } finally {
      this.#isReclaiming = false;
    }
  }

  async #findDead(): Promise<IsDead> {
    const { clock } = this.#options;
    const rows = await this.#store.list();
    const own = rows.find((one) => one.epoch === this.#epoch);
    const others = rows.filter((one) => one !== own);
    const before = this.#heartbeats;
    const isFirst = before === null;
    this.#heartbeats = new Map();
    const alive = new Map<number, SeenProcess>();
    for (const { epoch, beats, state } of others) {
      const known = before?.get(epoch);
      const fresh = { beats, seenAt: clock.monotonic(), isProven: !isFirst };
      const heartbeat = known?.beats === beats ? known : fresh;
      this.#heartbeats.set(epoch, heartbeat);
      const beatsNow = !this.#isAlone && clock.monotonic() - heartbeat.seenAt < DEAD_AFTER_MS;
      const isSpared = beatsNow || this.#spares(epoch);
      // A heartbeat since the list was read wins.
      if (!isSpared && (await this.#store.endSilent(epoch, beats, clock.now()))) continue;
      alive.set(epoch, { epoch, takesWork: heartbeat.isProven && state === null });
    }
    this.members.see(this.#epoch, [...alive.values()], own?.state === null);
    this.#newest = Math.max(this.#newest, ...rows.map((one) => one.epoch));
    // Processes with a higher epoch may have registered since the list was read.
    return (epoch) => epoch <= this.#newest && epoch !== this.#epoch && !alive.has(epoch);
  }

  /** Calls every claimant, also after one has failed. */
  async #callAll(call: (claimant: Claimant) => Promise<void>): Promise<void> {
    const settled = await Promise.allSettled(this.#claimants.map(call));
    const failed = settled.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }
}
